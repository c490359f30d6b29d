#!/usr/bin/env python3
"""Tests of the record of .ci/gpu-python, on benchmarks that only pretend."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import gpu_python_summary as summary

JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="passes"/><testcase classname="a" name="fails"><failure/></testcase>
<testcase classname="a" name="skips"><skipped message="no device"/></testcase>
</testsuite></testsuites>"""
CG = {"rows": 8, "nnz": 32, "unknowns": 1, "block": 2, "apply_us": 1.0, "cupy_cg_none_us": 2.0,
      "cupy_cg_scalar_us": 3.0, "cupy_cg_blocks_us": 4.0, "blockjacobi_cg_us": 1.5, "over_apply": 1.05,
      "scalar_iterations": 9, "blocks_iterations": 7, "library_iterations": 7, "scalar_solve_ms": 2.5,
      "blocks_solve_ms": 2.0, "library_solve_ms": 1.0}
BENCHMARKS = {
    "apply_overhead": {"rows": 12, "microseconds": {"M @ r": 11.5}},
    "cupy_cg": CG,
    "cupy_cg_coupled": {**CG, "rows": 9, "unknowns": 3, "block": 3, "scalar_solve_ms": 1.5},
    "warp_cg": {"rows": 8, "block": 2, "warp": "1.19",
                "times": {"block_jacobi_tile": {"setup_ms": 1.0, "iteration_us": 2.0, "iterations": 6}}},
}


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.out = self.root / "out"
        self.out.mkdir()
        for name, values in BENCHMARKS.items():
            (self.out / f"{name}.json").write_text(json.dumps(values))
        (self.out / "gpu-python.junit.xml").write_text(JUNIT)
        for name, text in (("CMakeLists.txt", ""), ("pyproject.toml", ""), ("src/a.cpp", "int a;  // one\n"),
                           ("python/a.py", "a = 1\n")):
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def main(self, *arguments):
        with mock.patch.object(sys, "argv", ["", *map(str, arguments)]), \
             mock.patch.object(summary, "ROOT", self.root), \
             mock.patch.object(summary, "machine", lambda: {"device": "NVIDIA H200", "driver": "1.2"}), \
             mock.patch.object(summary, "package_sha256", lambda _sha256=summary.package_sha256: _sha256(self.root)), \
             contextlib.redirect_stdout(io.StringIO()) as printed:
            return summary.main(), printed.getvalue()

    def test_record_and_text(self):
        status, printed = self.main(self.out, "clean")
        self.assertEqual(status, 0)
        folder = self.root / "benchmarks" / "results" / "h200"
        record = json.loads((folder / "python.json").read_text())
        self.assertEqual(json.loads(printed), record)
        self.assertEqual(record["tests"], {"passed": 1, "failed": ["a.fails"], "skipped": ["a.skips: no device"]})
        text = (folder / "python.md").read_text()
        for words in ("NVIDIA H200, driver 1.2", record["sha256"][:12], "| `M @ r` | 11.50 |",
                      "|  | 8 rows, 32 entries, 1 a node, blocks of 2 | 9 rows, 32 entries, 3 a node, blocks of 3 |",
                      "an application | 1.050 | 1.050 |", "| whole solve by CuPy's CG with the diagonal, ms | 2.5 | 1.5 |",
                      "| block_jacobi_tile | 1.000 | 2.0 | 6 |", "1 passed, 1 failed, 1 skipped", "memcheck: clean"):
            self.assertIn(words, text)

    def test_a_record_without_a_coupled_system(self):
        record = {"device": "NVIDIA H200", "driver": "1.2", "date": "", "commit": "", "sha256": "", "python": "",
                  "cupy": "", "torch": "", "tests": None, "memcheck": "clean", "failed": [], "apply_overhead": None,
                  "warp_cg": None, "cupy_cg": {name: value for name, value in CG.items() if not name.endswith("_ms")}}
        text = summary.text_of(record)
        self.assertIn("| with M, us | 4.0 |", text)
        self.assertNotIn("whole solve by", text)

    def test_what_failed_is_not_put_on_record(self):
        self.main(self.out, "FAILED", "memcheck")
        self.assertTrue((self.out / "python.json").exists())
        self.assertFalse((self.root / "benchmarks").exists())

    def test_stale(self):
        self.main(self.out, "clean")
        record = self.out / "python.json"
        self.assertEqual(self.main("--check", record)[0], 0)
        (self.root / "src" / "a.cpp").write_text("int a;  // another comment\n")
        self.assertEqual(self.main("--check", record)[0], 0)
        (self.root / "src" / "a.cpp").write_text("int b;\n")
        status, printed = self.main("--check", record)
        self.assertEqual(status, 1)
        self.assertIn("stale", printed)

    def test_those_in_the_tree(self):
        for path in sorted(summary.ROOT.glob("benchmarks/results/*/python.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(summary.text_of(record), path.with_suffix(".md").read_text(encoding="utf-8"), path)
            self.assertEqual(summary.short_name(record["device"]), path.parent.name)

    def test_names(self):
        self.assertEqual(summary.short_name("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3")
        self.assertEqual(summary.short_commit("0123456789abcdef+changes"), "0123456789ab+changes")
        self.assertEqual(summary.short_commit(""), "unknown")


if __name__ == "__main__":
    unittest.main()
