#!/usr/bin/env python3
"""Runs the test programs of a build folder on a GPU and puts what came out on record; see .ci/gpu."""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

import sources_sha256

NO_CUDA_CALL = "before first instrumented API call"
SANITIZER_ERROR_STATUS = 86
SHARDS = min(12, os.cpu_count() or 1)  # tests and tools side by side
TEST_TIME = re.compile(r"\[       OK \] (\S+).*? \((\d+) ms\)")
COUNT_OF_HAZARDS = re.compile(r" \[\d+ hazards?\]")
SUMMARY = re.compile(r"(ERROR|RACECHECK|LEAK) SUMMARY: (.+)")


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


def is_program(path):
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def list_tests(program, pattern="*"):
    """Names of the tests that match; None if the program is no GoogleTest."""
    answer = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"],
                            capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return None
    names, suite = [], ""
    for line in answer.stdout.splitlines():
        name = line.split("  # ")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


def test_programs(build):
    found = {path: list_tests(path) for path in sorted((build / "tests").iterdir()) if is_program(path)}
    unusable = [path.name for path, names in found.items() if names is None]
    if unusable:
        fail(f"cannot list the tests of {', '.join(unusable)} in {build / 'tests'}")
    programs = [path for path, names in found.items() if names]
    if not programs:
        fail(f"no test program in {build / 'tests'}")
    return programs


class Outcome:
    """Tests by outcome, and the JUnit trees they came in."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.trees = [], [], [], []

    def add(self, program, xml, status):
        try:
            tree = ElementTree.parse(xml).getroot()
        except (OSError, ElementTree.ParseError):
            # Nothing was written: the program died.
            self.failed.append(f"{program.name}: ended with status {status} and no report")
            return
        before = len(self.failed)
        for suite in tree.iter("testsuite"):
            for case in suite.iter("testcase"):
                self.sort_in(program, case)
        if status != 0 and len(self.failed) == before:
            self.failed.append(f"{program.name}: ended with status {status} although no test failed")
        self.trees.append((program.name, tree))

    def sort_in(self, program, case):
        name = f"{program.name}: {case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            self.failed.append(name)
        elif case.get("status") == "notrun":
            return
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            self.skipped.append(name)
        else:
            self.passed.append(name)

    def junit(self):
        root = ElementTree.Element("testsuites", name="gpu")
        for program, tree in self.trees:
            for suite in tree.iter("testsuite"):
                suite.set("name", f"{program}/{suite.get('name')}")
                root.append(suite)
        for count in ("tests", "failures", "errors", "skipped", "disabled"):
            root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
        root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
        return ElementTree.ElementTree(root)


def run_shard(program, folder, shard):
    """One share of the tests of a program; where its XML went, and its status."""
    xml = folder / f"{program.name}.{shard}.xml"
    # why two: with all cores each, the shares' threads of the host backend wait for each other
    environment = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", **os.environ,
                   "GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard)}
    answer = subprocess.run([program, f"--gtest_output=xml:{xml}", "--gtest_brief=1"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", env=environment, check=False)
    print(answer.stdout, end="", flush=True)
    return xml, answer.returncode


def run_tests(programs, folder):
    """In shares side by side, since most of the time goes into the checks on the host."""
    outcome = Outcome()
    for program in programs:
        print(f"== {program.name}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(SHARDS) as pool:
            for xml, status in pool.map(lambda shard: run_shard(program, folder, shard), range(SHARDS)):
                outcome.add(program, xml, status)
    return outcome


def sanitize_share(tool, program, names):
    """The named tests under one tool; what came of them."""
    # why cuSPARSE is left out: racecheck reports hazards inside its own SpMV kernels, which are not ours to mend.
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(SANITIZER_ERROR_STATUS),
               "--kernel-name-exclude", "kns=cusparse", str(program), f"--gtest_filter={':'.join(names)}"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            check=False)
    print(*slowest_tests(answer.stdout), sep="\n", flush=True)
    return {
        "tests": names,
        "status": answer.returncode,
        "summary": sorted({text for _, text in SUMMARY.findall(answer.stdout)}),
        "no_cuda_call": NO_CUDA_CALL in answer.stdout,
        "clean": is_clean(answer),
        "lines": shown_lines(answer.stdout),
    }


def slowest_tests(output, count=2):
    """Lines of the tests that took longest."""
    times = sorted(((int(ms), name) for name, ms in TEST_TIME.findall(output)), reverse=True)
    return [f"{ms} ms {name}" for ms, name in times[:count]]


def is_clean(answer):
    """A program whose tests passed without touching CUDA has nothing that could be checked."""
    if "[  PASSED  ]" not in answer.stdout or "[  FAILED  ]" in answer.stdout:
        return False
    return NO_CUDA_CALL in answer.stdout or (answer.returncode == 0 and bool(SUMMARY.search(answer.stdout)))


def distinct_reports(output):
    """The lines of an output, of equal reports but for their count only the first."""
    seen, lines = set(), []
    for report in re.split(r"^========= \n", output, flags=re.MULTILINE):
        key = COUNT_OF_HAZARDS.sub("", report)
        if key not in seen:
            lines += report.splitlines()
        seen.add(key)
    return lines


def shown_lines(output, most=200):
    """What the record keeps of a share, so that no share displaces another: the end of its reports and its outcome."""
    lines = [line for line in distinct_reports(output)
             if line.startswith("=========") or "FAILED" in line or "PASSED" in line]
    return lines[-most:]


def sanitize(tool, program, pattern, record):
    """Runs one tool over the tests that match, in shares side by side since the tools are slow; outcome and text. Tests
    of kernels whose thread blocks wait for each other come last and alone: other programs on the GPU make them slow.
    Shares that an earlier run, which was stopped, found clean are not run again."""
    names = list_tests(program, pattern)
    shares = record.clean_shares(tool, program.name)
    done = {name for share in shares for name in share["tests"]}
    alone = [name for name in names if "Resident" in name and name not in done]
    shared = [name for name in names if "Resident" not in name and name not in done]

    def run(tests):
        share = sanitize_share(tool, program, tests)
        record.add_share(tool, program.name, share)
        return share

    with concurrent.futures.ThreadPoolExecutor(SHARDS) as pool:
        shares += list(pool.map(run, (shared[i::SHARDS] for i in range(min(SHARDS, len(shared))))))
    shares += [run([name]) for name in alone]
    result = {
        "tests": len(names),
        "status": max(share["status"] for share in shares),
        "summary": "; ".join(sorted({text for share in shares for text in share["summary"]})),
        "no_cuda_call": all(share["no_cuda_call"] for share in shares),
        "clean": all(share["clean"] for share in shares),
    }
    shown = [line for share in shares for line in share["lines"]]
    text = "\n".join([f"# {tool} {program.name} --gtest_filter={pattern}: {result['tests']} tests, "
                      f"status {result['status']}", *shown])
    return result, text


def run_sanitizer(tool, programs, pattern, record):
    """One tool over all programs that are not yet on record with it."""
    if not shutil.which("compute-sanitizer"):
        fail("compute-sanitizer is not here")
    wanted = [program for program in programs if list_tests(program, pattern)]
    for program in wanted:
        if record.has(tool, program.name):
            print(f"== {tool} {program.name}: on record", flush=True)
            continue
        print(f"== {tool} {program.name}", flush=True)
        begin = time.monotonic()
        result, text = sanitize(tool, program, pattern, record)
        print(text, f"== {tool} {program.name}: {time.monotonic() - begin:.0f} s", sep="\n", flush=True)
        record.add_sanitizer(tool, program.name, result, text, [other.name for other in wanted])


class Record:
    """The files of the record, written after every stage and every share of a sanitizer's: a run that is stopped leaves
    what it found, and one on the same sources goes on from there."""

    def __init__(self, folder, head):
        self.folder = folder
        self.path = folder / "gpu-record.json"
        self.values = self.earlier(head["sources_sha256"]) | head
        self.values.setdefault("sanitizers", {})
        self.lock = threading.Lock()

    def earlier(self, sources):
        try:
            values = json.loads(self.path.read_text(encoding="utf-8"))
        except OSError:
            return {}
        if values.get("sources_sha256") == sources:
            return values
        for name in ("gpu-record.json", "gpu-record.junit.xml", "gpu-record.sanitizer.txt"):
            (self.folder / name).unlink(missing_ok=True)
        return {}

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.values, indent=2) + "\n", encoding="utf-8")

    def add_tests(self, tests):
        self.values.update(passed=len(tests.passed), failed=len(tests.failed), skipped=len(tests.skipped),
                           failed_tests=tests.failed, skipped_tests=tests.skipped)
        self.write()
        tests.junit().write(self.folder / "gpu-record.junit.xml", encoding="utf-8", xml_declaration=True)

    def has(self, tool, program):
        """Whether the tool ran over the program and found nothing."""
        programs = self.values["sanitizers"].get(tool, {}).get("programs", {})
        return programs.get(program, {}).get("clean", False)

    def clean_shares(self, tool, program):
        """Shares of a program that were clean before a run was stopped."""
        return list(self.values.get("unfinished", {}).get(tool, {}).get(program, []))

    def add_share(self, tool, program, share):
        if not share["clean"]:
            return
        with self.lock:
            self.values.setdefault("unfinished", {}).setdefault(tool, {}).setdefault(program, []).append(share)
            self.write()

    def forget_shares(self, tool, program):
        """They are part of the program's outcome now."""
        unfinished = self.values.get("unfinished", {})
        unfinished.get(tool, {}).pop(program, None)
        if not any(unfinished.values()):
            self.values.pop("unfinished", None)

    def add_sanitizer(self, tool, program, result, text, wanted):
        self.forget_shares(tool, program)
        programs = self.values["sanitizers"].get(tool, {}).get("programs", {}) | {program: result}
        checked = [found for found in programs.values() if not found["no_cuda_call"]]
        self.values["sanitizers"][tool] = {
            # If no program called CUDA, nothing was checked, and that is no success.
            "clean": bool(checked) and all(name in programs and programs[name]["clean"] for name in wanted),
            "tests": sum(found["tests"] for found in checked),
            "programs": programs,
        }
        self.write()
        with open(self.folder / "gpu-record.sanitizer.txt", "a", encoding="utf-8") as file:
            file.write(text + "\n\n")

    def is_good(self, stages):
        """Whether these stages have found nothing wrong."""
        tests_good = "tests" not in stages or (self.values["passed"] > 0 and self.values["failed"] == 0)
        sanitizers = self.values["sanitizers"]
        return tests_good and all(sanitizers.get(tool, {}).get("clean") for tool in stages if tool != "tests")


def build_info(build):
    try:
        return json.loads((build / "tests" / "build-info.json").read_text(encoding="utf-8"))
    except OSError:
        return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--small", default="*Small*-*host_*")
    parser.add_argument("--stages", default="tests memcheck racecheck", type=str.split,
                        help="tests and tools of compute-sanitizer")
    parser.add_argument("--files", help="list of the sources, instead of git's")
    arguments = parser.parse_args()

    head = device()
    build = arguments.build.resolve()
    names = sources_sha256.files_of_list(arguments.files) if arguments.files else sources_sha256.files_of_git()
    if not names:
        fail("which sources? no git repository here: name their list in SOURCES_FILES (.ci/sources_sha256.py --list)")
    head["cuda"] = build_info(build).get("cuda", "")
    head["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    head["sources_sha256"] = sources_sha256.hash_of(names)

    programs = test_programs(build)
    record = Record(arguments.out, head)
    for stage in arguments.stages:
        if stage == "tests":
            with tempfile.TemporaryDirectory() as folder:
                record.add_tests(run_tests(programs, pathlib.Path(folder)))
        else:
            run_sanitizer(stage, programs, arguments.small, record)

    values = record.values
    print(f"gpu: {head['device']}: {values.get('passed', 0)} passed, {values.get('failed', 0)} failed, "
          f"{values.get('skipped', 0)} skipped; " +
          ", ".join(f"{tool} {'clean' if found['clean'] else 'ERRORS'}" for tool, found in values["sanitizers"].items()))
    for name in values.get("failed_tests", []):
        print(f"gpu: FAILED {name}")
    return 0 if record.is_good(arguments.stages) else 1


if __name__ == "__main__":
    sys.exit(main())
