#!/usr/bin/env python3
"""The lists of tests that records of GPU tests go by.

tests/expected-skips.txt: PROGRAM PATTERN, tests that skip themselves; all others must run. A pattern behind "?" is of
                          tests that may do either. expected-skips-*.txt: which others do where something is lacking.
tests/sanitizers.txt:     PROGRAM TOOLS PATTERN, tests that run under tools of compute-sanitizer ("all", "none", or names
                          with commas). A pattern that begins with "-" takes tests out again.
tests/unlaunched-kernels.txt: NAME # why, kernels that no test launches.

Patterns are those of a shell, over the names of --gtest_list_tests; "#" begins a comment.

  test_lists.py BUILD_DIR   checks that every pattern names a test of the programs in BUILD_DIR/tests
"""

import fnmatch
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def lines_of(path, fields):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split("#")[0].split()
        if words and len(words) != fields:
            raise SystemExit(f"{path}:{number}: {len(words)} words, not {fields}: {line}")
        if words:
            yield number, words


def skips(root=ROOT, *more):
    """program: (patterns of tests that must skip themselves, of those that may); of more lists, too"""
    found = {}
    for path in (root / "tests" / "expected-skips.txt", *filter(None, more)):
        for _, (program, pattern) in lines_of(path, 2):
            found.setdefault(program, ([], []))[pattern.startswith("?")].append(pattern.removeprefix("?"))
    return found


def sanitizers(root=ROOT):
    """program: tool: patterns"""
    path = root / "tests" / "sanitizers.txt"
    found = {}
    for number, (program, tools, pattern) in lines_of(path, 3):
        found.setdefault(program, {})
        for tool in {"all": TOOLS, "none": ()}.get(tools, tools.split(",")):
            if tool not in TOOLS:
                raise SystemExit(f"{path}:{number}: no tool is called {tool}: {', '.join(TOOLS)}")
            found[program].setdefault(tool, []).append(pattern)
    return found


def unlaunched(root=ROOT):
    """{kernel that no test launches: why}"""
    path = root / "tests" / "unlaunched-kernels.txt"
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        # names have spaces, and lambdas a "#" that no space follows
        name, _, why = line.strip().partition(" # ")
        if not name or name.startswith("#"):
            continue
        if not why.strip() or name.strip() in found:
            raise SystemExit(f"{path}:{number}: {'no reason' if not why.strip() else 'a second time'}: {line}")
        found[name.strip()] = why.strip()
    return found


def sha256(sanitized):
    """Of what sanitizers() found, or of the patterns of one tool in it, without comments."""
    return hashlib.sha256(json.dumps(sanitized, sort_keys=True).encode("utf-8")).hexdigest()


def matching(patterns, names):
    """Names that a pattern takes in and none takes out."""
    taken = [pattern for pattern in patterns if not pattern.startswith("-")]
    left_out = [pattern[1:] for pattern in patterns if pattern.startswith("-")]
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in taken)
            and not any(fnmatch.fnmatchcase(name, pattern) for pattern in left_out)]


def tests_of(program, pattern="*"):
    """Names of the tests of a GoogleTest program that match; on CUDA, of one that runs on either backend."""
    answer = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"], capture_output=True,
                            text=True, check=False, env={**os.environ, "BLOCKJACOBI_TEST_BACKEND": "cuda"})
    if answer.returncode != 0:
        raise SystemExit(f"{program}: cannot list its tests: {answer.stdout}{answer.stderr}")
    names, suite = [], ""
    for line in answer.stdout.splitlines():
        name = line.split("  # ")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


def unused(build, root=ROOT):
    """Patterns that match no test of their program."""
    wanted = {}
    for program, patterns in skips(root, *sorted((root / "tests").glob("expected-skips-*.txt"))).items():
        wanted.setdefault(program, []).extend(("expected-skips*.txt", pattern) for pattern in sum(patterns, []))
    for program, tools in sanitizers(root).items():
        distinct = dict.fromkeys(pattern for patterns in tools.values() for pattern in patterns)
        wanted.setdefault(program, []).extend(("sanitizers.txt", pattern) for pattern in distinct)
    found = []
    for program, patterns in wanted.items():
        names = tests_of(build / "tests" / program)
        found += [f"tests/{file}: {program}: no test matches {pattern}" for file, pattern in patterns
                  if not matching([pattern.lstrip("-")], names)]
    return found


def main():
    found = unused(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "test lists: every pattern names a test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
