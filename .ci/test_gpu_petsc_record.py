#!/usr/bin/env python3
"""Tests of the record of .ci/gpu-petsc, on runs that only pretend."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import gpu_petsc_record as record
import sources_sha256

GOOD = "[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[  PASSED  ] 84 tests.\n"
SKIPS = "[  SKIPPED ] PetscDevice.UnderDeflation (0 ms)\n[  SKIPPED ] PetscDevice.UnderDeflation\n[  PASSED  ] 83 tests.\n"
FAILS = "[  FAILED  ] A.b on rank 1\n[  FAILED  ] A.c (2 ms)\n[  FAILED  ] A.c\n[  PASSED  ] 2 tests.\n"


class Outcomes(unittest.TestCase):
    def test_good(self):
        found = record.outcome("1 ranks", 0, GOOD)
        self.assertEqual((found["passed"], found["failed_tests"], found["wrong_skips"]), (84, [], []))

    def test_what_may_be_skipped(self):
        self.assertEqual(record.outcome("2 ranks, -x", 0, SKIPS)["wrong_skips"], [])
        self.assertEqual(record.outcome("2 ranks, -x", 0, SKIPS)["skipped_tests"], ["PetscDevice.UnderDeflation"])
        self.assertEqual(record.outcome("1 ranks, -x", 0, SKIPS)["wrong_skips"], ["skipped: PetscDevice.UnderDeflation"])
        self.assertEqual(len(record.outcome("2 ranks", 0, SKIPS.replace("UnderDeflation", "Other"))["wrong_skips"]), 1)

    def test_failures_of_any_rank(self):
        self.assertEqual(record.outcome("2 ranks", 1, FAILS)["failed_tests"], ["A.b", "A.c"])

    def test_the_end_of_a_program(self):
        self.assertEqual(record.outcome("1 ranks", 124, "")["failed_tests"], ["the program ended with status 124"])

    def test_memcheck_must_say_that_it_found_nothing(self):
        self.assertEqual(record.outcome("memcheck", 0, f"{GOOD}========= {record.NO_ERRORS}\n")["failed_tests"], [])
        self.assertEqual(len(record.outcome("memcheck", 0, GOOD)["failed_tests"]), 1)


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path, self.program, self.log = (self.folder / name for name in ("record.json", "program", "log"))

    def built(self, sha256, sources=("a.cpp",)):
        about = {"blockjacobi_build": 1, "program": "petsc_adapter", "sha256": sha256, "commit": "c", "sources": list(sources)}
        self.program.write_text(json.dumps(about) + "\n")

    def run_of(self, run, status, output, petsc="3.26"):
        self.log.write_text(output)
        return subprocess.run([sys.executable, "-B", record.__file__, self.path, self.program, petsc, run, str(status),
                               self.log], capture_output=True, text=True, check=False)

    def entry(self):
        return json.loads(self.path.read_text())["programs"]["petsc_adapter"]

    def test_runs_of_one_program_add_up(self):
        self.built("1")
        self.assertEqual(self.run_of("1 ranks", 0, GOOD).returncode, 0)
        answer = self.run_of("2 ranks", 1, FAILS)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("gpu-petsc: 2 ranks: A.b", answer.stdout)
        self.assertEqual((self.entry()["passed"], self.entry()["failed"]), (86, 2))
        self.run_of("2 ranks", 0, GOOD)  # once more
        self.assertEqual((self.entry()["passed"], self.entry()["failed"]), (168, 0))

    def test_those_of_another_program_go(self):
        self.built("1")
        self.run_of("1 ranks", 0, GOOD)
        self.built("2")
        self.run_of("2 ranks", 0, GOOD)
        self.assertEqual(list(self.entry()["runs"]), ["2 ranks"])

    def test_those_of_another_petsc_go(self):
        self.built("1")
        self.run_of("1 ranks", 0, GOOD)
        self.run_of("2 ranks", 0, GOOD, petsc="3.27")
        self.assertEqual(list(self.entry()["runs"]), ["2 ranks"])

    def test_no_test_is_no_success(self):
        self.built("1")
        self.assertEqual(self.run_of("1 ranks", 0, "").returncode, 1)

    def test_the_tree_can_be_asked_whether_it_is_stale(self):
        self.built("1")
        self.run_of("1 ranks", 0, GOOD)
        answer = subprocess.run([sys.executable, "-B", sources_sha256.__file__, "--check", self.path, "--tests", "--failures"],
                                capture_output=True, text=True, check=False)
        self.assertIn("1 of 1 stale", answer.stdout)
        self.assertEqual(answer.returncode, 0)


if __name__ == "__main__":
    unittest.main()
