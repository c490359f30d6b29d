"""The packages that CPack makes of a build tree, each used from a clean root.

usage: packages_test.py SOURCE BUILD WORK_FOLDER [unittest argument...]

Packages of Debian are taken apart by dpkg-deb, not installed. A project with find_package() is built against them, and
one with the component petsc where the build has it; archives hold the same files. The plugin for PETSc is a package that
stands alone unless the library is a shared one."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

SOURCE, BUILD, WORK = map(pathlib.Path, sys.argv[1:4])
VERSION = re.search(r"^CMAKE_PROJECT_VERSION:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)[1]
WITH_PETSC = (BUILD / "blockjacobiPetscTargets.cmake").exists()
SHARED = (BUILD / "src" / "libblockjacobi.so").exists()
DPKG = shutil.which("dpkg-deb")


def run(*command, **options):
    """What the command prints; an error if it fails."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def configure(project, prefix, binary):
    return ["cmake", "-G", "Ninja", "-S", SOURCE / "tests/package" / project, "-B", binary,
            "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}",
            "-DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON"]


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        cls.made = WORK / "made"
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.made)

    def one(self, pattern):
        found = list(self.made.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern} of {sorted(path.name for path in self.made.iterdir())}")
        return found[0]

    def debian(self, component):
        name = {"blockjacobi": "blockjacobi", "petsc": "blockjacobi-petsc", "petsc_plugin": "blockjacobi-petsc-plugin"}
        return self.one(f"{name[component]}_{VERSION}_*.deb")

    def archive(self, component):
        """The files of its archive, and where they were unpacked."""
        folder = WORK / "tgz" / component
        with tarfile.open(self.one(f"*-{component}.tar.gz")) as archive:
            archive.extractall(folder)
        return files_below(folder), folder

    def assert_solves(self, prefix):
        output = run(prefix / "bin/blockjacobi-solve", SOURCE / "matrices/small/laplace2d_32.mtx", "--backend", "host")
        self.assertIn("converged", output)

    def test_archives(self):
        files, prefix = self.archive("blockjacobi")
        for name in ("include/blockjacobi/blockjacobi.hpp", "bin/blockjacobi-solve"):
            self.assertIn(name, files)
        self.assertTrue(any(re.search(r"libblockjacobi\.(a|so)$", name) for name in files), files)
        self.assertFalse([name for name in files if re.search("Petsc|_petsc", name)])
        self.assert_solves(prefix)
        if WITH_PETSC:
            petsc, _ = self.archive("petsc")
            self.assertTrue(any(re.search(r"libblockjacobi_petsc\.(a|so)$", name) for name in petsc), petsc)
            plugin, _ = self.archive("petsc_plugin")
            self.assertIn("lib/libblockjacobi_petsc_plugin.so", plugin)
            self.assertFalse(files & petsc or files & plugin or petsc & plugin, "in two packages")

    @unittest.skipUnless(DPKG, "no dpkg-deb")
    def test_debian(self):
        root = WORK / "root"
        prefix = root / "usr"
        package = self.debian("blockjacobi")
        run(DPKG, "-x", package, root)
        self.assertEqual(run(DPKG, "-f", package, "Package", "Version"),
                         f"Package: blockjacobi\nVersion: {VERSION}\n")
        self.assertRegex(run(DPKG, "-f", package, "Depends"), r"libc6.*libstdc\+\+6")
        self.assertIn("libeigen3-dev", run(DPKG, "-f", package, "Suggests"))
        self.assertIn("usr/share/doc/blockjacobi/copyright", files_below(root))
        self.assertIn("usr/include/blockjacobi/blockjacobi.f90", files_below(root))
        self.assertEqual(files_below(prefix), self.archive("blockjacobi")[0])
        self.assert_solves(prefix)
        binary = WORK / "deb" / "find_package"
        run(*configure("find_package", prefix, binary))
        self.assertIn(f"blockjacobi_DIR:PATH={prefix}", (binary / "CMakeCache.txt").read_text())
        run("cmake", "--build", binary)
        run(binary / "consumer", VERSION, cwd=binary)
        if not WITH_PETSC:
            return

        # Only the other package has the component.
        with self.assertRaisesRegex(AssertionError, "petsc"):
            run(*configure("petsc", prefix, WORK / "deb" / "without_petsc"))
        package = self.debian("petsc")
        run(DPKG, "-x", package, root)
        self.assertIn(f"blockjacobi (= {VERSION})", run(DPKG, "-f", package, "Depends"))
        self.assertIn("petsc", run(DPKG, "-f", package, "Depends").replace("blockjacobi", ""))
        binary = WORK / "deb" / "petsc"
        run(*configure("petsc", prefix, binary))
        run("cmake", "--build", binary)
        self.assertIn("Strong scaling", run(binary / "consumer", "-points", "4"))

    @unittest.skipUnless(DPKG and WITH_PETSC, "no dpkg-deb or no PETSc")
    def test_the_plugin_of_debian(self):
        root = WORK / "plugin_root"
        package = self.debian("petsc_plugin")
        run(DPKG, "-x", package, root)
        self.assertIn("usr/share/doc/blockjacobi-petsc-plugin/copyright", files_below(root))
        depends = run(DPKG, "-f", package, "Depends")
        # A shared adapter is a package of its own, which brings PETSc.
        self.assertIn("blockjacobi-petsc" if SHARED else "libpetsc", depends)
        self.assertNotIn("-dev", depends)
        self.assertEqual("blockjacobi" in depends, SHARED, depends)
        if SHARED or subprocess.run(["/usr/bin/python3", "-c", "import petsc4py"], stderr=subprocess.DEVNULL,
                                    check=False).returncode != 0:
            return
        printed = run("/usr/bin/python3", "-B", SOURCE / "tests/package/petsc_plugin/with_petsc4py.py", "-dll_append",
                      root / "usr/lib/libblockjacobi_petsc_plugin", "-pc_type", "blockjacobi")
        self.assertIn("RESULT blockjacobi 2", printed)


if __name__ == "__main__":
    os.environ.pop("DESTDIR", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
