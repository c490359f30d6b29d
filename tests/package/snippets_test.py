"""Runs every snippet of README.md, or of a page of the manual, against the installed package.

usage: snippets_test.py SOURCE PREFIX LIBDIR WORK_FOLDER PAGE...

A fenced block follows a comment that says what it is: <!-- snippet: ROLE -->. A block without one fails, but for
directives of MyST. Commands run in a folder of the page, in their order, with the programs of the package and the
generator in PATH. $HOME is that folder, and build/solve in it the build of the package.

  file NAME       is written to NAME
  run             commands of bash; the first that fails ends the page
  run STATUS      commands of which the last ends with STATUS
  run if NEED     only where there is NEED: cuda, petsc, petsc4py, dolfinx, dune, ensurepip, gfortran, gnuplot; with
                  no- before it where there is not, also behind a status
  output          what the commands before it print; whole numbers up to a fifth, others may be any
  dry-run         lines of make, which are looked up in the Makefile and not run, of cmake --build, likewise, and of pip,
                  which prepares the build where the Python package is installed
  cpp             piece of the program of the page: its pieces follow each other in one main() behind the block
                  <!-- prelude: cpp ... --> of includes
  python          the same for the script of the page, which needs the Python package
  cupy            a piece for CuPy, which the tests of the Python package run on a GPU
  message         lines that the program or the library prints: each must match a string of the sources

A comment <!-- files of PAGE: NAME... --> gives a page what another one writes to these files.

Ends with status 77 where all that could be run is right and something was left out.
"""

import ctypes.util
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"(?:<!-- snippet: ([^\n]+) -->\n)?^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRELUDE = re.compile(r"<!-- prelude: (\w+)\n(.*?)-->", re.DOTALL)
FILES = re.compile(r"<!-- files of (\S+): (.*) -->")
LITERALS = re.compile(r'(?:R"\((.*?)\)"|"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)', re.DOTALL)
NUMBER = re.compile(r"(?<![A-Za-z_])-?\d[\d.]*(?:e[+-]?\d+)?")
WHOLE = re.compile(r"\d+")


class Failure(Exception):
    pass


def without_numbers(line):
    """The line with "#" for numbers and one space for several."""
    return " ".join(NUMBER.sub("#", line).split())


def alike(shown, printed):
    """Whether two lines differ in nothing but numbers, and in whole ones by a fifth at most: iterations depend on the
    order of sums, and so on threads and compiler."""
    return without_numbers(shown) == without_numbers(printed) and all(
        not (WHOLE.fullmatch(a) and WHOLE.fullmatch(b)) or abs(int(a) - int(b)) <= 0.2 * max(int(a), int(b))
        for a, b in zip(NUMBER.findall(shown), NUMBER.findall(printed)))


def fits(line, parts):
    """Whether a line is these parts with anything between them. Not by a regular expression: its search goes back in
    every part."""
    if len(parts) == 1:
        return line == parts[0]
    if not (line.startswith(parts[0]) and line.endswith(parts[-1])):
        return False
    position, end = len(parts[0]), len(line) - len(parts[-1])
    for part in parts[1:-1]:
        found = line.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return position <= end


def strings(source):
    """String literals of the sources, as the parts between the {} that stand for anything."""
    patterns = set()
    for folder in ("src", "include", "examples/solve", "matrices/generate", "python"):
        for path in sorted((source / folder).rglob("*")):
            if path.suffix not in (".cpp", ".hpp", ".py"):
                continue
            for match in LITERALS.finditer(path.read_text(encoding="utf-8")):
                text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match.group(0)))
                parts = re.split(r"\{[^{}]*\}", text.replace(r"\"", '"').replace(r"\n", "").strip())
                if len("".join(parts)) >= 8:
                    patterns.add(tuple(parts))
    return patterns


class Needs:
    """What a snippet may ask for beside the package."""

    def __init__(self, prefix):
        self.prefix = prefix

    def __contains__(self, need):
        if need.startswith("no-"):
            return need.removeprefix("no-") not in self
        if need == "cuda":
            return ctypes.util.find_library("cuda") is not None and os.path.exists("/dev/nvidiactl")
        if need == "petsc":
            return bool(list(self.prefix.rglob("blockjacobiPetscTargets.cmake")))
        if need in ("petsc4py", "dolfinx"):
            return need_of_python(need) and bool(list(self.prefix.rglob("libblockjacobi_petsc_plugin.so")))
        if need == "ensurepip":
            return importlib.util.find_spec("ensurepip") is not None
        if need == "dune":
            return compiles("#include <dune/istl/preconditioner.hh>")
        if need in ("gfortran", "gnuplot"):
            return shutil.which(need) is not None
        raise Failure(f"there is no need {need}")


def compiles(source):
    """Whether the headers that a source asks for are there."""
    return subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-E", "-x", "c++", "-"], input=source, text=True,
                          capture_output=True, check=False).returncode == 0


def need_of_python(module):
    """Whether the system's Python, for which Debian packages modules, has it."""
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


class Page:
    def __init__(self, source, prefix, libdir, work, page):
        self.source, self.prefix, self.work, self.page = source, prefix, work, page
        generate = pathlib.Path(os.environ["BLOCKJACOBI_GENERATE"]).resolve()
        libraries, build = prefix / libdir, generate.parent.parent
        self.make_build_folder(build)
        (work / "build" / "solve").symlink_to(build, target_is_directory=True)
        self.environment = {
            **os.environ,
            "PATH": f"{prefix / 'bin'}:{work}:{generate.parent}:{build / 'examples'}:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": f"{libraries / 'pkgconfig'}:{os.environ.get('PKG_CONFIG_PATH', '')}",
            "CMAKE_PREFIX_PATH": f"{prefix}:{os.environ.get('CMAKE_PREFIX_PATH', '')}",
            "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}",
            "PREFIX": str(prefix), "LIBDIR": str(libraries),
            "OMP_WAIT_POLICY": "passive",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",  # as in most containers
            "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1),
        }
        if shutil.which("ninja"):
            self.environment.setdefault("CMAKE_GENERATOR", "Ninja")
        if launcher := shutil.which("ccache"):
            self.environment.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", launcher)
        self.needs = Needs(prefix)
        self.printed = ""
        self.pieces = {"cpp": [], "python": []}
        self.patterns = None
        self.counts = {}
        self.left_out = False

    def make_build_folder(self, tests_build):
        """The folder "build" of the page. Where the page builds the library it lies beside the build of the tests: paths
        below CCACHE_BASEDIR relative to it are the same then, and the compiler's cache has the objects."""
        own = self.work / "build"
        text = (self.source / self.page).read_text(encoding="utf-8")
        if self.source not in tests_build.parents or "\nadd_subdirectory(" not in text:
            own.mkdir()
            return
        beside = tests_build.with_name(f"{tests_build.name}-{self.work.name}")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        own.symlink_to(beside, target_is_directory=True)

    def bash(self, script, status=0):
        """Output of commands that must end with a status."""
        print(f"== {self.page}:\n{script.strip()}", flush=True)
        # More ranks than cores are no matter here, and nothing is written outside of the folder.
        script = script.replace("mpirun ", "mpirun --oversubscribe ").replace("$HOME", str(self.work))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.work, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, flush=True)
        if done.returncode != status:
            raise Failure(f"status {done.returncode}, expected {status}: {script}")
        return done.stdout

    def file(self, argument, text):
        path = self.work / argument
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "CMakeLists.txt":
            # Where the sources are and not in a subfolder, so that the compiler cache knows them.
            text = text.replace("add_subdirectory(blockjacobi)", f'add_subdirectory("{self.source}" blockjacobi)')
        path.write_text(text, encoding="utf-8")

    def files_of(self, page, names):
        blocks = {role: block for role, _, block in FENCE.findall((self.source / page).read_text(encoding="utf-8"))}
        for name in names.split():
            self.file(name, blocks[f"file {name}"])

    def run(self, argument, text):
        condition, _, need = argument.partition("if ")
        if need and need not in self.needs:
            print(f"== {self.page}: left out, there is no {need}:\n{text}")
            self.printed = None
            self.left_out = True
            return
        self.printed = self.bash(text, int(condition or 0))

    def output(self, _, text):
        if self.printed is None:
            return
        printed = self.printed.splitlines()
        missing = [line for line in text.splitlines() if line and not any(alike(line, other) for other in printed)]
        if missing:
            raise Failure(f"the page shows lines that are not printed: {missing}")

    def dry_run(self, _, text):
        for line in text.splitlines():
            command = line.split()
            if command[0] == "pip":
                if not importlib.util.find_spec("blockjacobi"):
                    print(f"== {self.page}: left out, the Python package is not installed: {line}")
                    self.left_out = True
                    continue
                command = [sys.executable, "-m", *command]
            if command[0] == "cmake":
                command, folder = [*command, "--", "-n"], self.work
            else:
                command, folder = [*command, "--dry-run"], self.source
            subprocess.run(command, cwd=folder, env={**os.environ, "MAKEFLAGS": ""}, stdout=subprocess.DEVNULL,
                           check=True)

    def cpp(self, _, text):
        self.pieces["cpp"].append(text)

    def python(self, _, text):
        self.pieces["python"].append(text)

    def cupy(self, _, text):
        pass

    def message(self, _, text):
        if self.patterns is None:
            self.patterns = strings(self.source)
        for line in filter(None, map(str.strip, text.splitlines())):
            if not any(fits(line, parts) for parts in self.patterns):
                raise Failure(f"no string of the sources gives the message: {line}")

    def finish(self, preludes):
        """Programs of the pieces."""
        if self.pieces["cpp"]:
            body = "".join(self.pieces["cpp"])
            self.file("page.cpp", f"{preludes.get('cpp', '')}\nint main() {{\n{body}\n}}\n")
            self.bash("${CXX:-c++} -std=c++20 -O1 -Wall -Wextra -Werror page.cpp "
                      "$(pkg-config --cflags --static --libs blockjacobi) -o page && ./page")
        if self.pieces["python"]:
            self.file("page.py", preludes.get("python", "") + "".join(self.pieces["python"]))
            interpreter = os.environ.get("BLOCKJACOBI_PYTHON")
            if interpreter:
                self.bash(f"{interpreter} page.py")
            elif importlib.util.find_spec("blockjacobi"):
                self.bash(f"{sys.executable} page.py")
            else:
                print(f"== {self.page}: left out, the Python package is not installed: page.py")
                self.left_out = True

    def test(self):
        steps = {"file": self.file, "run": self.run, "output": self.output, "dry-run": self.dry_run, "cpp": self.cpp,
                 "python": self.python, "cupy": self.cupy, "message": self.message}
        text = (self.source / self.page).read_text(encoding="utf-8")
        for page, names in FILES.findall(text):
            self.files_of(page, names)
        for role, language, block in FENCE.findall(text):
            # Directives of MyST are no snippets.
            if language.startswith("{"):
                continue
            name, _, argument = role.partition(" ")
            if name not in steps:
                raise Failure(f"{'no role' if not role else 'unknown role ' + role}: {block.splitlines()[0]}")
            self.counts[name] = self.counts.get(name, 0) + 1
            steps[name](argument, block)
        self.finish(dict(PRELUDE.findall(text)))


def main(arguments):
    if len(arguments) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    source, prefix, work = (pathlib.Path(arguments[i]).resolve() for i in (0, 1, 3))
    failures = left_out = 0
    for name in arguments[4:]:
        folder = work / name.replace("/", "_").removesuffix(".md")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        page = Page(source, prefix, arguments[2], folder, name)
        try:
            page.test()
            print(f"{name}: {', '.join(f'{count} {role}' for role, count in page.counts.items()) or 'no snippets'}")
        except Failure as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            failures += 1
        left_out += page.left_out
    return 1 if failures else 77 if left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
