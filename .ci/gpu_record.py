#!/usr/bin/env python3
"""Runs the test programs of a build folder on a GPU and puts what came out on record; see .ci/gpu.

The record holds an entry for each program: what the binary was built from ("sha256", "commit", "sources", as the binary
itself says), the machine that its tests ran on and their numbers of passed, failed and skipped, and the outcome of each
tool of compute-sanitizer with its devices and the hash of its list of tests ("lists"). An entry belongs to one hash: a
program of another hash starts a new one, and what a tool found over another list is not good.
"reach" is of all programs together: which kernels the tools' tests launch (gpu_reach.py)."""

import argparse
import concurrent.futures
import datetime
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import gpu_places
import gpu_python_summary
import gpu_reach
import gpu_stages
import sources_sha256
import test_lists
from gpu_places import Use

TOOLS = test_lists.TOOLS
STAGES = ("tests", *TOOLS)  # of a program
REACH = "reach"  # of all programs
PYTHON = "python"  # .ci/gpu-python, which has a record of its own
PETSC = "petsc"  # .ci/gpu-petsc, which makes tables
# Of which an entry tells: what ran on another architecture's code or with less shared memory is no part of it.
VARIANT = ("architectures", "shared_kb")
ROOT = sources_sha256.ROOT


def fail(message):
    print(f"gpu: {message}", file=sys.stderr)
    sys.exit(2)


def device():
    """Name and driver of the first GPU; ends the program if there is none."""
    if not shutil.which("nvidia-smi"):
        fail("no nvidia-smi here, so no NVIDIA GPU")
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader", "--id=0"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        fail(f"nvidia-smi: {(answer.stdout + answer.stderr).strip()}")
    name, driver, capability = (field.strip() for field in answer.stdout.strip().split(","))
    return {"device": name, "compute_capability": capability, "driver": driver}


class Record:
    """Written after every stage and every share of a tool: a run that is stopped leaves what it found."""

    def __init__(self, path, machine):
        self.path, self.machine, self.lock = path, machine, threading.Lock()
        self.values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.programs = self.values.get("programs", {})

    def write(self):
        # why: what held for a whole run in earlier records is a matter of each program now
        reach = {REACH: self.values[REACH]} if REACH in self.values else {}
        self.values = {**self.machine, "commit": self.values.get("commit", ""), **reach, "programs": self.programs}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.values, indent=1) + "\n", encoding="utf-8")

    def knows(self, name, build):
        """Whether the entry of a program is of this hash and of this variant."""
        entry = self.programs.get(name, {})
        return entry.get("sha256") == build["sha256"] and all(entry.get(key) == self.machine.get(key) for key in VARIANT)

    def begin(self, name, build, anew):
        """The entry of a program: the one on record if it is of this hash, unless all is to run anew."""
        entry = self.programs.get(name, {})
        if anew or not self.knows(name, build):
            entry = {}
        # the tests, or tools, of another stage may have run on another machine
        machine = {key: entry.get(key, value) for key, value in self.machine.items()}
        known = {"sha256": build["sha256"], "commit": build["commit"], **machine}
        # what was found before stays, what the binary says comes first
        found = {key: value for key, value in entry.items() if key not in known and key != "sources"}
        self.programs[name] = {**known, **found, "sources": build["sources"]}
        self.programs = dict(sorted(self.programs.items()))
        self.values["commit"] = build["commit"]
        return self.programs[name]

    def add_reach(self, result):
        self.values[REACH] = {**self.machine, **result}
        self.write()

    def add_tests(self, name, outcome, skips):
        expected, possible = (test_lists.matching(patterns, outcome.names()) for patterns in skips)
        wrong = [f"skipped: {test}" for test in outcome.skipped if test not in expected and test not in possible]
        wrong += [f"not skipped: {test}" for test in expected if test in outcome.passed]
        with self.lock:
            self.programs[name].update(
                self.machine, passed=len(outcome.passed), failed=len(outcome.failed), skipped=len(outcome.skipped),
                expected_skips=len(expected), failed_tests=outcome.failed, wrong_skips=sorted(wrong))
            self.write()

    def clean_shares(self, tool, name, is_clean):
        """Shares of a program that were clean before a run was stopped, and still are by the rules of today."""
        with self.lock:
            unfinished = self.programs[name].get("unfinished", {})
            if tool in unfinished:
                unfinished[tool] = [share for share in unfinished[tool] if is_clean(share)]
            return list(unfinished.get(tool, []))

    def add_share(self, tool, name, share):
        if not share["clean"]:
            return
        with self.lock:
            share = {**share, "device": self.machine["device"]}
            self.programs[name].setdefault("unfinished", {}).setdefault(tool, []).append(share)
            self.write()

    def add_sanitizer(self, tool, name, result):
        with self.lock:
            entry = self.programs[name]
            unfinished = entry.get("unfinished", {})
            devices = {share.get("device", self.machine["device"]) for share in unfinished.get(tool, [])}
            if result["clean"]:
                unfinished.pop(tool, None)
            else:  # what was clean need not run again
                devices.add(self.machine["device"])
            result["devices"] = sorted(devices)
            if not unfinished:
                entry.pop("unfinished", None)
            entry.setdefault("sanitizers", {})[tool] = result
            self.write()


def lacks(entry, tools):
    """Stages of which an entry has no good outcome; tools: {tool: patterns of its tests}."""
    tests_good = entry.get("passed") and not entry.get("failed") and not entry.get("wrong_skips")
    sanitizers = entry.get("sanitizers", {})
    return ([] if tests_good else ["tests"]) + [
        tool for tool, patterns in tools.items() if sources_sha256.tool_troubles(tool, sanitizers.get(tool), patterns)]


class Runner:
    """Runs stages of programs side by side: tests each on a GPU of their own, tools share by share where there is a
    place."""

    def __init__(self, build, record, lists, logs, deadline):
        self.build, self.record, self.logs, self.deadline = build, record, logs, deadline
        self.skips, self.sanitized = lists
        self.places = gpu_places.Places(gpu_places.gpus(), gpu_stages.SHARDS)

    def run_all(self, jobs):
        """Of (stage, name), tests before tools, the first have precedence; tools wait for the tests of their program, from
        which they know what takes long. What has not begun at the deadline stays undone."""
        with self.places, concurrent.futures.ThreadPoolExecutor(max(1, len(jobs))) as pool:
            begun = {}
            for rank, (stage, name) in enumerate(jobs):
                begun[stage, name] = pool.submit(self.run, stage, name, rank, begun.get(("tests", name)))
            for job in begun.values():
                job.result()

    def run(self, stage, name, rank, tests):
        if tests:
            tests.result()
        run_stage = self.run_tests if stage == "tests" else self.run_tool
        if gpu_stages.is_over(self.deadline) or not run_stage(stage, name, rank):
            print(f"== {stage} {name}: not all of it began, the time is over", flush=True)

    def run_tests(self, _, name, rank):
        def work(gpu):
            if gpu_stages.is_over(self.deadline):
                return None
            print(f"== tests {name}", flush=True)
            return gpu_stages.run_tests(self.build / "tests" / name, self.logs, gpu)

        outcome = self.places.submit((rank,), Use.ALONE, work).result()
        if outcome is None:
            return False
        self.record.add_tests(name, outcome, self.skips.get(name, ([], [])))
        return True

    def run_tool(self, tool, name, rank):
        print(f"== {tool} {name}", flush=True)
        lists = self.sanitized[name][tool], self.skips.get(name, ([], []))
        result = gpu_stages.sanitize(tool, self.build / "tests" / name, lists, self.record, self.logs,
                                     lambda order, *what: self.places.submit((rank, order), *what), self.deadline)
        if result is not None:
            self.record.add_sanitizer(tool, name, result)
        return result is not None


def build_info(build):
    try:
        return json.loads((build / "tests" / "build-info.json").read_text(encoding="utf-8"))
    except OSError:
        return {}


def variant(build):
    """What a program is compiled for, and the shared memory that its tests leave a thread block, if not all."""
    found = {"architectures": build_info(build).get("architectures", "")}
    kilobytes = os.environ.get("BLOCKJACOBI_TEST_SHARED_KB")
    return found | ({"shared_kb": int(kilobytes)} if kilobytes else {})


def builds_of(build, names, tree):
    """What each program says it was built from; warns of those that the tree is ahead of."""
    builds = {}
    for name in names:
        path = build / "tests" / name
        if not path.is_file():
            fail(f"{path}: not built")
        builds[name] = sources_sha256.built_from(path)
        if builds[name] is None:
            fail(f"{path}: carries no hash of what it was built from (cmake/BuildHash.cmake)")
        if sources_sha256.is_stale(tree, name, builds[name]):
            print(f"gpu: {name} was built from other sources than these: the record will call it stale", flush=True)
    return builds


def print_outcome(record, names, sanitized):
    for name in names:
        entry, lists = record.programs[name], sanitized.get(name, {})
        print(f"gpu: {name}: {entry.get('passed', 0)} passed, {entry.get('failed', 0)} failed, "
              f"{entry.get('skipped', 0)} skipped of {entry.get('expected_skips', 0)} expected; " +
              ", ".join(f"{tool} {'clean' if found['clean'] else 'ERRORS'}"
                        f"{'' if found.get('lists') == test_lists.sha256(lists.get(tool)) else ' of another list'}"
                        for tool in TOOLS if (found := entry.get("sanitizers", {}).get(tool))))
        for line in entry.get("failed_tests", []) + entry.get("wrong_skips", []):
            print(f"gpu: FAILED {name}: {line}")


def wants_python(arguments, gpu, root):
    """Whether the stage of the Python package was asked for, or belongs to all that there is to run."""
    if arguments.stale and gpu_python_summary.is_current(gpu, root):
        print("== python: on record", flush=True)
        return False
    if arguments.stages:
        return PYTHON in arguments.stages
    if arguments.programs or arguments.record:
        return False
    there = gpu_stages.python_is_there()
    if not there:
        print("gpu: SKIPPED: the stage python, CuPy and PyTorch are not both there", flush=True)
    return there


def petsc_is_there(root):
    """Whether .ci/gpu-petsc has an MPI, and a PETSc to build or programs that were built."""
    build = root / (os.environ.get("BUILD") or "build/gpu-petsc")
    return bool(shutil.which("mpiexec") and (os.environ.get("PETSC_SOURCE") or build.is_dir()))


def wants_petsc(arguments, root):
    if arguments.stages:
        return PETSC in arguments.stages
    if arguments.programs or arguments.record or arguments.stale:
        return False
    there = petsc_is_there(root)
    if not there:
        print("gpu: SKIPPED: the stage petsc, there is no mpiexec, or no PETSC_SOURCE and no build", flush=True)
    return there


def wants_reach(arguments, build):
    """Whether what the lists reach was asked for, or belongs to all that there is to run. It is of all programs."""
    if arguments.stages and REACH not in arguments.stages:
        return False
    if arguments.programs or os.environ.get("BLOCKJACOBI_TEST_SHARED_KB"):
        if arguments.stages:
            fail("the stage reach is of all programs, and of all shared memory")
        return False
    library = build / "tests" / gpu_reach.LIBRARY
    missing = gpu_reach.why_not_loaded(library) if library.is_file() else f"{library} is not built, as without CUPTI"
    if missing and arguments.stages == [REACH]:
        fail(f"the stage reach: {missing}")
    if missing:
        print(f"gpu: SKIPPED: the stage reach, {missing}", flush=True)
    return not missing


def run_reach(build, builds, record, lists, logs, deadline, resume):
    """Puts on record what the lists of tests reach; lists: of the tools, and of kernels that no test launches."""
    sanitized, unlaunched = lists
    hashes = {name: info["sha256"] for name, info in builds.items()}
    if resume and not sources_sha256.reach_troubles(record.values.get(REACH), hashes, sanitized, unlaunched):
        print("== reach: on record", flush=True)
        return 0
    begin = time.monotonic()
    programs = {build / "tests" / name: sha256 for name, sha256 in hashes.items()}
    with gpu_places.Places(gpu_places.gpus(), gpu_stages.SHARDS) as places:
        result = gpu_reach.reach(programs, sanitized, logs, places, deadline, resume)
    if result is None:
        print("== reach: not all of it began, the time is over", flush=True)
        return 1
    record.add_reach(result)
    wrong = sources_sha256.reach_troubles(result, hashes, sanitized, unlaunched)
    print(f"== reach: {time.monotonic() - begin:.0f} s\ngpu: reach: {gpu_reach.summary(result)}", flush=True)
    for line in wrong:
        print(f"gpu: FAILED reach: {line}")
    for tool, entry in result["tools"].items():
        for name in entry["missed"]:
            print(f"  {tool} misses {name}")
    for line in sources_sha256.unlaunched_troubles(result, unlaunched):
        print(f"  {line}")
    return 1 if wrong else 0


def run_other(name, logs, root, deadline):
    """The script of a stage that is none of these programs."""
    if gpu_stages.is_over(deadline):
        print(f"== {name}: not begun, the time is over", flush=True)
        return 1
    print(f"== {name}", flush=True)
    status = subprocess.run([root / ".ci" / f"gpu-{name}", logs / name], check=False).returncode
    print(f"gpu: {name}: {'good' if status == 0 else 'FAILED'}, {logs / name}", flush=True)
    return min(status, 1)


def main(words=None, tree=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--stale", action="store_true")
    parser.add_argument("--programs", nargs="+", default=[])
    parser.add_argument("--stages", nargs="+", choices=(*STAGES, REACH, PYTHON, PETSC))
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--logs", type=pathlib.Path)
    parser.add_argument("--skips", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
    arguments = parser.parse_args(words)
    deadline = time.monotonic() + arguments.seconds
    stages = [stage for stage in arguments.stages or STAGES if stage in STAGES]

    tree = tree or sources_sha256.Tree()
    if os.environ.get("BLOCKJACOBI_TEST_SHARED_KB") and not arguments.record:
        fail("BLOCKJACOBI_TEST_SHARED_KB is set: name a record of its own, --record FILE")
    build = arguments.build.resolve()
    machine = device() | {"cuda": build_info(build).get("cuda", "")} | variant(build)
    machine["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    logs = arguments.logs or build / "gpu"
    logs.mkdir(parents=True, exist_ok=True)
    lists = test_lists.skips(tree.root, arguments.skips), test_lists.sanitizers(tree.root)
    reach = wants_reach(arguments, build)
    names = (arguments.programs or tree.gpu_programs()) if stages or reach else []
    builds = builds_of(build, names, tree)
    record = Record(arguments.record or tree.root / "tests" / "gpu-record.json", machine)

    jobs, entries = [], []
    for name in names if stages else []:
        tools = {tool: lists[1][name][tool] for tool in TOOLS if lists[1].get(name, {}).get(tool)}
        known = record.programs[name] if record.knows(name, builds[name]) else {}
        wanted = [stage for stage in stages
                  if stage in (lacks(known, tools) if arguments.stale else ["tests", *tools])]
        if not wanted:
            print(f"== {name}: on record", flush=True)
            continue
        # stages that were not asked for keep what is on record of the same hash
        entries.append((record.begin(name, builds[name], anew=not arguments.stale and set(stages) == set(STAGES)), tools))
        jobs += [(stage, name) for stage in wanted]
    if any(stage in TOOLS for stage, _ in jobs) and not shutil.which("compute-sanitizer"):
        fail("compute-sanitizer is not here")
    if jobs:
        record.write()
    jobs.sort(key=lambda job: (job[0] != "tests", stages.index(job[0])))
    Runner(build, record, lists, logs, deadline).run_all(jobs)
    status = max([1 for entry, tools in entries if set(lacks(entry, tools)) & set(stages)], default=0)
    print_outcome(record, [name for name in names if stages and name in record.programs], lists[1])
    if reach:
        status = max(status, run_reach(build, builds, record, (lists[1], test_lists.unlaunched(tree.root)), logs, deadline,
                                       arguments.stale))
    if wants_python(arguments, machine["device"], tree.root):
        status = max(status, run_other(PYTHON, logs, tree.root, deadline))
    if wants_petsc(arguments, tree.root):
        status = max(status, run_other(PETSC, logs, tree.root, deadline))
    return status


if __name__ == "__main__":
    sys.exit(main())
