"""How accurate inverses are on the host, next to LAPACK's: results/accuracy-host.md, all of which the program prints."""

import argparse
import pathlib
import subprocess

from tables import solve_program


def main(words):
    parser = argparse.ArgumentParser(prog="run.py accuracy-host", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=solve_program.BENCHMARKS.parent / "build" / "host", help="build folder")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS / "accuracy-host.md")
    options = parser.parse_args(words)
    answer = subprocess.run([options.build / "benchmarks" / "accuracy"], check=True, stdout=subprocess.PIPE, text=True)
    options.output.write_text(answer.stdout, encoding="utf-8")
