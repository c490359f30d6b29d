"""The record of what became of the mutants, tests/mutants/record.json: an entry for each that was run.

    "sha256"      of what the outcome hangs on: the mutant, the file that it changes and those of the tests that it
                  names, without comments and white space; of other files a change is not seen
    "backend"     host or cuda, and with cuda the "device"
    "outcome"     killed, survived or does not compile
    "killed_by"   the first test that failed
    "commit"      of the tree that the mutant was applied to
"""

import fnmatch
import hashlib
import json
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))
import sources_sha256  # noqa: E402

KILLED, SURVIVED, NOT_COMPILED = "killed", "survived", "does not compile"
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


class Outcome(NamedTuple):
    what: str
    killed_by: str = ""
    output: str = ""  # of a compiler

    def __str__(self):
        by = f" by {self.killed_by}" if self.killed_by else ""
        return self.what + by + (f":\n{self.output[-2000:]}" if self.output else "")


def sources_of(tree, program):
    """Sources of a test program."""
    for command, words in sources_sha256.statements(tree.read("tests/CMakeLists.txt")):
        if words and words[0] == pathlib.PurePath(program).name:
            folder = {"blockjacobi_add_tests": f"tests/{words[1]}/", "add_executable": "tests/"}.get(command)
            if folder:
                return [folder + word for word in words if word.endswith((".cpp", ".c"))]
    raise SystemExit(f"tests/CMakeLists.txt has no program {program}")


def is_named(suite, test, pattern):
    """Whether a pattern of --gtest_filter may name instances of a test as the source has it."""
    of_suite, _, of_test = pattern.partition(".")
    # PREFIX/SUITE, SUITE/TYPE or SUITE alone
    parts = [part for part in of_suite.split("/") if part.strip("*?")] or ["*"]
    return (any(fnmatch.fnmatchcase(suite, part) for part in parts) and
            fnmatch.fnmatchcase(test, of_test.split("/")[0] or "*"))


def test_files(tree, mutant):
    """Files with the tests that the mutant names."""
    sources = sources_of(tree, mutant.program)
    if not mutant.test:
        return sources
    patterns = mutant.test.split(":")
    found = [source for source in sources
             if any(is_named(*test, pattern) for test in TEST.findall(tree.read(source)) for pattern in patterns)]
    if not found:
        raise SystemExit(f"{mutant.name}: no source of {mutant.program} has a test '{mutant.test}'")
    return found


def sha256(tree, mutant):
    total = hashlib.sha256(json.dumps([mutant.before, mutant.after, mutant.program, mutant.test]).encode("utf-8"))
    for path in (mutant.file, *test_files(tree, mutant)):
        total.update(f"{tree.file_sha256(path)}  {path}\n".encode("utf-8"))
    return total.hexdigest()


def origin(tree, mutant):
    """What an entry says of where it comes from."""
    return {"sha256": sha256(tree, mutant), "commit": commit(tree.root)}


def commit(root):
    """Name of the commit, "+changes" behind it if others than the record's came since; empty outside of git."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!tests/mutants/record.json")
    return git("rev-parse", "HEAD") + ("+changes" if changes else "")


def device():
    try:
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def entry(mutant, come_from, outcome):
    by = {"killed_by": outcome.killed_by} if outcome.killed_by else {}
    backend = {"backend": "cuda" if mutant.gpu else "host"}
    if mutant.gpu and outcome.what != NOT_COMPILED:
        backend["device"] = device()
    return {"sha256": come_from["sha256"], **backend, "outcome": outcome.what, **by, "commit": come_from["commit"]}


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))["mutants"] if path.exists() else {}


def put(path, mutants, entries):
    """Replaces these entries and leaves others as they are, but for those of no mutant."""
    known = {**load(path), **entries}
    values = {"mutants": {m.name: known[m.name] for m in mutants if m.name in known}}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def sorted_out(path, mutants, tree):
    """Of the mutants those that are not on record, those on record as they were before a change, and the others."""
    entries = load(path)
    absent = [m for m in mutants if m.name not in entries]
    stale = [m for m in mutants if m.name in entries and entries[m.name]["sha256"] != sha256(tree, m)]
    return absent, stale, [m for m in mutants if m not in absent and m not in stale]


def killed(path, mutants, tree):
    """Names of the mutants that are on record as killed as they are now."""
    entries = load(path)
    return {m.name for m in sorted_out(path, mutants, tree)[2] if entries[m.name]["outcome"] == KILLED}


def check(path, mutants, tree, name):
    """Says what the record has of the mutants. 1 if one survived or did not compile, as it is now."""
    absent, stale, known = sorted_out(path, mutants, tree)
    for what, some in (("not on record", absent), ("stale", stale)):
        for backend, own in (("host", [m for m in some if not m.gpu]), ("cuda", [m for m in some if m.gpu])):
            if own:
                print(f"{name}: {len(own)} of {backend} {what}: {', '.join(m.name for m in own)}")
    entries, good = load(path), killed(path, mutants, tree)
    wrong = [m.name for m in known if m.name not in good]
    for mutant in wrong:
        print(f"{name}: {mutant}: {entries[mutant]['outcome']}")
    rest = ", run the others (tests/mutants/run.py --stale)" if absent or stale else ""
    print(f"{name}: {len(good)} of {len(mutants)} mutants killed{rest}")
    return 1 if wrong else 0
