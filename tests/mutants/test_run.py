#!/usr/bin/env python3
"""Tests of run.py and of the record, on a small tree with a compiler and programs that only pretend."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import record
import run
from mutants import MUTANTS, Mutant

FILES = {
    "tests/CMakeLists.txt": """\
blockjacobi_add_tests(
  unit_core unit/core
  SOURCES steps_test.cpp
          moved_test.cpp
          support.cpp
  LABELS host small)
blockjacobi_add_tests(kernels kernels SOURCES steps_test.cpp LABELS cuda)
add_executable(c_api unit/capi/check.c unit/capi/steps_test.c)
""",
    "src/steps.hpp": "// what is counted\nconstexpr int steps = 1;\nconstexpr int moves = 1;\n",
    "tests/unit/core/steps_test.cpp": '#include "steps.hpp"\nTEST(Steps, AreCounted) {}\nTEST(Steps, End) {}\n',
    "tests/unit/core/moved_test.cpp": "TEST_F(MovedTest, HasNothing) {}\n",
    "tests/unit/core/support.cpp": "int support;\n",
    "tests/kernels/steps_test.cpp": "TYPED_TEST(StepsTest, Run) {}\n",
    "tests/unit/capi/check.c": "int check;\n",
    "tests/unit/capi/steps_test.c": "int main(void) { return 0; }\n",
}
FEWER = Mutant("fewer-steps", "src/steps.hpp", "steps = 1", "steps = 0", "unit_core", "Steps.*")
UNSEEN = Mutant("more-moves", "src/steps.hpp", "moves = 1", "moves = 2", "unit_core", "Steps.End")
WRONG = Mutant("no-code", "src/steps.hpp", "int steps", "int steps =", "unit_core", "Steps.*")
IN_C = Mutant("fewer-steps-in-c", "src/steps.hpp", "steps = 1", "steps = -1", "c_api", "")
CUDA = Mutant("cuda-fewer-steps", "src/steps.hpp", "steps = 1", "steps = 0", "kernels", "StepsTest*.Run", gpu=True)
ALL = (FEWER, UNSEEN, WRONG, IN_C, CUDA)

# Stands for a program: fails if there are no steps.
PROGRAM = """\
import sys
fails = "steps = 0" in {text!r}
print("[ RUN      ] Steps.AreCounted")
print("[  FAILED  ] Steps.AreCounted (0 ms)" if fails else "[       OK ] Steps.AreCounted (0 ms)")
sys.exit(fails)
"""


class FakeCopy(run.Copy):
    builds = ()  # when the header was written, for each

    def build(self, program):
        self.builds = (*self.builds, (self.folder / "src/steps.hpp").stat().st_mtime_ns)
        text = (self.folder / "src/steps.hpp").read_text(encoding="utf-8")
        if "= =" in text:
            return subprocess.CompletedProcess([], 1, stdout="steps.hpp: error\n")
        write(self.program(program), f"#!{sys.executable}\n{PROGRAM.format(text=text)}", mode=0o755)
        return subprocess.CompletedProcess([], 0, stdout="")


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


class MutantsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "tree"
        self.copy = FakeCopy(self.root.parent / "copy", "host", 1)
        self.record = self.root / "tests/mutants/record.json"
        for name, text in FILES.items():
            write(self.root / name, text)
            write(self.copy.folder / name, text)
        for patch in (mock.patch.object(run, "MUTANTS", ALL), mock.patch.object(run, "TREE", self.tree()),
                      mock.patch.object(record, "device", lambda: "Fake GPU")):
            patch.start()
            self.addCleanup(patch.stop)

    def tree(self):
        return record.sources_sha256.Tree(self.root)

    def quietly(self, function, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = function(*arguments)
        return status, output.getvalue()

    def check(self, mutants=ALL):
        return self.quietly(record.check, self.record, mutants, self.tree(), "record")

    def result(self):
        return run.Result(self.record)

    def put(self, mutant, what, killed_by=""):
        origin = record.origin(self.tree(), mutant)
        record.put(self.record, ALL, {mutant.name: record.entry(mutant, origin, record.Outcome(what, killed_by))})


class HashTest(MutantsTest):
    def assert_stale_after(self, name, text, wanted, mutant=FEWER):
        before = record.sha256(self.tree(), mutant)
        write(self.root / name, text)
        self.assertEqual(record.sha256(self.tree(), mutant) != before, wanted)

    def test_code_of_the_file_counts_and_comments_do_not(self):
        text = FILES["src/steps.hpp"]
        self.assert_stale_after("src/steps.hpp", text.replace("what is counted", "what counts"), False)
        self.assert_stale_after("src/steps.hpp", text.replace("moves = 1", "moves = 3"), True)

    def test_the_tests_that_it_names_count_and_others_do_not(self):
        self.assert_stale_after("tests/unit/core/moved_test.cpp", "TEST_F(MovedTest, HasSome) {}\n", False)
        self.assert_stale_after("tests/unit/core/support.cpp", "int other;\n", False)
        self.assert_stale_after("tests/unit/core/steps_test.cpp", "TEST(Steps, AreCounted) { FAIL(); }\n", True)

    def test_of_a_program_that_is_one_test_all_sources_count(self):
        self.assert_stale_after("tests/unit/capi/check.c", "int checked;\n", True, IN_C)

    def test_the_mutant_itself_counts(self):
        self.assertNotEqual(record.sha256(self.tree(), FEWER),
                            record.sha256(self.tree(), FEWER._replace(after="steps = -1")))
        self.assertEqual(record.sha256(self.tree(), FEWER), record.sha256(self.tree(), FEWER._replace(name="other")))

    def test_patterns_of_googletest(self):
        for pattern in ("Steps.End", "Steps*.E*", "Steps/1.End", "*Steps.End", "All/Steps.End/0", "Steps/*.End", "St*",
                        "Steps/host_?.End"):
            self.assertTrue(record.is_named("Steps", "End", pattern), pattern)
        for pattern in ("Steps.Begin", "Moves.End", "StepsTest/*.End", "Steps/*.E", "Moves*"):
            self.assertFalse(record.is_named("Steps", "End", pattern), pattern)

    def test_a_test_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "unit_core has a test 'Steps.Begin'"):
            record.sha256(self.tree(), FEWER._replace(test="Steps.Begin"))


class RecordTest(MutantsTest):
    def test_an_entry_takes_the_place_of_its_own_alone(self):
        self.put(UNSEEN, record.SURVIVED)
        self.put(FEWER, record.SURVIVED)
        self.put(FEWER, record.KILLED, "Steps.End")
        entries = record.load(self.record)
        self.assertEqual({name: entry["outcome"] for name, entry in entries.items()},
                         {"fewer-steps": "killed", "more-moves": "survived"})
        self.assertEqual(entries["fewer-steps"], {"sha256": record.sha256(self.tree(), FEWER), "backend": "host",
                                                  "outcome": "killed", "killed_by": "Steps.End", "commit": ""})

    def test_mutants_that_are_gone_leave_the_record(self):
        record.put(self.record, ALL, {"gone": {"outcome": "killed"}})
        self.put(FEWER, record.KILLED)
        self.assertEqual(list(record.load(self.record)), ["fewer-steps"])

    def test_check_names_absent_and_stale_ones(self):
        status, text = self.check()
        self.assertEqual(status, 0)
        self.assertIn("4 of host not on record: fewer-steps, more-moves, no-code, fewer-steps-in-c\n", text)
        self.assertIn("1 of cuda not on record: cuda-fewer-steps\n", text)
        self.put(FEWER, record.KILLED)
        self.assertEqual(self.check((FEWER,)), (0, "record: 1 of 1 mutants killed\n"))
        write(self.root / "src/steps.hpp", FILES["src/steps.hpp"] + "int other;\n")
        status, text = self.check((FEWER,))
        self.assertEqual(status, 0)
        self.assertIn("1 of host stale: fewer-steps\n", text)
        self.assertIn("0 of 1 mutants killed, run the others", text)

    def test_check_fails_for_survivors_as_they_are_now(self):
        self.put(UNSEEN, record.SURVIVED)
        self.put(WRONG, record.NOT_COMPILED)
        status, text = self.check((UNSEEN, WRONG))
        self.assertEqual(status, 1)
        self.assertIn("record: more-moves: survived\nrecord: no-code: does not compile\n", text)
        write(self.root / "tests/unit/core/steps_test.cpp", "TEST(Steps, End) { int more; }\n")
        self.assertEqual(self.check((UNSEEN, WRONG))[0], 0)

    def test_killed_are_those_of_now(self):
        self.put(FEWER, record.KILLED)
        self.put(UNSEEN, record.SURVIVED)
        self.assertEqual(record.killed(self.record, ALL, self.tree()), {"fewer-steps"})
        write(self.root / "src/steps.hpp", "int other;\n")
        self.assertEqual(record.killed(self.record, ALL, self.tree()), set())

    def test_the_commit_says_whether_there_are_changes(self):
        def git(*words):
            identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
            subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True)
        git("init")
        git("add", "-A")
        git("commit", "-m", "Tree")
        commit = record.commit(self.root)
        self.assertRegex(commit, "^[0-9a-f]{40}$")
        self.put(FEWER, record.KILLED)
        git("add", "-A")
        self.assertEqual(record.commit(self.root), commit)  # the record itself is no change
        write(self.root / "src/steps.hpp", "int other;\n")
        self.assertEqual(record.commit(self.root), commit + "+changes")


class OutcomeTest(MutantsTest):
    def test_first_failed(self):
        typed = "[ RUN      ] A/0.B\n[  FAILED  ] A/0.B, where TypeParam = float (3 ms)\n[  FAILED  ] 1 test, listed:\n"
        self.assertEqual(run.first_failed(typed, "p"), "A/0.B")
        self.assertEqual(run.first_failed("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] A.C\n", "p"), "A.C")
        self.assertEqual(run.first_failed("tests/steps_test.c:12: n == 3; last error:\n", "c_api"),
                         "c_api in tests/steps_test.c")
        self.assertEqual(run.first_failed("", "c_api"), "c_api")

    def program(self, body):
        path = self.root.parent / "program"
        write(path, f"#!{sys.executable}\nimport os, sys, time\n{body}\n", mode=0o755)
        return path

    def outcome_of(self, mutant, body):
        return run.tested(mutant, self.program(body), self.root)

    def test_killed_or_not(self):
        self.assertEqual(self.outcome_of(FEWER, "print('[       OK ] Steps.End')").what, record.SURVIVED)
        self.assertEqual(self.outcome_of(FEWER, "print('[  FAILED  ] Steps.End (1 ms)'); sys.exit(1)"),
                         record.Outcome(record.KILLED, "Steps.End"))
        died = self.outcome_of(FEWER, "print('[ RUN      ] Steps.End', flush=True); os.abort()")
        self.assertEqual(died, record.Outcome(record.KILLED, "Steps.End"))
        with mock.patch.object(run, "LONGEST_TEST_SECONDS", 0.5):
            endless = self.outcome_of(FEWER, "print('[ RUN      ] Steps.End', flush=True); time.sleep(60)")
        self.assertEqual(endless, record.Outcome(record.KILLED, "Steps.End"))

    def test_a_test_that_does_not_run_is_no_test(self):
        with self.assertRaisesRegex(SystemExit, "has no test"):
            self.outcome_of(FEWER, "print('[==========] Running 0 tests from 0 test suites.')")
        with self.assertRaisesRegex(SystemExit, "all skipped themselves"):
            self.outcome_of(CUDA, "print('[  SKIPPED ] StepsTest/0.Run')")

    def test_run_here(self):
        status, text = self.quietly(run.run_here, self.copy, [FEWER, UNSEEN, WRONG], self.result())
        self.assertEqual(status, 1)
        self.assertRegex(text, r"fewer-steps +killed by Steps.AreCounted\nmore-moves +survived\n"
                               r"no-code +does not compile:\nsteps.hpp: error\n\n1 of 3 mutants killed\n")
        self.assertEqual({name: entry["outcome"] for name, entry in record.load(self.record).items()},
                         {"fewer-steps": "killed", "more-moves": "survived", "no-code": "does not compile"})
        self.assertEqual((self.copy.folder / "src/steps.hpp").read_text(encoding="utf-8"), FILES["src/steps.hpp"])
        status, _ = self.quietly(run.run_here, self.copy, [FEWER], self.result())
        self.assertEqual(status, 0)
        self.assertEqual(len(record.load(self.record)), 3)

    def test_tests_that_include_the_file_are_compiled_first(self):
        header, test = self.copy.folder / "src/steps.hpp", self.copy.folder / "tests/unit/core/steps_test.cpp"
        os.utime(header, (1000, 1000))
        os.utime(test, (1000, 1000))
        self.quietly(run.run_here, self.copy, [FEWER], self.result())
        old = 1000 * 10**9
        self.assertEqual(self.copy.builds, (old, old))
        self.assertEqual(header.stat().st_mtime_ns, old)
        self.assertGreater(test.stat().st_mtime_ns, old)
        self.assertEqual(header.read_text(encoding="utf-8"), FILES["src/steps.hpp"])
        # of what they do not notice, or cannot compile, all is compiled
        for mutant in (UNSEEN, WRONG):
            os.utime(header, (1000, 1000))
            self.copy.builds = ()
            self.quietly(run.run_here, self.copy, [mutant], self.result())
            self.assertEqual([when == old for when in self.copy.builds], [True, True, False])
            self.assertGreater(header.stat().st_mtime_ns, old)
        # and of what they do not include
        os.utime(header, (1000, 1000))
        self.copy.builds = ()
        self.quietly(run.run_here, self.copy, [IN_C], self.result())
        self.assertEqual([when == old for when in self.copy.builds], [True, False])

    def test_a_test_that_fails_without_the_mutant_kills_nothing(self):
        write(self.copy.folder / "src/steps.hpp", "constexpr int steps = 0;\nconstexpr int moves = 1;\n")
        with self.assertRaisesRegex(SystemExit, "its test fails without it"):
            self.quietly(run.run_here, self.copy, [UNSEEN], self.result())
        self.assertFalse(self.record.exists())

    def test_what_cannot_be_applied_is_not_on_record(self):
        gone = FEWER._replace(before="steps = 7")
        status, text = self.quietly(run.run_here, self.copy, [gone], self.result())
        self.assertEqual(status, 1)
        self.assertIn("the text stands 0 times in src/steps.hpp", text)
        self.assertFalse(self.record.exists())

    def test_built_here_and_run_elsewhere(self):
        folder = self.root.parent / "built"
        wrong = WRONG._replace(name="cuda-no-code", program="kernels", test="StepsTest*.Run", gpu=True)
        with mock.patch.object(run, "MUTANTS", (CUDA, wrong)), \
                mock.patch.object(record, "commit", lambda root: "c0ffee"):
            self.assertEqual(self.quietly(run.build_only, self.copy, [CUDA, wrong], folder, self.result())[0], 1)
            entries = record.load(self.record)
            self.assertEqual(entries["cuda-no-code"]["outcome"], record.NOT_COMPILED)
            self.assertNotIn("device", entries["cuda-no-code"])
        with mock.patch.object(run, "MUTANTS", (CUDA, wrong)):
            self.assertEqual(self.quietly(run.run_only, [CUDA, wrong], folder, self.result())[0], 0)
        self.assertEqual(record.load(self.record)["cuda-fewer-steps"],
                         {"sha256": record.sha256(self.tree(), CUDA), "backend": "cuda", "device": "Fake GPU",
                          "outcome": "killed", "killed_by": "Steps.AreCounted", "commit": "c0ffee"})


class TreeTest(unittest.TestCase):
    """The list and the record of this tree."""

    def test_names_are_unique_and_tests_are_there(self):
        self.assertEqual(len({mutant.name for mutant in MUTANTS}), len(MUTANTS))
        for mutant in MUTANTS:
            self.assertTrue(record.test_files(run.TREE, mutant), mutant.name)

    def test_the_record_has_what_it_says(self):
        for name, entry in record.load(run.RECORD).items():
            mutant = next(m for m in MUTANTS if m.name == name)
            self.assertIn(entry["outcome"], (record.KILLED, record.SURVIVED, record.NOT_COMPILED))
            self.assertEqual(entry["backend"], "cuda" if mutant.gpu else "host")
            self.assertEqual("killed_by" in entry, entry["outcome"] == record.KILLED)
        text = run.RECORD.read_text(encoding="utf-8") if run.RECORD.exists() else "{}"
        self.assertEqual(text.rstrip("\n"), json.dumps(json.loads(text), indent=1) if run.RECORD.exists() else "{}")


if __name__ == "__main__":
    unittest.main()
