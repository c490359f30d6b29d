"""Runs every snippet of README.md against the installed package.

usage: readme_test.py SOURCE PREFIX LIBDIR WORK_FOLDER

A fenced block follows a comment that says what it is: <!-- snippet: ROLE -->. A block without a role, with an unknown
one, or a role without a block fails. BLOCKJACOBI_GENERATE names the generator, which is not installed,
BLOCKJACOBI_WERROR says whether warnings are errors.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"(?:<!-- snippet: (\S+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Failure(Exception):
    pass


def call(command, folder, **environment):
    """Standard output of a command that must end with status 0."""
    print(f"== {command if isinstance(command, str) else ' '.join(map(str, command))}", flush=True)
    done = subprocess.run(command, shell=isinstance(command, str), executable="/bin/bash" if isinstance(command, str)
                          else None, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
                          check=False)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        raise Failure(f"status {done.returncode}: {command}")
    return done.stdout


def labels(text):
    """First words of the lines, each once, in their order; a number is "#"."""
    words = (line.split()[0] for line in text.splitlines() if line.strip())
    return list(dict.fromkeys("#" if word[0].isdigit() else word for word in words))


class Readme:
    def __init__(self, source, prefix, libdir, work):
        self.source, self.prefix, self.work = source, prefix, work
        self.pkg_config_path = str(prefix / libdir / "pkgconfig")
        generate = pathlib.Path(os.environ["BLOCKJACOBI_GENERATE"])
        self.path = f"{prefix / 'bin'}:{generate.parent}:{os.environ['PATH']}"
        self.blocks = {}
        for role, _, text in FENCE.findall((source / "README.md").read_text(encoding="utf-8")):
            if role in self.blocks or not role:
                raise Failure(f"{'two blocks of role ' + role if role else 'no role'}: {text.splitlines()[0]}")
            self.blocks[role] = text

    def make(self, text):
        """`make test` is what runs this test, so its commands are only looked up."""
        for line in text.splitlines():
            call([*line.split(), "--dry-run"], self.source, MAKEFLAGS="")

    def run(self, text):
        for line in text.splitlines():
            call(line, self.work, PATH=self.path)

    def output(self, text):
        """The program still prints what the page shows, but for the numbers."""
        printed = labels(call("blockjacobi-solve beam.mtx --solver cg", self.work, PATH=self.path))
        if labels(text) != printed:
            raise Failure(f"the page shows the lines {labels(text)}, the program prints {printed}")

    def consumer(self, role, *options):
        """Configures and builds the CMake project of a snippet with the program of the page, and runs it."""
        folder = self.work / role
        folder.mkdir()
        text = self.blocks[role]
        if role == "add_subdirectory":
            # Where the sources are and not in a subfolder, so that ccache knows them.
            text = text.replace("add_subdirectory(blockjacobi)", f'add_subdirectory("{self.source}" blockjacobi)')
        (folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
        (folder / "main.cpp").write_text(self.blocks["main.cpp"], encoding="utf-8")
        call(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", *options], folder)
        call(["cmake", "--build", "build", "-j", str(os.cpu_count())], folder)
        call([folder / "build" / "my_solver"], self.work)

    def find_package(self, _):
        self.consumer("find_package", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")

    def add_subdirectory(self, _):
        launcher = shutil.which("ccache")
        self.consumer("add_subdirectory", f"-DBLOCKJACOBI_WERROR={os.environ.get('BLOCKJACOBI_WERROR', 'OFF')}",
                      *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []))

    def pkg_config(self, text):
        folder = self.work / "pkg_config"
        folder.mkdir()
        (folder / "main.cpp").write_text(self.blocks["main.cpp"], encoding="utf-8")
        for line in text.splitlines():
            call(line, folder, PKG_CONFIG_PATH=self.pkg_config_path)
        call([folder / "my_solver"], self.work)

    def c_compiler(self, text):
        folder = self.work / "c_compiler"
        folder.mkdir()
        (folder / "main.c").write_text(self.blocks["main.c"], encoding="utf-8")
        for line in text.splitlines():
            call(line, folder, PKG_CONFIG_PATH=self.pkg_config_path)
        call([folder / "my_solver"], self.work)

    def petsc_package(self, text):
        folder = self.work / "petsc_package"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
        (folder / "petsc.cpp").write_text(self.blocks["petsc.cpp"], encoding="utf-8")
        call(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}"], folder)
        call(["cmake", "--build", "build"], folder)
        # More ranks than cores are no matter here.
        for line in self.blocks["petsc_run"].splitlines():
            call(line.replace("mpirun ", "mpirun --oversubscribe "), folder, PATH=f"{folder / 'build'}:{self.path}")

    def test(self):
        # main.cpp and main.c are what the others build; `run` writes the matrix that main.cpp reads.
        steps = {"make": self.make, "run": self.run, "output": self.output, "find_package": self.find_package,
                 "add_subdirectory": self.add_subdirectory, "pkg_config": self.pkg_config, "c_compiler": self.c_compiler}
        expected = {*steps, "main.cpp", "main.c", "petsc.cpp", "petsc_package", "petsc_run"}
        if set(self.blocks) != expected:
            raise Failure(f"the roles are {sorted(self.blocks)}, expected {sorted(expected)}")
        # Without PETSc the package lacks the component.
        if list(self.prefix.rglob("blockjacobiPetscTargets.cmake")):
            steps["petsc_package"] = self.petsc_package
        for role, step in steps.items():
            step(self.blocks[role])


def main(arguments):
    if len(arguments) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    source, prefix, work = (pathlib.Path(arguments[i]).resolve() for i in (0, 1, 3))
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        Readme(source, prefix, arguments[2], work).test()
    except Failure as failure:
        print(f"README.md: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
