#!/usr/bin/env python3
"""Applies the mutants of mutants.py one at a time to a copy of the tree, and expects the test of each to fail.

    tests/mutants/run.py                    every mutant that needs no GPU
    tests/mutants/run.py --only NAME ...    these
    tests/mutants/run.py --stale            of those chosen the ones that the record lacks, or has as they were before a
                                            change, or did not see killed
    tests/mutants/run.py --gpu              those that need a GPU, too; configures the preset cuda
    tests/mutants/run.py --petsc            and those that need a GPU and a PETSc with CUDA, which PKG_CONFIG_PATH names
    tests/mutants/run.py --build-only FOLDER    builds the programs of those that need a GPU, each into a folder of its
                                                name there, and what they are without a mutant; runs nothing
    tests/mutants/run.py --run-only FOLDER  runs what lies there, on a machine that may have no compiler
    tests/mutants/run.py --shards N         N mutants at a time, each in an overlay of the built copy: on Linux, as root
    tests/mutants/run.py --list
    tests/mutants/run.py --check            whether all can still be applied, and what the record says of them; changes
                                            and builds nothing

The copy is built once, and the tests that mutants name must pass there before anything is changed; then only what a
mutant touches is compiled anew. It has the files of these tests alone, and for the host it is not optimized. --copy
FOLDER keeps the copy and its build for the next time. Status 1 if a mutant survived, could not be applied or did not
compile; for --check, if the record says so of one as it is now.

What became of a mutant goes into the record as soon as it is known, and leaves the entries of others as they are:
tests/mutants/record.json (record.py), or the file that --record names. --build-only keeps in its folder what the
programs were made of, so that --run-only may run where there is no git.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record  # noqa: E402
from mutants import MUTANTS  # noqa: E402
from record import KILLED, NOT_COMPILED, SURVIVED, Outcome  # noqa: E402

ROOT = record.ROOT
TREE = record.sources_sha256.Tree(ROOT)
RECORD = ROOT / "tests/mutants/record.json"
LONGEST_TEST_SECONDS = 600
# Half as long to compile; whether a test notices a change does not hang on it.
NOT_OPTIMIZED = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-DNDEBUG", "-DCMAKE_C_FLAGS_DEBUG=-DNDEBUG",
                 "-DBLOCKJACOBI_HOST_ISAS=", "-DBLOCKJACOBI_PETSC=none", "-DBLOCKJACOBI_TEST_SCALARS=s;d")


def copy_tree(folder):
    """The files that git knows or would take; unchanged ones keep their time, so that they are not built again."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, listed):
        source, target = ROOT / name, folder / name
        if not source.is_file():
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        os.utime(target)


class Copy:
    def __init__(self, folder, preset, jobs, options=()):
        self.folder = folder
        self.preset = preset
        self.jobs = jobs
        self.options = options

    def run(self, *command, quiet=True):
        # as in .ci/run: copies in other folders share the objects of the compiler's cache
        return subprocess.run(command, cwd=self.folder, check=False, text=True,
                              env={**os.environ, "CCACHE_BASEDIR": str(self.folder)},
                              stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None)

    def configure(self):
        # of all mutants of this preset, so that another choice of them finds the same build
        files = {file.removeprefix("tests/") for mutant in MUTANTS if self.preset == "cuda" or not mutant.gpu
                 for file in record.test_files(TREE, mutant) if file.endswith("_test.cpp")}
        options = ["-DBLOCKJACOBI_BUILD_BENCHMARKS=OFF", "-DBLOCKJACOBI_BUILD_EXAMPLES=OFF",
                   "-DBLOCKJACOBI_TEST_FILES=" + ";".join(sorted(files)),
                   *(NOT_OPTIMIZED if self.preset == "host" else ()), *self.options]
        if self.run("cmake", "--preset", self.preset, *options, quiet=False).returncode != 0:
            raise SystemExit("the copy cannot be configured")

    def build(self, program):
        return self.run("cmake", "--build", "--preset", self.preset, f"-j{self.jobs}", "--target",
                        pathlib.PurePath(program).name)

    def build_unchanged(self, program):
        if (built := self.build(program)).returncode != 0:
            raise SystemExit(built.stdout[-4000:])

    def program(self, name):
        return self.folder / "build" / self.preset / "tests" / name

    def test(self, mutant):
        return tested(mutant, self.program(mutant.program), self.folder)


def first_failed(output, program):
    """The test that failed first, or the one in which the program ended; of programs without GoogleTest the file."""
    if failed := re.search(r"^\[  FAILED  \] ([^\s,]+)", output, re.MULTILINE):
        return failed.group(1)
    if begun := re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE):
        return begun[-1]
    place = re.search(r"^([^\s:]+):\d+: ", output, re.MULTILINE)
    return f"{program} in {place.group(1)}" if place else program


def tested(mutant, program, folder):
    """Survived if the test passes; a test that ran no case is no test."""
    command = [str(program)] + ([f"--gtest_filter={mutant.test}", "--gtest_fail_fast"] if mutant.test else [])
    backend = {"BLOCKJACOBI_TEST_BACKEND": "cuda"} if mutant.gpu else {}
    try:
        done = subprocess.run(command, cwd=folder, check=False, timeout=LONGEST_TEST_SECONDS, encoding="utf-8",
                              errors="replace", env={**os.environ, **backend}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as expired:
        return Outcome(KILLED, first_failed((expired.stdout or b"").decode("utf-8", "replace"), mutant.program))
    if mutant.test and "[==========] Running 0 tests" in done.stdout:
        raise SystemExit(f"{mutant.name}: {mutant.program} has no test '{mutant.test}'")
    if mutant.gpu and done.returncode == 0 and "[       OK ]" not in done.stdout:
        raise SystemExit(f"{mutant.name}: no test of {mutant.program} ran, all skipped themselves")
    return Outcome(KILLED, first_failed(done.stdout, mutant.program)) if done.returncode != 0 else Outcome(SURVIVED)


def obstacle(folder, mutant):
    """Why the mutant cannot be applied, or nothing."""
    path = folder / mutant.file
    if not path.is_file():
        return f"cannot be applied: there is no {mutant.file}"
    count = path.read_text(encoding="utf-8").count(mutant.before)
    return f"cannot be applied: the text stands {count} times in {mutant.file}" if count != 1 else ""


class Applied:
    """A mutant in the copy, and the file as it was in the end."""

    def __init__(self, copy, mutant):
        self.path = copy.folder / mutant.file
        self.text, stat = self.path.read_text(encoding="utf-8"), self.path.stat()
        self.times = stat.st_atime_ns, stat.st_mtime_ns
        self.changed = self.text.replace(mutant.before, mutant.after)
        # Those that include it.
        self.tests = [copy.folder / file for file in record.test_files(TREE, mutant)
                      if mutant.file in TREE.closure([file]) and file != mutant.file]
        self.is_in_tests_alone = False

    def __enter__(self):
        self.path.write_text(self.changed, encoding="utf-8")
        return self

    def show_to_tests_alone(self):
        """Only they are compiled anew: for all others the file is as old as before."""
        self.is_in_tests_alone = True
        os.utime(self.path, ns=self.times)
        for test in self.tests:
            os.utime(test)

    def show_to_all(self):
        self.is_in_tests_alone = False
        os.utime(self.path)

    def __exit__(self, *_):
        self.path.write_text(self.text, encoding="utf-8")
        if self.is_in_tests_alone:
            self.show_to_tests_alone()


def built(copy, mutant, then, tests_first=False):
    """What `then` finds out in the copy with the mutant built; or that it cannot be applied or does not compile.

    `tests_first`: a header may be in all of the library. Tests that include it are compiled alone at first; what they
    notice of it in their own code is noticed."""
    if wrong := obstacle(copy.folder, mutant):
        return Outcome(wrong)
    with Applied(copy, mutant) as applied:
        if tests_first and applied.tests:
            applied.show_to_tests_alone()
            if copy.build(mutant.program).returncode == 0 and (found := then(copy, mutant)).what == KILLED:
                return found
            applied.show_to_all()
        made = copy.build(mutant.program)
        return then(copy, mutant) if made.returncode == 0 else Outcome(NOT_COMPILED, output=made.stdout)


class Result:
    """Counts outcomes, tells them, and keeps them on record."""

    def __init__(self, path):
        self.path = path
        self.killed = self.all = 0

    def add(self, mutant, come_from, outcome):
        self.all += 1
        self.killed += outcome.what == KILLED
        if outcome.what in (KILLED, SURVIVED, NOT_COMPILED):
            record.put(self.path, MUTANTS, {mutant.name: record.entry(mutant, come_from, outcome)})
        print(f"{mutant.name:45} {outcome}", flush=True)

    def status(self):
        print(f"{self.killed} of {self.all} mutants killed")
        return 0 if 0 < self.all == self.killed else 1


def is_wanted(mutant, arguments):
    if mutant.program.startswith("petsc/"):
        return arguments.petsc
    return arguments.gpu or not mutant.gpu


def keep_program(copy, name, folder):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(copy.program(name), folder / name)
    return Outcome("built")


def build_only(copy, chosen, folder, result):
    """Status 1 if a mutant could not be built."""
    origins, wrong = {m.name: record.origin(TREE, m) for m in chosen}, 0
    for program in dict.fromkeys(m.program for m in chosen):
        copy.build_unchanged(program)
        keep_program(copy, program, folder / "unchanged")
        for mutant in (m for m in chosen if m.program == program):
            found = built(copy, mutant, lambda c, m: keep_program(c, m.program, folder / m.name))
            if found.what == "built":
                (folder / mutant.name / "origin.json").write_text(json.dumps(origins[mutant.name]), encoding="utf-8")
                print(f"{mutant.name:45} built", flush=True)
            else:
                wrong += 1
                result.add(mutant, origins[mutant.name], found)
    return 1 if wrong else 0


def run_only(chosen, folder, result):
    for mutant in (m for m in chosen if (folder / m.name).is_dir()):
        if tested(mutant, folder / "unchanged" / mutant.program, folder).what != SURVIVED:
            found = Outcome("its test fails without it")
        else:
            found = tested(mutant, folder / mutant.name / mutant.program, folder)
        result.add(mutant, json.loads((folder / mutant.name / "origin.json").read_text(encoding="utf-8")), found)
    return result.status()


def run_here(copy, chosen, result):
    """One program after the other: each is built once before its mutants, and must pass then."""
    origins = {m.name: record.origin(TREE, m) for m in chosen}
    for program in dict.fromkeys(m.program for m in chosen):
        own = [m for m in chosen if m.program == program]
        copy.build_unchanged(program)
        for mutant in own:
            if copy.test(mutant).what != SURVIVED:
                raise SystemExit(f"{mutant.name}: its test fails without it")
        for mutant in own:
            result.add(mutant, origins[mutant.name], built(copy, mutant, Copy.test, tests_first=True))
    return result.status()


# Mounts an overlay of the folder over the folder, for the command behind it alone.
IN_OVERLAY = ["unshare", "--mount", "bash", "-c",
              'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" && shift 3 && exec "$@"', "bash"]


def run_in_overlay(group, copy):
    """What this program puts on record of some mutants, whose builds leave the copy as it is."""
    with tempfile.TemporaryDirectory(prefix="mutants-overlay-") as scratch:
        upper, work, own_record = (pathlib.Path(scratch, name) for name in ("upper", "work", "record.json"))
        upper.mkdir()
        work.mkdir()
        command = [*IN_OVERLAY, copy.folder, upper, work, sys.executable, "-B", __file__, "--preset", copy.preset,
                   "--copy", copy.folder, "--as-it-is", "--jobs", copy.jobs, "--record", own_record,
                   "--only", *(m.name for m in group)]
        done = subprocess.run(list(map(str, command)), check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        entries = record.load(own_record)
    print(done.stdout[-2000:] if done.returncode != 0 else "", end="", flush=True)
    return entries


def run_side_by_side(copy, chosen, shards, result):
    """Those of one program and file go together: for the second less has to be compiled."""
    origins = {m.name: record.origin(TREE, m) for m in chosen}
    for program in dict.fromkeys(m.program for m in chosen):
        copy.build_unchanged(program)
    together = {}
    for mutant in chosen:
        together.setdefault((mutant.program, mutant.file), []).append(mutant)
    groups = [group[at:at + 2] for group in together.values() for at in range(0, len(group), 2)]
    copy.jobs = max(1, copy.jobs // shards)
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        running = {pool.submit(run_in_overlay, group, copy): group for group in groups}
        for future in concurrent.futures.as_completed(running):
            for mutant in running[future]:
                found = future.result().get(mutant.name, {"outcome": "did not end"})
                result.add(mutant, origins[mutant.name], Outcome(found["outcome"], found.get("killed_by", "")))
    return result.status()


def check(path):
    """1 if a mutant cannot be applied, or is on record as it is now and was not killed."""
    wrong = [f"{m.name}: {obstacle(ROOT, m)}" for m in MUTANTS if obstacle(ROOT, m)]
    print("\n".join(wrong) if wrong else f"mutants: all {len(MUTANTS)} can be applied")
    survivors = record.check(path, MUTANTS, TREE, os.path.relpath(path, ROOT))
    return 1 if wrong or survivors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="names of mutants")
    parser.add_argument("--gpu", action="store_true", help="also those that need a GPU")
    parser.add_argument("--petsc", action="store_true", help="also those that need a GPU and a PETSc with CUDA")
    parser.add_argument("--build-only", type=pathlib.Path, metavar="FOLDER", help="build those that need a GPU")
    parser.add_argument("--run-only", type=pathlib.Path, metavar="FOLDER", help="run what was built there")
    parser.add_argument("--copy", type=pathlib.Path, metavar="FOLDER", help="where the copy lies, and stays")
    parser.add_argument("--as-it-is", action="store_true", help="that copy is configured, and has the tree")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--preset", choices=("host", "cuda"), help="cuda if a mutant needs a GPU, else host")
    parser.add_argument("--shards", type=int, default=1, help="so many mutants at a time, with a share of the jobs")
    parser.add_argument("--stale", action="store_true", help="only those whose outcome the record lacks")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", default=RECORD, help="in place of the tree's")
    parser.add_argument("--cmake", action="append", metavar="OPTION", default=[], help="another option for cmake")
    parser.add_argument("--list", action="store_true", help="name the mutants and do nothing")
    parser.add_argument("--check", action="store_true", help="say which mutants do not apply, and what is on record")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.record)
    unknown = set(arguments.only) - {mutant.name for mutant in MUTANTS}
    if unknown:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [m for m in MUTANTS if (m.name in arguments.only if arguments.only else is_wanted(m, arguments))]
    if arguments.build_only or arguments.run_only:
        arguments.gpu = True
        chosen = [m for m in MUTANTS
                  if m.gpu and (m.name in arguments.only if arguments.only else is_wanted(m, arguments))]
    if arguments.stale:
        killed = record.killed(arguments.record, MUTANTS, TREE)
        chosen = [m for m in chosen if m.name not in killed]
    if arguments.list:
        print("\n".join(f"{m.name:45} {m.file:45} {m.program} {m.test}{' (GPU)' if m.gpu else ''}" for m in chosen))
        return 0
    if arguments.stale and not chosen:
        print("nothing to run: all are on record as killed")
        return 0
    result = Result(arguments.record.resolve())
    if arguments.run_only:
        return run_only(chosen, arguments.run_only.resolve(), result)

    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder = (arguments.copy or pathlib.Path(scratch)).resolve()
        preset = arguments.preset or ("cuda" if any(m.gpu for m in chosen) else "host")
        copy = Copy(folder, preset, arguments.jobs, arguments.cmake)
        if not arguments.as_it_is:
            copy_tree(folder)
            copy.configure()
        if arguments.build_only:
            return build_only(copy, chosen, arguments.build_only.resolve(), result)
        if arguments.shards > 1:
            return run_side_by_side(copy, chosen, arguments.shards, result)
        return run_here(copy, chosen, result)


if __name__ == "__main__":
    sys.exit(main())
