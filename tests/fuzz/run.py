#!/usr/bin/env python3
"""Runs the fuzzers, two at a time where there are cores, each for its share of the seconds, and says what they found.

  run.py BUILD_DIR [--seconds 60] [--jobs 2] [--only NAME]

The seconds are those of all together: an hour for each of seven is --seconds 25200. Each begins with the seeds in
seeds/NAME, or those of choices.py, and with what earlier runs left in BUILD_DIR/corpus/NAME. A finding stays in
BUILD_DIR/findings, and the program takes it as its only argument to repeat it. The exit status is 1 if there is any."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import choices  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
NAMES = sorted(source.name.removesuffix("_fuzz.cpp") for source in FOLDER.glob("*_fuzz.cpp"))
MORE_SEEDS = {"matrix_market": [FOLDER.parent.parent / "matrices/small"]}
LONGEST = {"c_api": 512, "partition": 1024}


def run(build, name, seconds):
    """None, or the text of a finding."""
    corpus = build / "corpus" / name
    findings = build / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    chosen = build / "seeds" / name
    choices.write(name, chosen)
    seeds = [folder for folder in (FOLDER / "seeds" / name, chosen, *MORE_SEEDS.get(name, [])) if folder.is_dir()]
    dictionary = FOLDER / f"{name}.dict"
    command = [build / "tests/fuzz" / f"fuzz_{name}", corpus, *seeds, f"-max_total_time={seconds}",
               f"-max_len={LONGEST.get(name, 4096)}", "-timeout=20", "-rss_limit_mb=3072", "-close_fd_mask=1",
               "-print_final_stats=1", f"-artifact_prefix={findings}/{name}-"]
    if dictionary.is_file():
        command.append(f"-dict={dictionary}")
    environment = dict(os.environ, OMP_NUM_THREADS="1", ASAN_OPTIONS="detect_leaks=1:" + os.environ.get("ASAN_OPTIONS", ""),
                       UBSAN_OPTIONS="print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""))
    result = subprocess.run(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    text = result.stderr.decode(errors="replace")
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", text))
    covered = re.findall(r"cov: (\d+)", text)
    print(f"fuzz: {name}: {stats.get('number_of_executed_units', '?')} runs in {seconds} s, "
          f"{covered[-1] if covered else '?'} edges", flush=True)
    return None if result.returncode == 0 else text[-6000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    # why two: each may take 3 GB
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--only", choices=NAMES)
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else NAMES
    share = max(1, arguments.seconds // len(names))
    failed = False
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        findings = pool.map(lambda name: run(arguments.build.resolve(), name, share), names)
        for name, finding in zip(names, findings):
            if finding:
                failed = True
                print(f"{finding}\nfuzz: {name}: FINDING, see {arguments.build}/findings", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
