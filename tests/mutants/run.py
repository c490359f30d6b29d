#!/usr/bin/env python3
"""Applies the mutants of mutants.py one at a time to a copy of the tree, and expects the test of each to fail.

    tests/mutants/run.py                    every mutant that needs no GPU
    tests/mutants/run.py --only NAME ...    these
    tests/mutants/run.py --gpu              those that need a GPU, too; configures the preset cuda
    tests/mutants/run.py --petsc            and those that need a GPU and a PETSc with CUDA, which PKG_CONFIG_PATH names
    tests/mutants/run.py --build-only FOLDER    builds the programs of those that need a GPU, each into a folder of its
                                                name there, and what they are without a mutant; runs nothing
    tests/mutants/run.py --run-only FOLDER  runs what lies there, on a machine that may have no compiler
    tests/mutants/run.py --shards N         N mutants at a time, each in an overlay of the built copy: on Linux, as root
    tests/mutants/run.py --list
    tests/mutants/run.py --check            whether all can still be applied; changes and builds nothing

The copy is built once, and the tests that mutants name must pass there before anything is changed; then only what a
mutant touches is compiled anew. --copy FOLDER keeps the copy and its build for the next time. Status 1 if a mutant
survived, could not be applied or did not compile.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mutants import MUTANTS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_TEST_SECONDS = 600


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
    def __init__(self, folder, preset, jobs):
        self.folder = folder
        self.preset = preset
        self.jobs = jobs

    def run(self, *command, quiet=True, timeout=None):
        return subprocess.run(command, cwd=self.folder, check=False, timeout=timeout, text=True,
                              stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None)

    def configure(self):
        self.run("cmake", "--preset", self.preset, quiet=False).check_returncode()

    def build(self, program):
        return self.run("cmake", "--build", "--preset", self.preset, f"-j{self.jobs}", "--target",
                        pathlib.PurePath(program).name)

    def program(self, name):
        return self.folder / "build" / self.preset / "tests" / name

    def test(self, mutant):
        return tested(mutant, self.program(mutant.program), self.folder)


def tested(mutant, program, folder):
    """0 if the test passes; a test that ran no case is no test."""
    command = [str(program)] + ([f"--gtest_filter={mutant.test}"] if mutant.test else [])
    backend = {"BLOCKJACOBI_TEST_BACKEND": "cuda"} if mutant.gpu else {}
    try:
        done = subprocess.run(command, cwd=folder, check=False, timeout=LONGEST_TEST_SECONDS, text=True,
                              env={**os.environ, **backend}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return 1
    if mutant.test and "[==========] Running 0 tests" in done.stdout:
        raise SystemExit(f"{mutant.name}: {mutant.program} has no test '{mutant.test}'")
    if mutant.gpu and done.returncode == 0 and "[       OK ]" not in done.stdout:
        raise SystemExit(f"{mutant.name}: no test of {mutant.program} ran, all skipped themselves")
    return done.returncode


def obstacle(folder, mutant):
    """Why the mutant cannot be applied, or nothing."""
    path = folder / mutant.file
    if not path.is_file():
        return f"cannot be applied: there is no {mutant.file}"
    count = path.read_text(encoding="utf-8").count(mutant.before)
    return f"cannot be applied: the text stands {count} times in {mutant.file}" if count != 1 else ""


def verdict(copy, mutant):
    return "killed" if copy.test(mutant) != 0 else "SURVIVED"


def outcome(copy, mutant, judge=verdict):
    """What `judge` says of the built mutant, 'killed' or 'SURVIVED'; or what is wrong before that."""
    path = copy.folder / mutant.file
    if wrong := obstacle(copy.folder, mutant):
        return wrong
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        built = copy.build(mutant.program)
        if built.returncode != 0:
            return "does not compile:\n" + built.stdout[-2000:]
        return judge(copy, mutant)
    finally:
        path.write_text(text, encoding="utf-8")


def is_wanted(mutant, arguments):
    if mutant.program.startswith("petsc/"):
        return arguments.petsc
    return arguments.gpu or not mutant.gpu


def keep_program(copy, name, folder):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(copy.program(name), folder / name)
    return "built"


def build_only(copy, chosen, folder):
    """The number of mutants that could not be built."""
    wrong = 0
    for program in dict.fromkeys(m.program for m in chosen):
        built = copy.build(program)
        if built.returncode != 0:
            raise SystemExit(built.stdout[-4000:])
        keep_program(copy, program, folder / "unchanged")
        for mutant in (m for m in chosen if m.program == program):
            found = outcome(copy, mutant, lambda c, m: keep_program(c, m.program, folder / m.name))
            wrong += found != "built"
            print(f"{mutant.name:45} {found}", flush=True)
    return wrong


def run_only(chosen, folder):
    """The number of mutants that were not killed, of those that were built."""
    survivors = 0
    chosen = [m for m in chosen if (folder / m.name).is_dir()]
    for mutant in chosen:
        if tested(mutant, folder / "unchanged" / mutant.program, folder) != 0:
            found = "its test fails without it"
        else:
            found = "killed" if tested(mutant, folder / mutant.name / mutant.program, folder) != 0 else "SURVIVED"
        survivors += found != "killed"
        print(f"{mutant.name:45} {found}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return survivors if chosen else 1


# Mounts an overlay of the folder over the folder, for the command behind it alone.
IN_OVERLAY = ["unshare", "--mount", "bash", "-c",
              'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" && shift 3 && exec "$@"', "bash"]


def run_in_overlay(group, copy):
    """What this program says of some mutants, whose builds leave the copy as it is."""
    with tempfile.TemporaryDirectory(prefix="mutants-overlay-") as scratch:
        upper, work = pathlib.Path(scratch, "upper"), pathlib.Path(scratch, "work")
        upper.mkdir()
        work.mkdir()
        command = [*IN_OVERLAY, copy.folder, upper, work, sys.executable, "-B", __file__, "--preset", copy.preset,
                   "--copy", copy.folder, "--jobs", copy.jobs, "--only", *(m.name for m in group)]
        done = subprocess.run(list(map(str, command)), check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    print(done.stdout[-2000:] if done.returncode != 0 else "", end="", flush=True)
    return done.stdout.splitlines()


def run_side_by_side(copy, chosen, shards):
    """The number of mutants that were not killed. Those of one program and file go together: for the second less has to
    be compiled."""
    for program in dict.fromkeys(m.program for m in chosen):
        if (built := copy.build(program)).returncode != 0:
            raise SystemExit(built.stdout[-4000:])
    together = {}
    for mutant in chosen:
        together.setdefault((mutant.program, mutant.file), []).append(mutant)
    groups = [group[at:at + 2] for group in together.values() for at in range(0, len(group), 2)]
    copy.jobs = max(1, copy.jobs // shards)
    killed = 0
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        for group, lines in zip(groups, pool.map(lambda group: run_in_overlay(group, copy), groups)):
            for mutant in group:
                found = next((line for line in lines if line.startswith(f"{mutant.name} ")),
                             f"{mutant.name} did not end")
                killed += found.split()[-1] == "killed"
                print(found, flush=True)
    print(f"{killed} of {len(chosen)} mutants killed")
    return len(chosen) - killed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="names of mutants")
    parser.add_argument("--gpu", action="store_true", help="also those that need a GPU")
    parser.add_argument("--petsc", action="store_true", help="also those that need a GPU and a PETSc with CUDA")
    parser.add_argument("--build-only", type=pathlib.Path, metavar="FOLDER", help="build those that need a GPU")
    parser.add_argument("--run-only", type=pathlib.Path, metavar="FOLDER", help="run what was built there")
    parser.add_argument("--copy", type=pathlib.Path, metavar="FOLDER", help="where the copy lies, and stays")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--preset", choices=("host", "cuda"), help="cuda if a mutant needs a GPU, else host")
    parser.add_argument("--shards", type=int, default=1, help="so many mutants at a time, with a share of the jobs")
    parser.add_argument("--list", action="store_true", help="name the mutants and do nothing")
    parser.add_argument("--check", action="store_true", help="say which mutants no longer apply")
    arguments = parser.parse_args()
    if arguments.check:
        wrong = [f"{m.name}: {obstacle(ROOT, m)}" for m in MUTANTS if obstacle(ROOT, m)]
        print("\n".join(wrong) if wrong else f"mutants: all {len(MUTANTS)} can be applied")
        return 1 if wrong else 0
    unknown = set(arguments.only) - {mutant.name for mutant in MUTANTS}
    if unknown:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [m for m in MUTANTS if (m.name in arguments.only if arguments.only else is_wanted(m, arguments))]
    if arguments.build_only or arguments.run_only:
        arguments.gpu = True
        chosen = [m for m in MUTANTS
                  if m.gpu and (m.name in arguments.only if arguments.only else is_wanted(m, arguments))]
    if arguments.run_only:
        return 1 if run_only(chosen, arguments.run_only.resolve()) else 0
    if arguments.list:
        print("\n".join(f"{m.name:45} {m.file:45} {m.program} {m.test}{' (GPU)' if m.gpu else ''}" for m in chosen))
        return 0

    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder = (arguments.copy or pathlib.Path(scratch)).resolve()
        copy_tree(folder)
        preset = arguments.preset or ("cuda" if any(m.gpu for m in chosen) else "host")
        copy = Copy(folder, preset, arguments.jobs)
        copy.configure()
        if arguments.build_only:
            return 1 if build_only(copy, chosen, arguments.build_only.resolve()) else 0
        if arguments.shards > 1:
            return 1 if run_side_by_side(copy, chosen, arguments.shards) else 0
        survivors = 0
        # One program after the other: each is built once before its mutants, and must pass then.
        for program in dict.fromkeys(m.program for m in chosen):
            own = [m for m in chosen if m.program == program]
            built = copy.build(program)
            if built.returncode != 0:
                raise SystemExit(built.stdout[-4000:])
            for mutant in own:
                if copy.test(mutant) != 0:
                    raise SystemExit(f"{mutant.name}: its test fails without it")
            for mutant in own:
                found = outcome(copy, mutant)
                survivors += found != "killed"
                print(f"{mutant.name:45} {found}", flush=True)
        print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
        return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
