"""The plugin in programs that are there already: it is loaded by an option, and CG takes as many iterations as with
PETSc's own pbjacobi, which has the same blocks.

usage: petsc_plugin_test.py PLUGIN MPIEXEC [unittest argument...]

Wants Debian's Python with petsc4py, and for some tests dolfinx; without they skip themselves."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

PLUGIN, MPIEXEC = sys.argv[1:3]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "petsc_plugin"
SOURCE = PROGRAMS.parents[2]
PYTHON = "/usr/bin/python3"


def petsc_libdir():
    return subprocess.run(["pkg-config", "--variable=libdir", "PETSc"], capture_output=True, text=True,
                          check=True).stdout.strip()


def can_import(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def run(ranks, program, *arguments, options="", folder=None):
    """What a program prints; an error if it fails."""
    done = subprocess.run([MPIEXEC, "--oversubscribe", "-n", str(ranks), PYTHON, "-B", PROGRAMS / program, *arguments],
                          env={**os.environ, "PETSC_OPTIONS": options}, cwd=folder, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {arguments} on {ranks} ranks: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def result(printed):
    """Type, whether it converged, iterations."""
    (line,) = (line for line in printed.splitlines() if line.startswith("RESULT "))
    _, kind, reason, iterations = line.split()
    return kind, int(reason) > 0, int(iterations)


@unittest.skipUnless(can_import("petsc4py"), "no petsc4py")
class Petsc4py(unittest.TestCase):
    def test_iterations_are_those_of_pbjacobi(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                theirs = result(run(ranks, "with_petsc4py.py", "-pc_type", "pbjacobi"))
                scalar = result(run(ranks, "with_petsc4py.py", "-pc_type", "jacobi"))
                ours = result(run(ranks, "with_petsc4py.py", "-dll_append", PLUGIN, "-pc_type", "blockjacobi"))
                self.assertEqual(ours[:2], ("blockjacobi", True))
                self.assertEqual(ours[1:], theirs[1:])
                self.assertLess(ours[2], scalar[2])

    def test_the_environment_serves_as_well(self):
        printed = run(2, "with_petsc4py.py", options=f"-dll_append {PLUGIN} -pc_type blockjacobi -ksp_view")
        self.assertEqual(result(printed)[:2], ("blockjacobi", True))
        self.assertIn("blocks of at most 3 rows", printed)

    def test_where_petsc_looks(self):
        """A path, with or without .so, relative or not; a folder of plugins; variables in braces."""
        with tempfile.TemporaryDirectory() as folder:
            name = pathlib.Path(PLUGIN).name
            shutil.copy(PLUGIN, folder)
            for path in (f"{folder}/{name}", f"{folder}/{name.removesuffix('.so')}", f"./{name}", folder,
                         "${WORKINGDIRECTORY}/" + name):
                with self.subTest(path=path):
                    printed = run(1, "with_petsc4py.py", "-dll_append", path, "-pc_type", "blockjacobi", folder=folder)
                    self.assertEqual(result(printed)[:2], ("blockjacobi", True))
            # PETSc finds the file and hands the name on to the loader, which looks elsewhere.
            with self.assertRaisesRegex(AssertionError, "cannot open shared object file"):
                run(1, "with_petsc4py.py", "-dll_append", name, folder=folder)
        with self.assertRaisesRegex(AssertionError, "Unable to locate dynamic library"):
            run(1, "with_petsc4py.py", "-dll_append", "./libblockjacobi_petsc_plugin", folder="/")

    def test_beside_petscs_library(self):
        """Whose folder PETSc names PETSC_LIB_DIR, unless a variable of the environment does; here one that can be written
        to."""
        (own, *_) = pathlib.Path(petsc_libdir()).glob("libpetsc*.so")
        run(1, "with_petsc4py.py", "-dll_append", "${PETSC_LIB_DIR}/" + own.name)
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, PETSC_LIB_DIR=folder):
            shutil.copy(PLUGIN, folder)
            printed = run(1, "with_petsc4py.py", "-dll_append", "${PETSC_LIB_DIR}/libblockjacobi_petsc_plugin", "-pc_type",
                          "blockjacobi")
            self.assertEqual(result(printed)[:2], ("blockjacobi", True))


@unittest.skipUnless(can_import("dolfinx"), "no dolfinx")
class Fenicsx(unittest.TestCase):
    def test_elasticity(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                theirs = result(run(ranks, "with_fenicsx.py", "pbjacobi"))
                ours = result(run(ranks, "with_fenicsx.py", "blockjacobi", options=f"-dll_append {PLUGIN}"))
                self.assertEqual(ours[:2], ("blockjacobi", True))
                self.assertEqual(ours[1:], theirs[1:])


class Install(unittest.TestCase):
    def test_plugin_goes_where_the_option_says(self):
        libdir = petsc_libdir()
        with tempfile.TemporaryDirectory() as build:
            subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-DBLOCKJACOBI_PETSC=petsc", "-DBLOCKJACOBI_GPU=none",
                            "-DBLOCKJACOBI_BUILD_TESTS=OFF", "-DBLOCKJACOBI_BUILD_BENCHMARKS=OFF",
                            "-DBLOCKJACOBI_BUILD_EXAMPLES=OFF", f"-DBLOCKJACOBI_PETSC_PLUGIN_DIR={libdir}"],
                           stdout=subprocess.DEVNULL, check=True)
            script = pathlib.Path(build, "cmake_install.cmake").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'file\(INSTALL DESTINATION "([^"]*)" TYPE MODULE', script), [libdir])


class Symbols(unittest.TestCase):
    def test_it_shows_its_entry_alone(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], capture_output=True, text=True, check=True)
        self.assertEqual([line.split()[-1] for line in listing.stdout.splitlines()],
                         ["PetscDLLibraryRegister_blockjacobi_petsc_plugin"])


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    sys.exit(1 if not outcome.wasSuccessful() else 77 if outcome.skipped else 0)
