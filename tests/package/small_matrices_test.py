#!/usr/bin/env python3
"""Tests that the files in matrices/small are what the commands in matrices/README.md write, and that its table is true.

BLOCKJACOBI_GENERATE names the program blockjacobi-generate; BLOCKJACOBI_MATRICES_SOURCE the folder matrices/."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("BLOCKJACOBI_MATRICES_SOURCE",
                                     pathlib.Path(__file__).resolve().parents[2] / "matrices"))
SMALL = SOURCE / "small"
README = (SOURCE / "README.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^blockjacobi-generate (?P<kind>\S+) (?P<file>\S+\.mtx)(?P<options>.*)$", re.MULTILINE)
ROW = re.compile(r"^\| `(?P<file>\S+\.mtx)` \|[^|]*\| (?P<n>\d+) \| (?P<nnz>\d+) \| (?P<spd>[^|]*) \|", re.MULTILINE)


def committed():
    return sorted(path.relative_to(SMALL).as_posix() for path in SMALL.rglob("*") if path.is_file())


def size_and_entries(path):
    """Rows and entries of the whole matrix."""
    lines = path.read_text(encoding="utf-8").splitlines()
    _, _, layout, _, symmetry = lines[0].split()
    data = [line.split() for line in lines if not line.startswith("%")]
    rows, columns = int(data[0][0]), int(data[0][1])
    if layout == "array":
        return rows, rows * columns
    entries = sum(2 if symmetry != "general" and line[0] != line[1] else 1 for line in data[1:])
    return rows, entries


class SmallMatrices(unittest.TestCase):
    def test_every_file_has_a_command_and_a_row(self):
        self.assertEqual(sorted(match["file"] for match in COMMAND.finditer(README)), committed())
        self.assertEqual(sorted(match["file"] for match in ROW.finditer(README)), committed())

    def test_files_are_small(self):
        sizes = {name: (SMALL / name).stat().st_size for name in committed()}
        self.assertLess(max(sizes.values()), 40_000, sizes)
        self.assertLess(sum(sizes.values()), 400_000, sizes)

    def test_table_is_true(self):
        for row in ROW.finditer(README):
            with self.subTest(file=row["file"]):
                self.assertEqual(size_and_entries(SMALL / row["file"]), (int(row["n"]), int(row["nnz"])))

    def test_commands_write_the_files(self):
        program = os.environ["BLOCKJACOBI_GENERATE"]
        with tempfile.TemporaryDirectory(prefix="small-matrices-") as folder:
            (pathlib.Path(folder) / "rhs").mkdir()
            for command in COMMAND.finditer(README):
                with self.subTest(command=command[0]):
                    words = [program, command["kind"], command["file"], *shlex.split(command["options"])]
                    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
                    self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                    written = (pathlib.Path(folder) / command["file"]).read_bytes()
                    self.assertEqual(written, (SMALL / command["file"]).read_bytes())


class StatedNodes(unittest.TestCase):
    def test_comment(self):
        """Of whole nodes of several unknowns; three wells are no cell."""
        for words, size in (("elasticity a.mtx --elements 2 1 1", 3), ("stencil a.mtx --grid 4 4 --unknowns 2", 2),
                            ("stencil a.mtx --grid 4 4 --unknowns 2 --pattern", 2), ("stencil a.mtx --grid 4 4", None),
                            ("reservoir a.mtx --cells 3 3 2", 3), ("reservoir a.mtx --cells 3 3 2 --wells 3", None)):
            with self.subTest(words=words), tempfile.TemporaryDirectory(prefix="small-matrices-") as folder:
                subprocess.run([os.environ["BLOCKJACOBI_GENERATE"], *words.split()], cwd=folder, capture_output=True,
                               check=True)
                lines = (pathlib.Path(folder) / "a.mtx").read_text(encoding="utf-8").splitlines()
                comments = [line for line in lines[2:] if line.startswith("%")]
                self.assertEqual(comments, [f"% ISTL_STRUCT blocked {size} {size}"] if size else [])


class Refusals(unittest.TestCase):
    """Status 2 and a message that names option and value."""

    def assert_refused(self, words, *parts):
        with tempfile.TemporaryDirectory(prefix="small-matrices-") as folder:
            run = subprocess.run([os.environ["BLOCKJACOBI_GENERATE"], *words.split()], cwd=folder, capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            for part in parts:
                self.assertIn(part, run.stdout + run.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_each(self):
        self.assert_refused("stencil a.mtx --grid 0 4", "nx is 0")
        self.assert_refused("stencil a.mtx --shape round", "--shape", "round", "star, box")
        self.assert_refused("reservoir a.mtx --scalar z", "--scalar is z")
        self.assert_refused("stencil nowhere/a.mtx", "nowhere/a.mtx")
        self.assert_refused("stencil a.mtx.gz --pattern", "a.mtx.gz", ".mtx only")
        self.assert_refused("laplace a.mtx", "subcommand is required")
        self.assert_refused("array a.mtx --rows 0", "0 x 1")


if __name__ == "__main__":
    unittest.main()
