#!/usr/bin/env python3
"""The record of the adapter's tests with a PETSc that has CUDA, which .ci/gpu-petsc makes: what the program was built
from, as in tests/gpu-record.json, and what came of each run of it.

usage: gpu_petsc_record.py RECORD PROGRAM PETSC RUN STATUS LOG

PETSC says which, "PETSc 3.26.1, 32-bit indices, real"; RUN which run, "1 ranks, -use_gpu_aware_mpi 0" or "memcheck"; STATUS how
the program ended and LOG what it printed, the tests of the first rank and failures of all. Status 1 if a test failed, or
was skipped that need not be.
"""

import datetime
import json
import pathlib
import re
import sys

import sources_sha256
from gpu_python_summary import machine

PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] (\w[\w/]*\.[\w/]+)", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\w[\w/]*\.[\w/]+)", re.MULTILINE)
NO_ERRORS = "ERROR SUMMARY: 0 errors"
MEMCHECK = "memcheck"


def may_skip(test, run):
    """A PETSc without MUMPS lacks the factorization of deflation on several ranks."""
    return "UnderDeflation" in test and run != MEMCHECK and not run.startswith("1 ")


def outcome(run, status, output):
    """Of one run: tests by what became of them."""
    passed = PASSED.findall(output)
    failed = sorted(set(FAILED.findall(output)))
    if status != 0 and not failed:
        failed = [f"the program ended with status {status}"]
    if run == MEMCHECK and NO_ERRORS not in output:
        failed.append(f"memcheck does not say: {NO_ERRORS}")
    skipped = sorted(set(SKIPPED.findall(output)))
    return {"passed": int(passed[-1]) if passed else 0, "failed_tests": failed, "skipped_tests": skipped,
            "wrong_skips": [f"skipped: {test}" for test in skipped if not may_skip(test, run)], **machine(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def added(record, build, petsc, run, found):
    """The record with a run more. Those of other sources, or of another PETSc, do not stay."""
    name = build["program"]
    entry = record.get("programs", {}).get(name, {})
    if entry.get("sha256") != build["sha256"] or entry.get("petsc") != petsc:
        entry = {}
    runs = {**entry.get("runs", {}), run: found}
    entry = {"sha256": build["sha256"], "commit": build["commit"], "petsc": petsc,
             "passed": sum(r["passed"] for r in runs.values()),
             "failed": sum(len(r["failed_tests"]) for r in runs.values()),
             "skipped": sum(len(r["skipped_tests"]) for r in runs.values()),
             "wrong_skips": sorted({line for r in runs.values() for line in r["wrong_skips"]}),
             "runs": runs, "sources": build["sources"]}
    return {"programs": {name: entry}}


def main(words):
    if len(words) != 6:
        raise SystemExit(__doc__)
    path, program, petsc, run, status, log = words
    path = pathlib.Path(path)
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    build = sources_sha256.built_from(program)
    if build is None:
        raise SystemExit(f"{program}: carries no hash of what it was built from (cmake/BuildHash.cmake)")
    found = outcome(run, int(status), pathlib.Path(log).read_text(encoding="utf-8", errors="replace"))
    path.write_text(json.dumps(added(record, build, petsc, run, found), indent=1) + "\n", encoding="utf-8")
    for line in found["failed_tests"] + found["wrong_skips"]:
        print(f"gpu-petsc: {run}: {line}")
    return 1 if found["failed_tests"] or found["wrong_skips"] or found["passed"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
