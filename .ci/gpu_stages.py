"""What .ci/gpu does with one test program: its tests, and the tools of compute-sanitizer over some of them."""

import concurrent.futures
import functools
import math
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import test_lists
from gpu_places import Use

NO_GPU = "no CUDA device"  # what tests say that skip themselves for it
SANITIZER_ERROR_STATUS = 86
SHARE_SECONDS = 900  # of one process: kernels that wait for each other may wait for ever
# A fault of one process under the Multi-Process Service ends all others there, which may be of other tools and
# programs, and synccheck ends kernels by one.
WITHOUT_SERVICE = ("device_faults", "synccheck")
SHARDS = min(16, os.cpu_count() or 1)  # processes side by side on a GPU
# Tests of one call of a tool at most, which is what a run that was stopped may lose.
SHARE_TESTS = {"racecheck": 1}
OTHER_SHARE_TESTS = 16
# why two: with all cores each, the shares' threads of the host backend wait for each other
THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
USUAL_LINE = re.compile(r"\[( RUN      |       OK |-{10}|={10})\]|$")  # of a test that passes
BEGUN_TEST = re.compile(r"^\[ RUN      \] (\S+)", re.MULTILINE)
TEST_TIME = re.compile(r"\[       OK \] (\S+).*? \((\d+) ms\)")
COUNT_OF_HAZARDS = re.compile(r" \[\d+ hazards?\]")
SUMMARY = re.compile(r"(?:ERROR|RACECHECK|LEAK) SUMMARY: (.+)")
NUMBER_PASSED = re.compile(r"\[  PASSED  \] (\d+) test")
SKIPPED_TEST = re.compile(r"\[  SKIPPED \] (\S+)")
# Summaries of a tool that found nothing: racecheck must say that of hazards, others the first. Warnings count as errors.
NO_ERRORS = "0 errors"
NO_HAZARDS = "0 hazards displayed (0 errors, 0 warnings)"
NOTHING_FOUND = (NO_ERRORS, NO_HAZARDS, "0 bytes leaked in 0 allocations")
# why cuSPARSE is left out: racecheck reports hazards inside its own SpMV kernels, which are not ours to mend. Calls of
# CUDA that fail are no errors of memory: tests of what a user may do wrong make them fail.
OPTIONS = {
    "memcheck": ["--leak-check", "full", "--report-api-errors", "no"],
    # why one: by itself it takes a thread for each core, which many calls side by side have each; RandomRuns of
    # detection, of 430 s so, takes 17
    "racecheck": ["--racecheck-num-workers", "1"],
}


class Outcome:
    """Names of tests by outcome."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []

    def names(self):
        return sorted(self.passed + self.failed + self.skipped)

    def add(self, xml, status, last):
        """What the XML says; `last` is the test that began last, at which a program died that wrote none."""
        try:
            tree = ElementTree.parse(xml).getroot()
        except (OSError, ElementTree.ParseError):
            self.failed.append(f"{xml.name}: the program ended with status {status} and no report in {last or 'no test'}")
            return
        before = len(self.failed)
        for case in tree.iter("testcase"):
            self.sort_in(case)
        if status != 0 and len(self.failed) == before:
            self.failed.append(f"{xml.name}: the program ended with status {status} although no test failed")

    def sort_in(self, case):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            self.failed.append(name)
        elif case.get("status") == "notrun":
            return
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            self.skipped.append(name)
        else:
            self.passed.append(name)


def within_time():
    return "timeout", "--kill-after=10", str(SHARE_SECONDS)


def run_shard(program, logs, shard, shards, gpu):
    """One share of the tests of a program; where its XML went, its status, and the test that began last."""
    xml = logs / f"{program.name}.{shard}.xml"
    xml.unlink(missing_ok=True)
    environment = {**THREADS, **os.environ, **gpu, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
    answer = subprocess.run([*within_time(), program, f"--gtest_output=xml:{xml}"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", env=environment, check=False)
    print(*(line for line in answer.stdout.splitlines() if not USUAL_LINE.match(line)), sep="\n", flush=True)
    begun = BEGUN_TEST.findall(answer.stdout)
    return xml, answer.returncode, begun[-1] if begun else ""


def run_tests(program, logs, gpu):
    """In shares side by side, since most of the time goes into the checks on the host."""
    outcome = Outcome()
    with concurrent.futures.ThreadPoolExecutor(SHARDS) as pool:
        for share in pool.map(lambda shard: run_shard(program, logs, shard, SHARDS, gpu), range(SHARDS)):
            outcome.add(*share)
    return outcome


def use_of(tool, program):
    """How the shares of a tool have a GPU. Where their kernels take turns, a tool takes three times as long."""
    return Use.IN_TURNS if {tool, program.name} & set(WITHOUT_SERVICE) else Use.AT_ONCE


def sanitizer_version():
    """As compute-sanitizer names it: 2026.4.0.0."""
    answer = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"^Version (\S+)", answer.stdout, re.MULTILINE)
    return found[1] if found else ""


def sanitize_share(tool, program, names, gpu, may_skip=()):
    """The named tests under one tool; what came of them, and the lines to keep."""
    command = [*within_time(), "compute-sanitizer", "--tool", tool, "--error-exitcode", str(SANITIZER_ERROR_STATUS),
               *OPTIONS.get(tool, []), "--kernel-name-exclude", "kns=cusparse", str(program),
               f"--gtest_filter={':'.join(names)}"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            env={**THREADS, **os.environ, **gpu, "BLOCKJACOBI_TEST_UNDER_TOOL": "1"}, check=False)
    print(*slowest_tests(answer.stdout), sep="\n", flush=True)
    said_skipped = set(SKIPPED_TEST.findall(answer.stdout))
    share = {"tests": names, "passed": int((NUMBER_PASSED.findall(answer.stdout) or [0])[-1]),
             "skipped": [name for name in names if name in said_skipped], "status": answer.returncode,
             "summary": sorted(set(SUMMARY.findall(answer.stdout)))}
    troubles = share_troubles(tool, share, may_skip) + (["there was no GPU"] if NO_GPU in answer.stdout else [])
    share["clean"] = not troubles
    return share, [*(f"not clean: {trouble}" for trouble in troubles), *shown_lines(answer.stdout)]


def slowest_tests(output, count=2):
    """Lines of the tests that took longest."""
    times = sorted(((int(ms), name) for name, ms in TEST_TIME.findall(output)), reverse=True)
    return [f"{ms} ms {name}" for ms, name in times[:count]]


def skipped_of(share, may_skip):
    """Shares of earlier records do not say which tests skipped themselves: those that may, since the tests ran without a
    tool as well, where any other skip is a failure."""
    return share.get("skipped", [name for name in share["tests"] if name in may_skip])


def share_troubles(tool, share, may_skip):
    """What keeps a share from being clean. Each of its tests passed, or skipped itself and stands in a list of those that
    may; the tool ended well and says that it found nothing. It need not where all tests of the share skipped themselves:
    of a program that calls nothing of CUDA it only says so."""
    skipped = skipped_of(share, may_skip)
    ran = len(share["tests"]) - len(skipped)
    found = [f"{name} skipped itself" for name in skipped if name not in may_skip]
    if share.get("passed", ran) != ran:
        found.append(f"{share['passed']} of {ran} tests passed")
    if ran == 0 and not found:
        return []
    if share["status"] != 0:
        found.append(f"status {share['status']}")
    wanted = NO_HAZARDS if tool == "racecheck" else NO_ERRORS
    if wanted not in share["summary"]:
        found.append(f"{tool} does not say: {wanted}")
    return found + [text for text in share["summary"] if text not in NOTHING_FOUND]


def shown_lines(output, most=200):
    """The end of a share's reports, of those that are equal but for their count only the first, and its outcome."""
    seen, lines = set(), []
    for report in re.split(r"^========= \n", output, flags=re.MULTILINE):
        key = COUNT_OF_HAZARDS.sub("", report)
        if key not in seen:
            lines += report.splitlines()
        seen.add(key)
    told = ("FAILED", "PASSED", "Failure", "exception")
    return [line for line in lines if line.startswith("=========") or any(word in line for word in told)][-most:]


def python_is_there():
    """Whether CuPy and PyTorch are, without which the Python package has little to be tested beside."""
    find = "import sys; from importlib.util import find_spec as find; sys.exit(not (find('cupy') and find('torch')))"
    return subprocess.run([os.environ.get("PYTHON") or "python3", "-c", find], check=False).returncode == 0


def is_over(deadline):
    return time.monotonic() >= deadline


def seconds_of_tests(program, logs):
    """How long each test took without a tool, of those whose XML is there."""
    found = {}
    for xml in logs.glob(f"{program.name}.*.xml"):
        try:
            cases = ElementTree.parse(xml).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError):
            continue
        found |= {f"{case.get('classname')}.{case.get('name')}": float(case.get("time") or 0) for case in cases}
    return found


def suite_of(name):
    """Of a test, without its parameter: Suite of Suite/0.Test."""
    return re.split("[/.]", name, maxsplit=1)[0]


def shares_of(names, seconds, most=OTHER_SHARE_TESTS):
    """Tests of one suite and scalar stay together: each process loads and instruments the kernels of few. Shares of
    about equal time, the longest first; a test whose time is not known takes that of an average one."""
    names = sorted(names)  # by suite, then by scalar
    count = max(min(SHARDS, len(names)), math.ceil(len(names) / most))
    known = [seconds[name] for name in names if name in seconds]
    average = sum(known) / len(known) if known else 1.0
    # half of it for each test: under a tool short ones, too, take time
    weights = {name: average / 2 + seconds.get(name, average) or 1.0 for name in names}
    total, before = sum(weights.values()), 0.0
    parts = {}
    for name in names:
        parts.setdefault(int(count * (before + weights[name] / 2) / total), []).append(name)
        before += weights[name]
    shares = [part[at:at + most] for part in parts.values() for at in range(0, len(part), most)]
    return sorted(shares, key=lambda share: sum(weights[name] for name in share), reverse=True)


def sanitize(tool, program, lists, record, logs, submit, deadline=math.inf):
    """Runs one tool over the tests that match, in shares side by side since the tools are slow, where submit(order, use,
    work) finds places. Tests of kernels whose thread blocks wait for each other come last, each alone on a GPU: other
    programs there make them slow. Shares that an earlier run, which was stopped, found clean are not run again. None if
    the time was over before the last began. lists: patterns of the tests, and of those that skip themselves."""
    patterns, skips = lists
    begin = time.monotonic()
    names = test_lists.matching(patterns, test_lists.tests_of(program))
    may_skip = {name for patterns_of_skips in skips for name in test_lists.matching(patterns_of_skips, names)}
    shares = record.clean_shares(tool, program.name, lambda share: not share_troubles(tool, share, may_skip))
    done = {name for share in shares for name in share["tests"]}
    shared = [name for name in names if "Resident" not in name and name not in done]
    alone = {}
    for name in sorted(set(names) - set(shared) - done):
        alone.setdefault(suite_of(name), []).append(name)
    most = SHARE_TESTS.get(tool, OTHER_SHARE_TESTS)
    log = logs / f"{program.name}.{tool}.txt"

    def run(tests, gpu):
        if is_over(deadline):
            return None
        share, lines = sanitize_share(tool, program, tests, gpu, may_skip)
        record.add_share(tool, program.name, share)
        with record.lock, open(log, "a", encoding="utf-8") as file:
            heading = f"# {tool} {program.name}: {len(tests)} tests, status {share['status']}"
            if not share["clean"]:
                heading += f": {' '.join(tests)}"
            file.write("\n".join([heading, *lines, "", ""]))
        return share

    parts = [(use_of(tool, program), tests) for tests in shares_of(shared, seconds_of_tests(program, logs), most)]
    parts += [(Use.ALONE, tests[at:at + most]) for tests in alone.values() for at in range(0, len(tests), most)]
    begun = [submit(order, use, functools.partial(run, tests)) for order, (use, tests) in enumerate(parts)]
    shares += [share.result() for share in begun]
    print(f"== {tool} {program.name}: {time.monotonic() - begin:.0f} s, {log}", flush=True)
    if None in shares:
        return None
    skipped = {name for share in shares for name in skipped_of(share, may_skip)} & set(names)
    return {
        "lists": test_lists.sha256(patterns),
        "tests": len(names),
        "skipped": len(skipped),
        "summary": "; ".join(sorted({text for share in shares for text in share["summary"]})),
        "version": sanitizer_version(),
        # where every test skipped itself nothing was checked, and that is no success
        "clean": len(skipped) < len(names) and all(share["clean"] for share in shares),
    }
