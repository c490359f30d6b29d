#!/usr/bin/env python3
"""Tests of the record of GPU tests, on a small tree with programs and tools that only pretend."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import gpu_places
import gpu_python_summary
import gpu_reach
import gpu_record
import gpu_stages
import kernel_code
import sources_sha256
import test_lists
from gpu_places import Use

ROOT = sources_sha256.ROOT
PETSC_IS_THERE = gpu_record.petsc_is_there

# Stands for a GoogleTest program: TESTS are name: outcome, and a file of its name beside it overrides outcomes. Each test
# that runs launches a kernel of its name, those of Lu with dynamic shared memory.
PROGRAM = """\
import fnmatch, json, os, pathlib, sys
TESTS = {tests}
override = pathlib.Path(sys.argv[0] + ".outcomes")
if override.exists():
    TESTS.update(json.loads(override.read_text()))
options = dict(word[2:].split("=", 1) if "=" in word else (word[2:], "") for word in sys.argv[1:])
wanted = options.get("gtest_filter", "*").split(":")
names = [name for name in TESTS if any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)]
if "gtest_list_tests" in options:
    suite = ""
    for name in names:
        if name.split(".")[0] != suite:
            suite = name.split(".")[0]
            print(suite + ".  # TypeParam = double")
        print("  " + name.split(".")[1])
    sys.exit(0)
share, shares = int(os.environ.get("GTEST_SHARD_INDEX", 0)), int(os.environ.get("GTEST_TOTAL_SHARDS", 1))
if "dies" in TESTS.values() and share == 0:
    print("[ RUN      ] Apply.Runs")
    sys.exit(139)
cases = ""
for name in names[share::shares]:
    suite, test = name.split(".")
    inside = {{"failed": "<failure/>", "skipped": "<skipped/>"}}.get(TESTS[name], "")
    cases += f'<testcase classname="{{suite}}" name="{{test}}" status="run">{{inside}}</testcase>'
if "gtest_output" in options:
    pathlib.Path(options["gtest_output"].split(":", 1)[1]).write_text(f"<testsuites>{{cases}}</testsuites>")
failed = any(TESTS[name] == "failed" for name in names[share::shares])
for name in names[share::shares]:
    if TESTS[name] == "skipped":
        print(f"[  SKIPPED ] {{name}} (0 ms)")
print("[  PASSED  ]", sum(TESTS[name] == "passed" for name in names[share::shares]), "tests.")
if failed:
    print("[  FAILED  ]")
if os.path.exists(os.environ.get("CUDA_INJECTION64_PATH", "")):
    with open(os.environ["BLOCKJACOBI_KERNELS_SEEN"], "a") as seen:
        for suite, test in (name.split(".") for name in names[share::shares] if TESTS[name] == "passed"):
            if "host" not in suite:
                print(f"_ZN11blockjacobi{{len(test)}}{{test}}Ev", *["dynamic"] * (suite == "Lu"), file=seen)
sys.exit(1 if failed else 0)
"""

# Stands for compute-sanitizer: notes what it was asked for; finds an error in tests named *Racy* with racecheck.
SANITIZER = """\
import os, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("NVIDIA (R) Compute Sanitizer\\nVersion 2026.4.0.0 (build 1)"))
tool = words[words.index("--tool") + 1]
at = next(i for i, word in enumerate(words) if word.startswith("/"))
with open(os.environ["SANITIZER_LOG"], "a") as log:
    log.write(" ".join([tool, *words[at:], os.environ.get("BLOCKJACOBI_TEST_UNDER_TOOL", "0"),
                        os.environ.get("OMP_NUM_THREADS", "all")]) + "\\n")
status = subprocess.run(words[at:]).returncode
bad = tool == "racecheck" and "Racy" in words[-1] and not os.environ.get("RACE_MENDED")
if tool == "racecheck":
    print(f"========= RACECHECK SUMMARY: {int(bad)} hazards displayed ({int(bad)} errors, 0 warnings)")
else:
    print("========= ERROR SUMMARY: 0 errors")
sys.exit(86 if bad else status)
"""

CMAKE = """\
function(blockjacobi_add_tests name folder)
  target_compile_options(${name} PRIVATE -O1)
endfunction()
blockjacobi_add_tests(unit_core unit/core SOURCES core_test.cpp LABELS host small)
# both backends
blockjacobi_add_tests(backends backends SOURCES lu_test.cpp LABELS ${backend_labels})
blockjacobi_add_tests(kernels kernels SOURCES apply_test.cpp LABELS cuda)
"""

FILES = {
    "CMakeLists.txt": "add_compile_options(-Wall)\n",
    "src/CMakeLists.txt": "add_library(blockjacobi core/lu.cpp)\n",
    "kernels/CMakeLists.txt": "target_compile_options(blockjacobi PRIVATE -maxrregcount=64) # registers\n",
    "tests/CMakeLists.txt": CMAKE,
    "include/blockjacobi/lu.hpp": "// the contract\nint lu(int n);\n",
    "src/core/lu.cpp": '#include "core/steps.hpp"\n#include <blockjacobi/lu.hpp>\nint lu(int n) { return steps * n; }\n',
    "src/core/steps.hpp": "#pragma once\nconstexpr int steps = 2;\n",
    "kernels/lu.cu": '#include "lanes.cuh"\n__global__ void lu_kernel() {}\n',
    "kernels/lanes.cuh": "#define LANES 32\n",
    "examples/solve.cpp": "int main() {}\n",
    "tests/support/norms.hpp": "#pragma once\n",
    "tests/backends/lu_test.cpp": '#include "tests/support/norms.hpp"\n',
    "tests/kernels/apply_test.cpp": '#include "tests/support/norms.hpp"\nint x = 1;\n',
    "tests/sanitizers.txt": "kernels all Apply.*\nkernels memcheck,racecheck Lu.*\nbackends memcheck *cuda*\n",
    "tests/unlaunched-kernels.txt": "# none\n",
    "tests/expected-skips.txt": "kernels Apply.Skips  # no such storage\n",
}
SOURCES = {
    "backends": ["tests/backends/lu_test.cpp", "src/core/lu.cpp", "kernels/lu.cu"],
    "kernels": ["tests/kernels/apply_test.cpp", "kernels/lu.cu"],
}
TESTS = {
    "backends": {"Batched/host_d.Lu": "passed", "Batched/cuda_d.Lu": "passed"},
    "kernels": {"Apply.Runs": "passed", "Apply.Skips": "skipped", "Lu.Racy": "passed", "Other.Runs": "passed"},
}
VIRTUAL = ("device", "compute_capability", "driver")


class FakeTree(unittest.TestCase):
    """A tree in a folder of its own with built programs, and a GPU that is not there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name, text in FILES.items():
            self.write(name, text)
        self.record = self.root / "tests/gpu-record.json"
        self.bin = self.root / "bin"
        self.script(self.bin / "nvidia-smi", 'print("Fake GPU, 1.2.3, 9.0")\n')
        self.script(self.bin / "compute-sanitizer", SANITIZER)
        self.log = self.root / "sanitizer.log"
        environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "SANITIZER_LOG": str(self.log)}
        patch = mock.patch.dict(os.environ, environment)
        for patch in (patch, mock.patch.object(gpu_stages, "python_is_there", lambda: False),
                      mock.patch.object(gpu_record, "petsc_is_there", lambda root: False),
                      mock.patch.object(gpu_reach, "why_not_loaded", lambda library: ""),
                      mock.patch.object(gpu_reach, "kernels_of", self.kernels_of)):
            patch.start()
            self.addCleanup(patch.stop)
        for program in SOURCES:
            self.build(program)
        self.write("build/tests/kernels_seen.so", "")
        self.kernels = {"kernels": {"Runs": False}, "backends": {}}

    def kernels_of(self, program):
        return {f"_ZN11blockjacobi{len(name)}{name}Ev": has_some for name, has_some in self.kernels[program.name].items()}

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def tree(self):
        return sources_sha256.Tree(self.root)

    def build(self, program):
        """What a build does: a program that carries the hash of the tree as it is."""
        sha256 = self.tree().program_sha256(program, SOURCES[program])
        mark = json.dumps({"blockjacobi_build": 1, "program": program, "sha256": sha256, "commit": "c0ffee",
                           "sources": SOURCES[program]})
        self.script(self.root / "build/tests" / program,
                    PROGRAM.format(tests=repr(TESTS[program])) + f"# below is data\n'''\n{mark}\n'''\n")

    def outcomes(self, program, outcomes):
        self.write(f"build/tests/{program}.outcomes", json.dumps(outcomes))

    def gpu(self, *words):
        """Status of .ci/gpu, and the record that it wrote."""
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = gpu_record.main([str(self.root / "build"), *words], self.tree())
        self.output = output.getvalue()
        return status, json.loads(self.record.read_text(encoding="utf-8")).get("programs", {})

    def check(self, record=None, tests_alone=False, failures_alone=False):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = sources_sha256.check(str(record or self.record), self.tree(), tests_alone, failures_alone)
        return status, output.getvalue()

    def failures(self):
        return self.check(failures_alone=True)

    def sanitized(self):
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return {(line.split()[0], pathlib.Path(line.split()[1]).name) for line in lines}


class HashTest(FakeTree):
    def hash_after(self, program, name, text):
        before = self.tree().program_sha256(program, SOURCES[program])
        self.write(name, text)
        return before, self.tree().program_sha256(program, SOURCES[program])

    def assert_same(self, program, name, text):
        self.assertEqual(*self.hash_after(program, name, text))

    def assert_other(self, program, name, text):
        self.assertNotEqual(*self.hash_after(program, name, text))

    def test_comments_and_white_space_do_not_count(self):
        self.assert_same("backends", "include/blockjacobi/lu.hpp", "/* the\n contract */\nint lu(\n    int  n); // LU\n")
        self.assert_same("backends", "kernels/CMakeLists.txt",
                         "# why\ntarget_compile_options(blockjacobi\n  PRIVATE -maxrregcount=64)\n")

    def test_code_counts_wherever_it_lies(self):
        self.assert_other("backends", "src/core/steps.hpp", "#pragma once\nconstexpr int steps = 3;\n")
        self.assert_other("kernels", "kernels/lanes.cuh", "#define LANES 16\n")
        self.assert_other("kernels", "kernels/CMakeLists.txt", "target_compile_options(blockjacobi PRIVATE -G)\n")
        self.assert_other("kernels", "tests/CMakeLists.txt", CMAKE.replace("-O1", "-O2"))

    def test_only_what_a_program_is_made_of_counts(self):
        self.assert_same("kernels", "src/core/lu.cpp", "int lu(int) { return 0; }\n")
        self.assert_same("kernels", "tests/backends/lu_test.cpp", "int y;\n")
        self.assert_same("backends", "examples/solve.cpp", "int main() { return 1; }\n")
        self.assert_same("backends", "README.md", "# Title\n")
        self.assert_same("kernels", "src/CMakeLists.txt", "add_library(blockjacobi core/lu.cpp core/qr.cpp)\n")
        self.assert_same("kernels", "tests/CMakeLists.txt", CMAKE.replace("lu_test.cpp", "lu_test.cpp qr_test.cpp"))

    def test_a_new_test_file_and_a_missing_source_count(self):
        self.assert_other("backends", "tests/CMakeLists.txt", CMAKE.replace("lu_test.cpp", "lu_test.cpp qr_test.cpp"))
        before = self.tree().program_sha256("kernels", SOURCES["kernels"])
        (self.root / "kernels/lanes.cuh").unlink()
        self.assertNotEqual(before, self.tree().program_sha256("kernels", SOURCES["kernels"]))

    def test_templates_of_generated_sources_count(self):
        self.assert_other("kernels", "kernels/instance.cu.in", '#include "lu.cuh"\n')

    def test_tokens(self):
        code = sources_sha256.code_of
        self.assertEqual(code('a = "// no comment"; // comment'), 'a = "// no comment" ;')
        self.assertEqual(code("x = 1'000'000; c = '/*';"), "x = 1'000'000 ; c = '/*' ;")
        self.assertEqual(code('R"(a // b\n)" /* c */ + d'), 'R"(a // b\n)" + d')
        self.assertNotEqual(code("a - -b"), code("a--b"))
        self.assertNotEqual(code("#define A\nB"), code("#define A B"))
        self.assertEqual(code("#define A(x) \\\n  x\nf()"), code("#define A(x) x\nf( )"))
        self.assertEqual(code("int f(\n    int);\n\n\n"), code("int f( int ) ;"))

    def test_statements_of_cmake(self):
        found = list(sources_sha256.statements('a(b "c # d") # e(f)\nG(\n  $<IF:$<A>,(x),y>\n  h)'))
        self.assertEqual(found, [("a", ["b", '"c', "#", 'd"']), ("g", ["$<IF:$<A>,(x),y>", "h"])])


class RecordTest(FakeTree):
    def test_no_record_is_stale(self):
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("2 of 2 stale: backends, kernels: rerun these", text)

    def test_a_full_run(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            status, programs = self.gpu()
        self.assertEqual(status, 0, self.output)
        kernels = programs["kernels"]
        self.assertEqual([kernels[key] for key in ("passed", "failed", "skipped", "expected_skips")], [3, 0, 1, 1])
        self.assertEqual([kernels[key] for key in VIRTUAL], ["Fake GPU", "9.0", "1.2.3"])
        self.assertEqual(kernels["commit"], "c0ffee")
        self.assertEqual({tool: found["tests"] for tool, found in kernels["sanitizers"].items()},
                         {"memcheck": 3, "racecheck": 3, "synccheck": 2, "initcheck": 2})
        self.assertEqual({found["skipped"] for found in kernels["sanitizers"].values()}, {1})
        self.assertEqual(list(programs["backends"]["sanitizers"]), ["memcheck"])
        self.assertEqual(programs["backends"]["sanitizers"]["memcheck"]["version"], "2026.4.0.0")
        self.assertEqual(self.check()[0], 0, self.check()[1])

    def test_only_what_is_stale_runs_again(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            self.gpu()
            self.sanitized()
            self.write("tests/kernels/apply_test.cpp", "int x = 2;\n")
            self.assertIn("1 of 2 stale: kernels: rerun these", self.check()[1])
            status, programs = self.gpu("--stale")
            self.assertIn("== kernels: on record", self.output)  # not built anew: the binary is still the recorded one
            self.assertIn("1 of 2 stale", self.check()[1])
            before = programs["backends"]
            self.build("kernels")
            status, programs = self.gpu("--stale")
        self.assertEqual(status, 0)
        self.assertEqual({program for _, program in self.sanitized()}, {"kernels"})
        self.assertEqual(programs["backends"], before)
        self.assertEqual(self.check()[0], 0)

    def test_a_hazard_is_no_good_record(self):
        status, programs = self.gpu()
        self.assertEqual(status, 1)
        self.assertFalse(programs["kernels"]["sanitizers"]["racecheck"]["clean"])
        self.assertIn("kernels: racecheck not clean", self.check()[1])
        self.sanitized()
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            status, programs = self.gpu("--stale")
        self.assertEqual(status, 0)
        self.assertEqual(self.sanitized(), {("racecheck", "kernels")})
        self.assertNotIn("unfinished", programs["kernels"])

    def test_failed_tests_and_programs_that_die(self):
        self.outcomes("backends", {"Batched/cuda_d.Lu": "failed"})
        self.outcomes("kernels", {"Apply.Runs": "dies"})
        status, programs = self.gpu("--stages", "tests")
        self.assertEqual(status, 1)
        self.assertEqual(programs["backends"]["failed_tests"], ["Batched/cuda_d.Lu"])
        self.assertIn("status 139 and no report in Apply.Runs", programs["kernels"]["failed_tests"][0])
        self.assertIn("backends: 1 failed, memcheck not run", self.check()[1])

    def test_skips_are_those_of_the_list(self):
        self.outcomes("kernels", {"Other.Runs": "skipped", "Apply.Skips": "passed"})
        status, programs = self.gpu("--stages", "tests")
        self.assertEqual(status, 1)
        self.assertEqual(programs["kernels"]["wrong_skips"], ["not skipped: Apply.Skips", "skipped: Other.Runs"])
        self.assertIn("2 skips other than expected", self.check()[1])

    def test_some_tests_may_run_or_skip(self):
        self.write("tests/expected-skips.txt", "kernels Apply.Skips\nkernels ?Other.*\n")
        for outcome in ("passed", "skipped"):
            self.outcomes("kernels", {"Other.Runs": outcome})
            _, programs = self.gpu("--stages", "tests")
            self.assertEqual(programs["kernels"]["wrong_skips"], [])
            self.assertEqual(programs["kernels"]["expected_skips"], 1)

    def test_a_stopped_run_is_taken_up(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            with mock.patch.object(gpu_record.Record, "add_sanitizer", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    self.gpu("--programs", "kernels")
            self.assertIn("kernels: memcheck not run", self.check()[1])
            self.sanitized()
            status, programs = self.gpu("--stale", "--programs", "kernels")
        self.assertEqual(status, 0)
        self.assertNotIn(("memcheck", "kernels"), self.sanitized())
        self.assertEqual(programs["kernels"]["sanitizers"]["memcheck"]["tests"], 3)

    def test_other_code_and_less_shared_memory_are_other_entries(self):
        self.write("build/tests/build-info.json", '{"cuda": "13.0", "architectures": "compute_80,code=sm_90"}')
        record = self.root / "tests/gpu-record-99kb.json"
        words = ("--stages", "tests", "--programs", "kernels", "--stale", "--record", str(record))
        _, programs = self.gpu("--stages", "tests")
        self.assertEqual(programs["kernels"]["architectures"], "compute_80,code=sm_90")
        self.assertNotIn("shared_kb", programs["kernels"])
        record.write_text(self.record.read_text(encoding="utf-8"), encoding="utf-8")
        self.gpu(*words)
        self.assertIn("== kernels: on record", self.output)
        with mock.patch.dict(os.environ, BLOCKJACOBI_TEST_SHARED_KB="99"):
            self.gpu(*words)
            self.assertNotIn("== kernels: on record", self.output)
            self.assertEqual(json.loads(record.read_text(encoding="utf-8"))["programs"]["kernels"]["shared_kb"], 99)
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                self.gpu("--stages", "tests")
        self.assertEqual(self.check(record, tests_alone=True)[0], 0)
        self.assertEqual(self.check(record)[0], 1)

    def test_more_skips(self):
        self.outcomes("kernels", {"Other.Runs": "skipped"})
        self.write("tests/expected-skips-99.txt", "kernels Other.*\n")
        status, programs = self.gpu("--stages", "tests", "--skips", str(self.root / "tests/expected-skips-99.txt"))
        self.assertEqual(status, 0)
        self.assertEqual(programs["kernels"]["expected_skips"], 2)
        self.write("tests/expected-skips-99.txt", "kernels Gone.*\n")
        self.assertEqual(len(test_lists.unused(self.root / "build", self.root)), 1)

    def on_other_device(self, name):
        return mock.patch.object(gpu_record, "device", lambda: {"device": name, "compute_capability": "8.0", "driver": "2"})

    def test_each_stage_keeps_its_device(self):
        self.gpu("--stages", "tests")
        with self.on_other_device("Other GPU"), mock.patch.dict(os.environ, RACE_MENDED="1"):
            _, programs = self.gpu("--stages", "memcheck")
            kernels = programs["kernels"]
            self.assertEqual([kernels[key] for key in VIRTUAL], ["Fake GPU", "9.0", "1.2.3"])
            self.assertEqual(kernels["sanitizers"]["memcheck"]["devices"], ["Other GPU"])
            _, programs = self.gpu("--stages", "tests")
        self.assertEqual(programs["kernels"]["device"], "Other GPU")
        _, programs = self.gpu("--stale")
        self.assertEqual(programs["kernels"]["device"], "Other GPU")
        self.assertEqual(programs["kernels"]["sanitizers"]["memcheck"]["devices"], ["Other GPU"])
        self.assertEqual(programs["kernels"]["sanitizers"]["racecheck"]["devices"], ["Fake GPU"])

    def test_no_stage_begins_when_the_time_is_over(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            status, programs = self.gpu("--seconds", "0")
            self.assertEqual(status, 1)
            self.assertEqual(self.sanitized(), set())
            self.assertNotIn("passed", programs["kernels"])
            self.assertEqual(self.gpu("--stale")[0], 0)
        self.assertEqual(self.check()[0], 0)

    def test_shares_that_the_time_left_are_run_by_the_next(self):
        self.gpu("--stages", "tests")
        over = []
        run_share = gpu_stages.sanitize_share

        def once(*words):
            over.append(True)
            return run_share(*words)

        with mock.patch.object(gpu_stages, "SHARDS", 1), mock.patch.object(gpu_stages, "OTHER_SHARE_TESTS", 1), \
                mock.patch.object(gpu_stages, "sanitize_share", once), \
                mock.patch.object(gpu_stages, "is_over", lambda deadline: bool(over)):
            status, programs = self.gpu("--stale", "--programs", "kernels", "--stages", "memcheck")
        self.assertEqual(status, 1)
        self.assertNotIn("sanitizers", programs["kernels"])
        self.assertEqual([share["tests"] for share in programs["kernels"]["unfinished"]["memcheck"]], [["Apply.Runs"]])
        self.assertEqual(len(self.log.read_text(encoding="utf-8").splitlines()), 1)
        status, programs = self.gpu("--stale", "--programs", "kernels", "--stages", "memcheck")
        self.assertEqual(status, 0)
        self.assertEqual(programs["kernels"]["sanitizers"]["memcheck"]["tests"], 3)
        self.assertNotIn("Apply.Runs:", self.log.read_text(encoding="utf-8").splitlines()[-1])

    def test_tools_leave_cores_to_each_other(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("OMP_NUM_THREADS", None)
            self.gpu("--programs", "kernels", "--stages", "memcheck")
        self.assertEqual({line.split()[-1] for line in self.log.read_text(encoding="utf-8").splitlines()}, {"2"})

    def test_tools_but_synccheck_share_the_gpu(self):
        log = self.root / "service.log"
        self.script(self.bin / "nvidia-cuda-mps-control",
                    "import os, sys\n"
                    f"with open({str(log)!r}, 'a') as log:\n"
                    "    log.write(' '.join(sys.argv[1:] or [sys.stdin.read().strip()]) + '\\n')\n"
                    "    assert os.path.isdir(os.environ['CUDA_MPS_PIPE_DIRECTORY'])\n")
        program, faults = self.root / "kernels", self.root / "device_faults"
        for tool, of, use in (("memcheck", program, Use.AT_ONCE), ("racecheck", program, Use.AT_ONCE),
                              ("synccheck", program, Use.IN_TURNS), ("memcheck", faults, Use.IN_TURNS)):
            self.assertEqual(gpu_stages.use_of(tool, of), use, tool)
        uses = (Use.AT_ONCE, Use.AT_ONCE, Use.IN_TURNS, Use.ALONE, Use.AT_ONCE)
        with gpu_places.Places([{}], 2) as places:
            given = [places.submit((), use, lambda gpu: gpu).result() for use in uses]
        self.assertEqual(["CUDA_MPS_PIPE_DIRECTORY" in gpu for gpu in given], [use is Use.AT_ONCE for use in uses])
        self.assertEqual(given[2], {})
        self.assertEqual(log.read_text(encoding="utf-8").split(), ["-d", "quit"] * 2)

    def test_stages_go_to_all_gpus_of_one_kind(self):
        seen = self.root / "gpus.log"
        self.script(self.bin / "nvidia-smi", """import sys
print("Fake GPU, 1.2.3, 9.0" if "driver" in sys.argv[1] else "GPU-a, Fake GPU\\nGPU-b, Fake GPU\\nGPU-c, Other GPU")
""")
        note = f"""import os
with open({str(seen)!r}, "a") as log: log.write(os.environ["CUDA_VISIBLE_DEVICES"] + "\\n")
"""
        self.script(self.bin / "compute-sanitizer", note + SANITIZER)
        # each waits for the other, so that they end only where they run side by side
        both, run_shard, shards = threading.Barrier(2), gpu_stages.run_shard, []

        def noted(*words):
            both.wait(timeout=60)
            shards.append(words[-1]["CUDA_VISIBLE_DEVICES"])
            return run_shard(*words)

        with mock.patch.object(gpu_stages, "SHARDS", 1), mock.patch.object(gpu_stages, "run_shard", noted):
            status, programs = self.gpu("--stages", "tests", "memcheck")
        self.assertEqual(status, 0, self.output)
        self.assertEqual(sorted(shards), ["GPU-a", "GPU-b"])
        self.assertEqual([programs["kernels"][key] for key in ("passed", "skipped")], [3, 1])
        self.assertEqual(programs["kernels"]["sanitizers"]["memcheck"]["tests"], 3)
        self.assertLessEqual(set(seen.read_text(encoding="utf-8").split()), {"GPU-a", "GPU-b"})
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="GPU-b"):
            self.assertEqual(gpu_places.gpus(), [{}])
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="GPU-b,"):
            self.assertEqual(gpu_places.gpus(), [{}])
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="GPU-b,GPU-d"):
            self.assertEqual(gpu_places.gpus(), [{"CUDA_VISIBLE_DEVICES": f"GPU-{name}"} for name in "bd"])

    def test_a_place_goes_to_the_first_in_order(self):
        begun, leave = [], threading.Event()
        with gpu_places.Places([{"CUDA_VISIBLE_DEVICES": "a"}], 1) as places:
            first = places.submit((5,), Use.ALONE, lambda gpu: (leave.wait(60), gpu))
            waiting = [places.submit((order,), Use.ALONE, lambda gpu, order=order: begun.append(order))
                       for order in (2, 1, 3)]
            leave.set()
            self.assertEqual(first.result(), (True, {"CUDA_VISIBLE_DEVICES": "a"}))
            for one in waiting:
                one.result()
        self.assertEqual(begun, [1, 2, 3])

    def test_a_gpu_changes_its_use_when_it_is_empty(self):
        ended, leave = [], threading.Event()
        with gpu_places.Places([{}], 2) as places:
            places.submit((0,), Use.IN_TURNS, lambda _: (leave.wait(60), ended.append("first")))
            alone = places.submit((1,), Use.ALONE, lambda _: ended.append("alone"))
            places.submit((2,), Use.IN_TURNS, lambda _: ended.append("beside the first")).result()
            self.assertEqual(ended, ["beside the first"])
            leave.set()
            alone.result()
        self.assertEqual(ended, ["beside the first", "first", "alone"])

    def test_the_emptiest_gpu_is_taken(self):
        together = threading.Barrier(2)
        with gpu_places.Places([{"CUDA_VISIBLE_DEVICES": name} for name in "ab"], 2) as places:
            begun = [places.submit((), Use.IN_TURNS, lambda gpu: (together.wait(60), gpu["CUDA_VISIBLE_DEVICES"])[1])
                     for _ in range(2)]
            self.assertEqual([one.result(60) for one in begun], ["a", "b"])

    def test_what_fails_at_its_place_leaves_it(self):
        with gpu_places.Places([{}], 1) as places:
            failed = places.submit((), Use.ALONE, lambda _: {}["no such key"])
            self.assertEqual(places.submit((), Use.ALONE, lambda _: "next").result(60), "next")
            self.assertRaises(KeyError, failed.result, 60)

    def test_who_waits_at_the_end_does_not_begin(self):
        leave = threading.Event()
        with gpu_places.Places([{}], 1) as places:
            first = places.submit((), Use.ALONE, lambda _: leave.wait(60))
            second = places.submit((), Use.ALONE, lambda _: self.fail("began"))
            threading.Timer(0.1, leave.set).start()
        self.assertTrue(first.result(60))
        self.assertTrue(second.cancelled())

    def test_a_share_that_does_not_end_is_stopped(self):
        self.script(self.bin / "compute-sanitizer", "import time\ntime.sleep(60)\n")
        with mock.patch.object(gpu_stages, "SHARE_SECONDS", 0.2):
            share, _ = gpu_stages.sanitize_share("memcheck", self.root / "kernels", ["Apply.Runs"], {})
        self.assertEqual((share["status"], share["clean"]), (124, False))

    def test_tests_that_do_not_end_are_stopped(self):
        self.script(self.root / "build/tests/kernels", "print('[ RUN      ] Apply.Hangs', flush=True)\nimport time\ntime.sleep(60)\n")
        with mock.patch.object(gpu_stages, "SHARE_SECONDS", 5), mock.patch.object(gpu_stages, "SHARDS", 1), \
                contextlib.redirect_stdout(io.StringIO()):
            outcome = gpu_stages.run_tests(self.root / "build/tests/kernels", self.root, {})
        self.assertIn("status 124 and no report in Apply.Hangs", outcome.failed[0])

    def test_clean_shares_beside_one_that_is_not_stay(self):
        self.gpu("--stages", "tests")
        with mock.patch.object(gpu_stages, "SHARE_TESTS", {"racecheck": 1}):
            _, programs = self.gpu("--stages", "racecheck", "--programs", "kernels")
            self.assertFalse(programs["kernels"]["sanitizers"]["racecheck"]["clean"])
            self.sanitized()
            with mock.patch.dict(os.environ, RACE_MENDED="1"):
                status, programs = self.gpu("--stale", "--stages", "racecheck", "--programs", "kernels")
        self.assertEqual(status, 0)
        self.assertEqual(len(self.log.read_text(encoding="utf-8").splitlines()), 1)
        self.assertNotIn("unfinished", programs["kernels"])

    def share(self, tool, output, status=0, names=("Apply.Runs", "Lu.Racy"), may_skip=("Apply.Skips",)):
        """Whether a share is clean of which the tool says this, and the lines that are kept."""
        self.script(self.bin / "compute-sanitizer", f"print({output!r})\nraise SystemExit({status})\n")
        share, lines = gpu_stages.sanitize_share(tool, self.root / "kernels", list(names), {}, set(may_skip))
        return share["clean"], "\n".join(lines)

    def test_a_share_is_clean_if_its_tests_ran_and_the_tool_says_so(self):
        passed = "[  PASSED  ] 2 tests.\n"
        no_error, no_leak = "========= ERROR SUMMARY: 0 errors", "========= LEAK SUMMARY: 0 bytes leaked in 0 allocations\n"
        no_hazard = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
        warnings = "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)"
        self.assertTrue(self.share("memcheck", passed + no_leak + no_error)[0])
        self.assertTrue(self.share("racecheck", passed + no_hazard)[0])
        for tool, output, status, told in (
                ("memcheck", passed + no_error, 139, "status 139"),
                ("memcheck", passed + no_error + "\n" + no_error.replace("0", "3"), 0, "3 errors"),
                ("memcheck", passed + no_leak.replace("0", "8") + no_error, 0, "8 bytes leaked in 8 allocations"),
                ("memcheck", passed, 0, "memcheck does not say: 0 errors"),
                ("racecheck", passed + warnings, 0, "2 hazards displayed (0 errors, 2 warnings)"),
                ("racecheck", passed + no_error, 0, "racecheck does not say: 0 hazards"),
                ("memcheck", passed.replace("2", "1") + no_error, 0, "1 of 2 tests passed"),
                ("memcheck", no_error, 0, "0 of 2 tests passed"),
                ("memcheck", "[  SKIPPED ] Lu.Racy (0 ms)\n[  PASSED  ] 1 test.\n" + no_error, 0, "Lu.Racy skipped itself")):
            clean, lines = self.share(tool, output, status)
            self.assertFalse(clean, told)
            self.assertIn(f"not clean: {told}", lines)

    def test_a_share_without_a_call_of_cuda_is_not_clean(self):
        message = "========= Error: Target application terminated before first instrumented API call"
        for status in (0, 139, 255):
            clean, lines = self.share("memcheck", "[  PASSED  ] 2 tests.\n" + message, status)
            self.assertFalse(clean)
            self.assertIn(message, lines)

    def test_only_tests_of_a_list_may_all_skip_themselves(self):
        said = "[  SKIPPED ] Apply.Skips (0 ms)\n[  PASSED  ] 0 tests.\n"
        for status in (0, 139):
            self.assertTrue(self.share("racecheck", said, status, ["Apply.Skips"])[0])
            self.assertFalse(self.share("racecheck", said, status, ["Apply.Skips"], ())[0])
            self.assertFalse(self.share("racecheck", "no CUDA device\n" + said, status, ["Apply.Skips"])[0])
        both = said.replace("0 tests", "1 test") + "========= ERROR SUMMARY: 0 errors"
        self.assertTrue(self.share("memcheck", both, 0, ["Apply.Runs", "Apply.Skips"])[0])

    def test_a_tool_whose_list_changed_runs_again(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            self.gpu()
            self.assertEqual(self.check()[0], 0)
            self.sanitized()
            self.write("tests/sanitizers.txt", FILES["tests/sanitizers.txt"] + "# why\nkernels initcheck Lu.*\n")
            status, text = self.check()
            self.assertEqual(status, 1)
            self.assertIn("kernels: initcheck of another list of tests\n", text)
            self.assertNotIn("backends: ", text)
            self.gpu("--stages", "tests")
            self.assertIn("synccheck clean, initcheck clean of another list", self.output)
            status, programs = self.gpu("--stale", "--stages", *gpu_record.STAGES)
            self.assertEqual(status, 0, self.output)
            self.assertEqual(self.sanitized(), {("initcheck", "kernels")})
            self.assertEqual(programs["kernels"]["sanitizers"]["initcheck"]["tests"], 3)
            self.assertNotIn("list", self.check()[1].replace("sanitizers.txt", ""))

    def test_a_tool_that_names_no_list_is_not_good(self):
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            self.gpu()
            record = json.loads(self.record.read_text(encoding="utf-8"))
            del record["programs"]["backends"]["sanitizers"]["memcheck"]["lists"]
            self.record.write_text(json.dumps(record), encoding="utf-8")
            status, text = self.check()
            self.assertEqual(status, 1)
            self.assertIn("backends: memcheck of an unknown list of tests\n", text)
            self.sanitized()
            self.assertEqual(self.gpu("--stale")[0], 0)
        self.assertEqual(self.sanitized(), {("memcheck", "backends")})
        self.assertEqual(self.check()[0], 0)

    def test_what_is_stale_or_lacking_is_no_failure(self):
        self.assertEqual(self.failures()[0], 0)
        self.gpu("--stages", "tests")
        status, text = self.failures()
        self.assertEqual(status, 0)
        self.assertIn("memcheck not run", text)
        self.assertNotIn("FAILED", text)

    def test_what_failed_of_these_sources_is_a_failure(self):
        self.outcomes("backends", {"Batched/cuda_d.Lu": "failed"})
        self.gpu("--stages", "tests")
        status, text = self.failures()
        self.assertEqual(status, 1)
        self.assertIn("FAILED of these sources: backends: tests\n", text)
        self.assertNotIn("FAILED of these sources: kernels", text)
        # other sources may have it mended
        self.write("src/core/steps.hpp", "#pragma once\nconstexpr int steps = 3;\n")
        status, text = self.failures()
        self.assertEqual(status, 0)
        self.assertIn("1 of 2 stale: backends", text)
        self.assertIn("backends: 1 failed", text)

    def test_a_skip_that_no_list_has_is_a_failure(self):
        self.outcomes("kernels", {"Other.Runs": "skipped"})
        self.gpu("--stages", "tests")
        self.assertIn("FAILED of these sources: kernels: tests\n", self.failures()[1])
        self.assertEqual(self.failures()[0], 1)

    def test_a_hazard_is_a_failure_as_long_as_its_list_stands(self):
        self.gpu()
        status, text = self.failures()
        self.assertEqual(status, 1)
        self.assertIn("FAILED of these sources: kernels: racecheck\n", text)
        self.write("tests/sanitizers.txt", FILES["tests/sanitizers.txt"].replace("memcheck,racecheck", "memcheck"))
        status, text = self.failures()
        self.assertEqual(status, 0)
        self.assertIn("kernels: racecheck not clean, racecheck of another list of tests\n", text)
        record = json.loads(self.record.read_text(encoding="utf-8"))
        del record["programs"]["kernels"]["sanitizers"]["racecheck"]["lists"]
        self.record.write_text(json.dumps(record), encoding="utf-8")
        self.assertEqual(self.failures()[0], 1)

    def status_of_the_stage(self):
        """Of gpu_record_status in .ci/run, in this tree."""
        (self.root / ".ci").mkdir(exist_ok=True)
        for name in ("sources_sha256.py", "test_lists.py"):
            shutil.copy(ROOT / ".ci" / name, self.root / ".ci")
        text = (ROOT / ".ci/run").read_text(encoding="utf-8")
        function = re.search(r"^gpu_record_status\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)[0]
        answer = subprocess.run(["bash", "-c", f"set -euo pipefail\n{function}\ngpu_record_status"], cwd=self.root,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.output = answer.stdout
        return answer.returncode

    def test_the_checks_of_a_change_fail_for_what_failed_alone(self):
        self.gpu("--stages", "tests")
        self.assertEqual(self.status_of_the_stage(), 0, self.output)
        self.assertIn("backends: memcheck not run", self.output)
        good = self.record.read_text(encoding="utf-8")
        self.outcomes("kernels", {"Lu.Racy": "failed"})
        self.gpu("--stages", "tests")
        self.assertEqual(self.status_of_the_stage(), 1)
        self.record.rename(self.root / "tests/gpu-record-99kb.json")
        self.record.write_text(good, encoding="utf-8")
        self.assertEqual(self.status_of_the_stage(), 1)
        self.write("tests/kernels/apply_test.cpp", "int x = 2;\n")
        self.assertEqual(self.status_of_the_stage(), 0)
        self.assertIn("1 of 2 stale: kernels", self.output)
        self.record.write_text("{", encoding="utf-8")
        self.assertEqual(self.status_of_the_stage(), 1)

    def test_a_tool_of_which_all_tests_skipped_is_not_clean(self):
        self.write("tests/sanitizers.txt", "kernels memcheck Apply.Skips\n")
        status, programs = self.gpu("--programs", "kernels", "--stages", "memcheck")
        self.assertEqual(status, 1)
        found = programs["kernels"]["sanitizers"]["memcheck"]
        self.assertEqual([found[key] for key in ("tests", "skipped", "clean")], [1, 1, False])

    def test_shares_on_record_are_judged_anew(self):
        self.gpu("--programs", "kernels", "--stages", "tests")
        record = json.loads(self.record.read_text(encoding="utf-8"))
        share = {"tests": ["Apply.Runs"], "status": 0, "summary": [gpu_stages.NO_HAZARDS], "clean": True}
        shares = [share, {**share, "tests": ["Apply.Skips"], "status": 139, "summary": []},
                  {**share, "tests": ["Lu.Racy"], "status": 139, "summary": []}]
        record["programs"]["kernels"]["unfinished"] = {"racecheck": shares}
        self.record.write_text(json.dumps(record), encoding="utf-8")
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            status, programs = self.gpu("--programs", "kernels", "--stages", "racecheck", "--stale")
        self.assertEqual([line.split()[2] for line in self.log.read_text(encoding="utf-8").splitlines()],
                         ["--gtest_filter=Lu.Racy"])
        self.assertEqual(programs["kernels"]["sanitizers"]["racecheck"]["tests"], 3)

    def test_tests_know_of_a_tool(self):
        self.gpu("--programs", "kernels", "--stages", "tests", "memcheck")
        self.assertEqual({line.split()[-2] for line in self.log.read_text(encoding="utf-8").splitlines()}, {"1"})

    def test_a_program_of_other_sources_is_told(self):
        self.write("kernels/lanes.cuh", "#define LANES 8\n")
        self.gpu("--stages", "tests")
        self.assertIn("kernels was built from other sources than these", self.output)
        self.assertIn("2 of 2 stale", self.check()[1])

    def python_stage(self, there, *words, status=0):
        """Status of .ci/gpu, and whether it called .ci/gpu-python."""
        self.script(self.root / ".ci/gpu-python",
                    f"import os, sys\nos.makedirs(sys.argv[1])\nsys.exit({status})\n")
        with mock.patch.object(gpu_stages, "python_is_there", lambda: there), \
                mock.patch.dict(os.environ, RACE_MENDED="1"), contextlib.redirect_stdout(io.StringIO()) as output:
            found = gpu_record.main([str(self.root / "build"), *words], self.tree())
        self.output = output.getvalue()
        called = self.root / "build/gpu/python"
        was_called = called.exists()
        if was_called:
            called.rmdir()
        return found, was_called

    def test_the_python_package_is_a_stage(self):
        self.assertEqual(self.python_stage(True), (0, True))
        self.assertEqual(self.python_stage(True, status=2), (1, True))
        self.assertEqual(self.python_stage(False), (0, False))
        self.assertIn("SKIPPED: the stage python", self.output)
        self.assertEqual(self.python_stage(True, "--programs", "kernels"), (0, False))
        self.assertEqual(self.python_stage(True, "--stages", "tests"), (0, False))
        self.assertEqual(self.python_stage(True, "--seconds", "0"), (1, False))

    def test_the_python_package_alone(self):
        (self.root / "build/tests/kernels").unlink()
        self.assertEqual(self.python_stage(False, "--stages", "python"), (0, True))
        self.assertFalse(self.record.exists())

    def test_the_python_package_on_record(self):
        for name in gpu_python_summary.FILES:
            self.write(name, "# nothing\n")
        record = {"sha256": gpu_python_summary.package_sha256(self.root)}
        self.write("benchmarks/results/fake-gpu/python.json", json.dumps(record))
        self.assertEqual(self.python_stage(True, "--stale", "--stages", "python"), (0, False))
        self.write("python/tests/test_new.py", "assert True\n")
        self.assertEqual(self.python_stage(True, "--stale", "--stages", "python"), (0, True))

    def petsc_stage(self, there, *words, status=0):
        """Status of .ci/gpu, and whether it called .ci/gpu-petsc."""
        self.script(self.root / ".ci/gpu-petsc", f"import os, sys\nos.makedirs(sys.argv[1])\nsys.exit({status})\n")
        with mock.patch.object(gpu_record, "petsc_is_there", lambda root: there), \
                mock.patch.dict(os.environ, RACE_MENDED="1"), contextlib.redirect_stdout(io.StringIO()) as output:
            found = gpu_record.main([str(self.root / "build"), *words], self.tree())
        self.output = output.getvalue()
        called = self.root / "build/gpu/petsc"
        was_called = called.exists()
        if was_called:
            called.rmdir()
        return found, was_called

    def test_the_petsc_adapter_is_a_stage(self):
        self.assertEqual(self.petsc_stage(True), (0, True))
        self.assertEqual(self.petsc_stage(True, status=2), (1, True))
        self.assertEqual(self.petsc_stage(False), (0, False))
        self.assertIn("SKIPPED: the stage petsc", self.output)
        for words in (("--programs", "kernels"), ("--stages", "tests"), ("--stale",)):
            self.assertEqual(self.petsc_stage(True, *words), (0, False), words)
        self.assertEqual(self.petsc_stage(True, "--seconds", "0"), (1, False))

    def test_the_petsc_adapter_alone(self):
        (self.root / "build/tests/kernels").unlink()
        self.assertEqual(self.petsc_stage(False, "--stages", "petsc"), (0, True))
        self.assertFalse(self.record.exists())

    def test_where_there_is_a_petsc(self):
        is_there = PETSC_IS_THERE  # the tests have another
        with mock.patch.dict(os.environ, {"PATH": str(self.bin)}):
            self.assertFalse(is_there(self.root))
            self.script(self.bin / "mpiexec", "print()\n")
            self.assertFalse(is_there(self.root))
            with mock.patch.dict(os.environ, PETSC_SOURCE="petsc.tar.gz"):
                self.assertTrue(is_there(self.root))
            (self.root / "build/gpu-petsc").mkdir()
            self.assertTrue(is_there(self.root))
            with mock.patch.dict(os.environ, BUILD="elsewhere"):
                self.assertFalse(is_there(self.root))

    def test_a_program_without_hash_is_refused(self):
        self.script(self.root / "build/tests/kernels", "print()\n")
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            self.gpu()


class ReachTest(FakeTree):
    """Which kernels the lists of tests reach."""

    def setUp(self):
        super().setUp()
        self.kernels = {"kernels": {"Runs": False, "Racy": False}, "backends": {"Runs": False, "Lu": True, "Gone": True}}
        self.shares = []
        run_share = gpu_reach.run_share

        def noted(program, names, is_under_tool, *words):
            self.shares.append((program.name, is_under_tool, names))
            return run_share(program, names, is_under_tool, *words)

        patches = mock.patch.object(gpu_reach, "run_share", noted), mock.patch.object(gpu_stages, "SHARDS", 1)
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def reach(self, *words):
        status, _ = self.gpu("--stages", "reach", *words)
        return status, json.loads(self.record.read_text(encoding="utf-8")).get("reach")

    def test_what_lists_miss(self):
        self.gpu("--stages", "tests")
        status, reach = self.reach()
        self.assertEqual(status, 1)
        self.assertEqual([reach["kernels"], reach["launched_by_any_test"], reach["launched_by_no_test"]], [4, 3, ["Gone"]])
        self.assertEqual(reach["tools"], {
            "memcheck": {"kernels": 3, "launched": 3, "missed": []},
            # of those with shared memory, static or at a launch
            "racecheck": {"kernels": 2, "launched": 1, "in_double_precision": 0, "missed": ["Lu"]},
            "synccheck": {"kernels": 2, "launched": 0, "missed": ["Lu", "Racy"]},
            "initcheck": {"kernels": 3, "launched": 1, "missed": ["Lu", "Racy"]}})
        self.assertIn("reach: racecheck misses 1 kernels", self.check()[1])
        self.assertIn("synccheck misses Racy", self.output)
        self.assertEqual(reach["device"], "Fake GPU")
        self.assertEqual(sorted(self.shares), [
            ("backends", False, ["Batched/cuda_d.Lu", "Batched/host_d.Lu"]), ("backends", True, ["Batched/cuda_d.Lu"]),
            ("kernels", False, ["Apply.Runs", "Apply.Skips", "Lu.Racy", "Other.Runs"]),
            ("kernels", True, ["Apply.Runs", "Apply.Skips"]), ("kernels", True, ["Lu.Racy"])])

    def test_only_what_another_list_changes_runs_again(self):
        self.write("tests/unlaunched-kernels.txt", "Gone # of another device\n")
        self.reach()
        self.write("tests/sanitizers.txt", "kernels all Apply.*\nkernels all Lu.*\nbackends all *cuda*\n")
        self.assertIn("reach: of other programs or another tests/sanitizers.txt", self.check()[1])
        self.shares.clear()
        self.assertEqual(self.reach("--stale")[0], 0, self.output)
        self.assertEqual(self.shares, [("kernels", True, ["Apply.Runs", "Apply.Skips", "Lu.Racy"])])
        self.shares.clear()
        self.assertEqual(self.reach("--stale")[0], 0)
        self.assertIn("== reach: on record", self.output)
        self.assertEqual(self.shares, [])
        self.assertEqual(self.reach()[0], 0)
        self.assertEqual(len(self.shares), 4)
        self.write("tests/kernels/apply_test.cpp", "int x = 2;\n")
        self.build("kernels")
        self.shares.clear()
        self.reach("--stale")
        self.assertEqual({program for program, _, _ in self.shares}, {"kernels"})

    def test_kernels_that_no_test_launches_are_those_of_the_list(self):
        self.write("tests/sanitizers.txt", "kernels all Apply.*\nkernels all Lu.*\nbackends all *cuda*\n")
        self.gpu("--stages", "tests")
        self.assertEqual(self.reach()[0], 1)
        self.assertIn("reach: 1 kernels not as in tests/unlaunched-kernels.txt", self.check()[1])
        self.assertIn("  no test launches Gone\n", self.output)
        self.write("tests/unlaunched-kernels.txt", "# Other devices.\nGone # of another device\n")
        self.assertEqual(self.reach("--stale")[0], 0)
        self.assertIn("== reach: on record", self.output)
        self.assertNotIn("reach", self.check()[1])
        self.write("tests/unlaunched-kernels.txt", "Gone # of another device\nLu # of another device\n")
        self.assertIn("reach: 1 kernels not as in tests/unlaunched-kernels.txt", self.check()[1])
        self.assertEqual(self.reach("--stale")[0], 1)
        self.assertIn("  tests/unlaunched-kernels.txt: a test launches Lu, or it is no kernel\n", self.output)

    def test_other_stages_leave_it_on_record(self):
        _, before = self.reach()
        self.gpu("--stages", "tests")
        self.assertEqual(json.loads(self.record.read_text(encoding="utf-8"))["reach"], before)

    def test_tests_that_fail_are_no_good_result(self):
        self.outcomes("kernels", {"Lu.Racy": "failed"})
        status, reach = self.reach()
        self.assertEqual(status, 1)
        self.assertIn("kernels: status 1 of 1 tests from Lu.Racy on", reach["troubles"])
        self.outcomes("kernels", {"Lu.Racy": "passed"})
        self.shares.clear()
        self.assertEqual(self.reach("--stale")[1]["troubles"], [])
        self.assertEqual([names[-1] for _, _, names in sorted(self.shares)], ["Other.Runs", "Lu.Racy"])

    def test_what_the_library_says_is_told(self):
        self.script(self.root / "build/tests/kernels",
                    "import os\nprint('# cuptiSubscribe: refused', file=open(os.environ['BLOCKJACOBI_KERNELS_SEEN'], 'w'))\n")
        troubles, _ = gpu_reach.run_share(self.root / "build/tests/kernels", ["Apply.Runs"], True, self.root / "a.txt", {})
        self.assertEqual(troubles, ["kernels: cuptiSubscribe: refused"])
        self.assertFalse((self.root / "a.txt").exists())
        self.build("kernels")
        with mock.patch.object(gpu_reach, "run_share", lambda *_: ([], [])):
            status, reach = self.reach()
        self.assertEqual(status, 1)
        self.assertIn("nothing was launched", reach["troubles"][0])

    def test_nothing_begins_when_the_time_is_over(self):
        self.write("tests/gpu-record.json", "{}")
        self.assertEqual(self.reach("--seconds", "0"), (1, None))
        self.assertIn("== reach: not all of it began", self.output)

    def test_where_there_is_no_library(self):
        (self.root / "build/tests/kernels_seen.so").unlink()
        with mock.patch.dict(os.environ, RACE_MENDED="1"):
            self.assertEqual(self.gpu()[0], 0)
        self.assertIn("SKIPPED: the stage reach", self.output)
        for words in ((), ("--programs", "kernels")):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                self.gpu("--stages", "reach", *words)

    def test_double_precision_stands_for_single_under_racecheck(self):
        single, double = "_ZN11blockjacobi1fIfEEvv", "_ZN11blockjacobi1fIdEEvv"
        seen = [((), [single, double]), (("memcheck", "racecheck"), [double, "_ZN3cub1fEv"])]
        tools = gpu_reach.compare({single: True, double: True}, seen)["tools"]
        self.assertEqual(tools["racecheck"], {"kernels": 2, "launched": 1, "in_double_precision": 1, "missed": []})
        self.assertEqual(tools["memcheck"], {"kernels": 2, "launched": 1, "missed": ["f<float>"]})
        self.assertIsNone(gpu_reach.twin_of("f<double, float>"))

    def test_static_shared_memory_of_kernels(self):
        def image(sizes):
            names, heads, offsets = b"\0", b"", {}
            for name in ("", *sizes):
                offsets[name] = len(names) if name else 0
                names += name.encode() + b"\0" if name else b""
            end = 64 + len(names)
            heads = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
            for name, size in sizes.items():
                heads += struct.pack("<IIQQQQIIQQ", offsets[name], 8, 0, 0, end, size, 0, 0, 1, 0)
            head = b"\x7fELF".ljust(40, b"\0") + struct.pack("<Q", end)
            return head.ljust(58, b"\0") + struct.pack("<HHH", 64, len(sizes) + 1, 0) + names + heads

        before_hopper = image({".text.f": 8, ".text.g": 8, ".nv.shared.f": 128, ".nv.shared.g": 0})
        hopper = image({".text.f": 8, ".text.g": 8, ".text.h": 8, ".nv.shared.f": 1152, ".nv.shared.g": 1024,
                        ".nv.shared.reserved.0": 0})
        self.assertEqual(dict(kernel_code.static_shared_memory(before_hopper)), {"f": True, "g": False})
        self.assertEqual(dict(kernel_code.static_shared_memory(hopper)), {"f": True, "g": False, "h": False})


class ShareTest(unittest.TestCase):
    """Which tests a process of a tool gets."""

    NAMES = [f"{suite}/{scalar}.T{test:02}" for test in range(24) for suite in ("Csr", "Apply") for scalar in range(4)]

    def test_suites_and_scalars_stay_together(self):
        with mock.patch.object(gpu_stages, "SHARDS", 4):
            shares = gpu_stages.shares_of(self.NAMES, {}, 36)
        self.assertEqual(sorted(sum(shares, [])), sorted(self.NAMES))
        self.assertLessEqual({len(share) for share in shares}, {32, 33})
        self.assertLessEqual(max(len({name.split(".")[0] for name in share}) for share in shares), 3)

    def test_no_share_is_long_and_no_core_idle(self):
        with mock.patch.object(gpu_stages, "SHARDS", 16):
            self.assertEqual(len(gpu_stages.shares_of(self.NAMES[:20], {})), 16)
            self.assertLessEqual(max(map(len, gpu_stages.shares_of(self.NAMES * 9, {}))), gpu_stages.OTHER_SHARE_TESTS)
            self.assertLessEqual(max(map(len, gpu_stages.shares_of(self.NAMES * 9, {}, 8))), 8)
            self.assertEqual(gpu_stages.shares_of([], {}), [])

    def test_the_longest_come_first_in_small_shares(self):
        seconds = {name: 30 if name.startswith("Csr/2") else 0.1 for name in self.NAMES}
        with mock.patch.object(gpu_stages, "SHARDS", 8):
            shares = gpu_stages.shares_of(self.NAMES, seconds)
        took = [sum(seconds[name] for name in share) for share in shares]
        self.assertGreater(took[0], 60)
        self.assertGreater(took[0], took[-1])
        self.assertLess(max(len([name for name in share if name.startswith("Csr/2")]) for share in shares), 8)
        self.assertEqual(sorted(sum(shares, [])), sorted(self.NAMES))

    def test_suite(self):
        self.assertEqual(gpu_stages.suite_of("CgResidentTest/0.InLittleMemory"), "CgResidentTest")
        self.assertEqual(gpu_stages.suite_of("ResidentTest.TwoStreams"), "ResidentTest")


class ListTest(FakeTree):
    def test_patterns(self):
        names = ["A/0.B", "A/1.B", "A/1.C", "D.E"]
        self.assertEqual(test_lists.matching(["A/*", "-*.C"], names), ["A/0.B", "A/1.B"])
        self.assertEqual(test_lists.matching(["?.E"], names), ["D.E"])

    def test_every_pattern_must_name_a_test(self):
        self.assertEqual(test_lists.unused(self.root / "build", self.root), [])
        self.write("tests/sanitizers.txt", "kernels all Apply.*\nkernels all Gone.*\n")
        self.assertEqual(test_lists.unused(self.root / "build", self.root),
                         ["tests/sanitizers.txt: kernels: no test matches Gone.*"])

    def test_bad_lines_are_named(self):
        self.write("tests/sanitizers.txt", "kernels valgrind *\n")
        with self.assertRaisesRegex(SystemExit, "sanitizers.txt:1: no tool is called valgrind"):
            test_lists.sanitizers(self.root)
        self.write("tests/expected-skips.txt", "\nkernels\n")
        with self.assertRaisesRegex(SystemExit, "expected-skips.txt:2: 1 words, not 2"):
            test_lists.skips(self.root)
        for text, told in (("lu<double>\n", "1: no reason: lu"), ("lu # a\n\nlu # b\n", "3: a second time: lu")):
            self.write("tests/unlaunched-kernels.txt", text)
            with self.assertRaisesRegex(SystemExit, f"unlaunched-kernels.txt:{told}"):
                test_lists.unlaunched(self.root)

    def test_names_of_kernels(self):
        self.write("tests/unlaunched-kernels.txt", "# f<int> # no kernel\n f<double, 2>::{lambda(int)#1}  #  large orders # \n")
        self.assertEqual(test_lists.unlaunched(self.root), {"f<double, 2>::{lambda(int)#1}": "large orders #"})


class LinkTest(unittest.TestCase):
    """cmake/build_hash.py on the map of a linker."""

    def setUp(self):
        sys.path.insert(0, str(ROOT / "cmake"))
        self.addCleanup(sys.path.remove, str(ROOT / "cmake"))

    def test_members_that_were_taken(self):
        import build_hash  # pylint: disable=import-outside-toplevel

        commands = [{"directory": "/b", "file": f"/s/{path}", "output": f"{folder}/CMakeFiles/{target}.dir/{path}.o"}
                    for folder, target, path in (("src", "blockjacobi", "core/a.cpp"), ("src", "blockjacobi", "io/b.cpp"),
                                                 ("src", "blockjacobi", "io/a.cpp"), ("tests", "unit", "t.cpp"),
                                                 ("tests", "other", "o.cpp"))]
        objects = build_hash.sources_by_object(commands)
        link_map = "src/libblockjacobi.a(a.cpp.o)\n          t.cpp.o (f())\n/usr/lib/libm.a(sin.o)\n .text src/libblockjacobi.a(b.cpp.o)\n"
        self.assertEqual(build_hash.linked("unit", link_map, objects), {"/s/core/a.cpp", "/s/io/a.cpp", "/s/t.cpp"})


class TreeTest(unittest.TestCase):
    """The lists of this tree."""

    def test_programs(self):
        programs = sources_sha256.Tree().gpu_programs()
        self.assertLessEqual({"backends", "kernels"}, set(programs))
        self.assertLessEqual(set(test_lists.skips()), set(programs))
        self.assertEqual(set(test_lists.sanitizers()), set(programs))
        self.assertTrue(all(test_lists.unlaunched().values()))


if __name__ == "__main__":
    unittest.main()
