"""Which kernels of the library the tests launch that the tools of compute-sanitizer run: whether tests/sanitizers.txt
reaches all that the tests do.

The tests run without a tool, those of its lists once more with what they leave out under one, and CUDA loads
tests/kernels_seen.so into them, which writes down what is launched (tests/support/kernels_seen.cpp). The kernels that
there are stand in the programs (kernel_code.py). A tool that looks at shared memory, or at threads that wait for each other
over it, needs those kernels alone that have some. What no test launches, as designs for other devices, stands with its
reason in tests/unlaunched-kernels.txt."""

import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

import gpu_stages
import kernel_code
import test_lists
from gpu_places import Use

LIBRARY = "kernels_seen.so"
OWN = "_ZN11blockjacobi"  # not those of CUB, whose kernels are in the programs as well
OF_SHARED_MEMORY = ("racecheck", "synccheck")
# Has kernels in s and c only where their code or their order is another one than in d and z: see tests/sanitizers.txt.
OF_TWINS = ("racecheck",)
NAMESPACES = re.compile(r"\bblockjacobi::(kernels::|detail::)*")


def why_not_loaded(library):
    """What keeps the library from being loaded, as a missing libcupti; empty if nothing does."""
    answer = subprocess.run([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", library],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return (answer.stderr.strip().splitlines() or ["unknown"])[-1] if answer.returncode != 0 else ""


def kernels_of(program):
    """The library's kernels in a program: {mangled name: whether it has static shared memory}"""
    found = {}
    for image in kernel_code.images(program):
        for name, has_some in kernel_code.static_shared_memory(image):
            if name.startswith(OWN):
                found[name] = has_some or found.get(name, False)
    return found


def readable(names):
    """{mangled name: as in the sources, without parameters}; as they are where there is no c++filt."""
    names = sorted(names)
    try:
        answer = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {name: name for name in names}
    return dict(zip(names, (NAMESPACES.sub("", line) for line in answer.stdout.splitlines())))


def groups_of(names, patterns):
    """{tools: tests that run under these and no others}, and all tests as those of no tool."""
    listed = {tool: set(test_lists.matching(found, names)) for tool, found in patterns.items()}
    groups = collections.defaultdict(list)
    for name in names:
        tools = tuple(tool for tool in test_lists.TOOLS if name in listed.get(tool, ()))
        if tools:
            groups[tools].append(name)
    return {**groups, (): names}


def run_share(program, names, is_under_tool, file, gpu):
    """The named tests; what went wrong, and what they launched. That is left in the file if all went well."""
    seen = file.with_suffix(".part")
    seen.unlink(missing_ok=True)
    environment = {**gpu_stages.THREADS, **os.environ, **gpu, "BLOCKJACOBI_KERNELS_SEEN": str(seen),
                   "CUDA_INJECTION64_PATH": str(program.parent / LIBRARY)}
    if is_under_tool:
        environment["BLOCKJACOBI_TEST_UNDER_TOOL"] = "1"
    answer = subprocess.run([*gpu_stages.within_time(), program, f"--gtest_filter={':'.join(names)}"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            env=environment, check=False)
    lines = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
    troubles = [f"{program.name}: {line[1:].strip()}" for line in lines if line.startswith("#")]
    if answer.returncode != 0 or gpu_stages.NO_GPU in answer.stdout:
        print(*gpu_stages.shown_lines(answer.stdout), sep="\n", flush=True)
        troubles.append(f"{program.name}: status {answer.returncode} of {len(names)} tests from {names[0]} on")
    if lines and not troubles:
        seen.rename(file)
    return troubles, lines


def see(program, sha256, patterns, logs, gpu, deadline, resume):
    """[(tools, what went wrong, lines of the library that CUDA loaded)] of shares of a program's tests, side by side;
    None for one that did not begin in time. With `resume` what the same program left of the same tests, in a run that
    was stopped or for another list, is taken as it is."""
    folder = logs / "reach"
    folder.mkdir(parents=True, exist_ok=True)
    seconds = gpu_stages.seconds_of_tests(program, logs)
    jobs = [(tools, share) for tools, tests in groups_of(test_lists.tests_of(program), patterns).items()
            for share in gpu_stages.shares_of(tests, seconds)]

    def run(job):
        tools, tests = job
        key = hashlib.sha256(json.dumps([sha256, bool(tools), tests]).encode("utf-8")).hexdigest()
        file = folder / f"{program.name}.{key[:16]}.txt"
        if resume and file.exists():
            return tools, [], file.read_text(encoding="utf-8").splitlines()
        if gpu_stages.is_over(deadline):
            return None
        return tools, *run_share(program, tests, bool(tools), file, gpu)

    with concurrent.futures.ThreadPoolExecutor(gpu_stages.SHARDS) as pool:
        return list(pool.map(run, jobs))


def twin_of(name):
    """The same kernel in double precision, of one that has single precision alone."""
    return re.sub(r"\bfloat\b", "double", name) if not re.search(r"\bdouble\b", name) else None


def compare(kernels, seen):
    """kernels: {name: whether it has static shared memory}; seen: [(tools, lines)] of shares of tests."""
    launched, dynamic = collections.defaultdict(set), set()
    for tools, lines in seen:
        for words in (line.split() for line in lines):
            if words and words[0] in kernels:
                for tool in (*tools, "any test"):
                    launched[tool].add(words[0])
                dynamic |= {words[0]} if len(words) > 1 else set()
    shared = {name for name, has_some in kernels.items() if has_some} | dynamic
    text = readable(kernels)

    def listing(names):
        return sorted({text[name] for name in names})

    found = {"kernels": len(kernels), "launched_by_any_test": len(launched["any test"]), "tools": {}}
    for tool in test_lists.TOOLS:
        wanted = launched["any test"] & shared if tool in OF_SHARED_MEMORY else launched["any test"]
        reached = wanted & launched[tool]
        reached_text = {text[name] for name in reached}
        twins = {name for name in wanted - reached if twin_of(text[name]) in reached_text} if tool in OF_TWINS else set()
        entry = {"kernels": len(wanted), "launched": len(reached)}
        if tool in OF_TWINS:
            entry["in_double_precision"] = len(twins)
        found["tools"][tool] = entry | {"missed": listing(wanted - reached - twins)}
    found["launched_by_no_test"] = listing(set(kernels) - launched["any test"])
    return found


def reach(programs, sanitized, logs, places, deadline, resume):
    """programs: {path: hash}. What the tests reach, as it stands in the record; None if the time was over."""

    def run(program, gpu):
        print(f"== reach {program.name}", flush=True)
        return see(program, programs[program], sanitized.get(program.name, {}), logs, gpu, deadline, resume)

    begun = [places.submit((), Use.ALONE, functools.partial(run, program)) for program in programs]
    shares = sum((program.result() for program in begun), [])
    if None in shares:
        return None
    troubles = sorted({trouble for _, wrong, _ in shares for trouble in wrong})
    seen = [(tools, lines) for tools, _, lines in shares]
    if not any(lines for _, lines in seen):
        troubles.append("nothing was launched, or nothing was loaded by CUDA to see it")
    kernels = {}
    for program in programs:
        for name, has_some in kernels_of(program).items():
            kernels[name] = has_some or kernels.get(name, False)
    return {**compare(kernels, seen), "troubles": troubles, "lists": test_lists.sha256(sanitized),
            "programs": {program.name: sha256 for program, sha256 in programs.items()}}


def summary(result):
    parts = [f"{tool} {entry['launched']} of {entry['kernels']}" for tool, entry in result["tools"].items()]
    return (f"{result['launched_by_any_test']} of {result['kernels']} kernels are launched by tests; of those that "
            f"matter to it {', '.join(parts)}")
