"""What suggest() knows of solves from experience: results/experience-host.md.

With --solve the systems of the folders in BLOCKJACOBI_MATRICES (separated by colons) are solved on one thread of the
host, with each choice of blocks for 6 seconds and 5000 iterations at most, and the reports kept in FOLDER; those that
are there are not made again. The table is made of the reports: constants of src/suggest, and how far predictions by
them are from what came.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess

from tables import solve_program

CHOICES = {
    "scalar": ["uniform", "1"],
    "detect32": ["detect", "32"],
    "clusters32": ["clusters", "32"],
    "clusters128": ["clusters", "128"],
    "scalarones": ["uniform", "1", "--coarse", "ones"],
    "clusters32ones": ["clusters", "32", "--coarse", "ones"],
    "clusters32relaxed": ["clusters", "32", "--coarse", "relaxed:4"],
}
# With slowdowns of their own in src/suggest/probe.cpp.
KINDS = {
    "blocks of rows that stay": ("scalar", "detect32"),
    "clusters": ("clusters32", "clusters128"),
    "a coarse level of ones": ("scalarones", "clusters32ones"),
    "a coarse level of relaxed vectors": ("clusters32relaxed",),
}
SLOWDOWN = dict(zip(KINDS, (18.0, 14.0, 10.0, 5.0)))
PROBE_LENGTH, MOST, RTOL, NEVER = 0.01, 300, 1e-8, 5000


def solve_all(options):
    """A report for each system and choice, unless it takes too long to be made."""
    matrices = [m for folder in os.environ["BLOCKJACOBI_MATRICES"].split(":")
                for m in sorted(pathlib.Path(folder).glob("*.mtx.gz"), key=lambda m: m.stat().st_size)]
    for matrix in matrices:
        for choice, (blocks, size, *coarse) in CHOICES.items():
            report = options.reports / f"{matrix.name.removesuffix('.mtx.gz')}.{choice}.json"
            if report.exists():
                continue
            command = [options.build / "examples" / "blockjacobi-solve", matrix, "--backend", "host", "--threads", "1",
                       "--blocks", blocks, "--block-size", size, *coarse, "--singular", "scalar_jacobi",
                       "--max-seconds", "6", "--max-iterations", str(NEVER), "--json", report]
            try:
                subprocess.run(command, check=False, capture_output=True, timeout=30)
            except subprocess.TimeoutExpired:
                print(f"{report.name}: not within 30 s")


class Solve:
    """One solve: iterations, and the smallest residual after each, against that of the start."""

    def __init__(self, report):
        self.converged = report["reason"] == "converged"
        self.iterations = report["iterations"] if self.converged else max(NEVER, report["iterations"])
        self.cg = report["solver"] == "cg"
        self.captured = report["blocks"]["captured"]
        start, smallest = report["history"][0], 1.0
        self.reductions = [smallest := min(smallest, r / start) for r in report["history"]] if start > 0 else [1.0]

    def depth(self, k):
        reduction = self.reductions[k]
        return 0.0 if reduction >= 0.999 else min(1.0, math.log(reduction) / math.log(RTOL))

    def predicted(self, k, slowdown):
        t = self.depth(k)
        return k / t * slowdown ** (1 - t) if t > 0 else math.inf

    def probe(self, slowdown):
        """Iterations of a probe that has room for all; None if they gained nothing."""
        last = min(MOST, len(self.reductions) - 1)
        ends = (k for k in range(1, last) if k >= PROBE_LENGTH * self.predicted(k, slowdown))
        k = next(ends, last)
        return k if self.depth(k) > 0 else None


def read(folder):
    solves = {}
    for path in sorted(folder.glob("*.*.json")):
        name, choice = path.name.removesuffix(".json").rsplit(".", 1)
        report = json.loads(path.read_text(encoding="utf-8"))
        if choice in CHOICES and len(report.get("history", [])) > 1:
            solves.setdefault(name, {})[choice] = Solve(report)
    return solves


def root_mean_square(values):
    return math.sqrt(statistics.fmean(v * v for v in values))


def kind_line(solves, kind):
    all_solves = [own[c] for own in solves.values() for c in KINDS[kind] if c in own]
    probes = [(s, k) for s in all_solves if (k := s.probe(SLOWDOWN[kind])) is not None]

    def errors(slowdown, of):
        return [math.log(s.predicted(k, slowdown) / s.iterations) for s, k in of]

    converged = [(s, k) for s, k in probes if s.converged and s.iterations >= 15]
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if statistics.fmean(errors(middle, converged)) > 0 else (middle, high)
    return (f"| {kind} | {len(all_solves)} | {sum(s.converged for s in all_solves)} | {low:.0f} | {SLOWDOWN[kind]:.0f} | "
            f"{math.exp(root_mean_square(errors(SLOWDOWN[kind], converged))):.1f} | "
            f"{100 * statistics.fmean(k / s.iterations for s, k in converged):.1f} % |")


def power_line(solves, cg):
    ratios, systems, converged = [], 0, 0
    for own in solves.values():
        scalar = own.get("scalar")
        if scalar is None or scalar.cg != cg:
            continue
        systems += 1
        converged += scalar.converged
        if scalar.iterations <= 25:
            continue
        for choice in ("detect32", "clusters32", "clusters128"):
            if choice in own and own[choice].converged and own[choice].captured > 0.02:
                left = max(1e-3, 1 - own[choice].captured)
                ratios.append(math.log(own[choice].iterations / scalar.iterations) / math.log(left))
    return f"| {'cg' if cg else 'gmres(30)'} | {systems} | {converged} | {len(ratios)} | {statistics.median(ratios):.2f} | {0.6 if cg else 0.85} |"


def main(words):
    parser = argparse.ArgumentParser(prog="run.py experience", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=pathlib.Path, required=True)
    parser.add_argument("--solve", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=solve_program.BENCHMARKS.parent / "build" / "host", help="build folder")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS / "experience-host.md")
    options = parser.parse_args(words)
    if options.solve:
        options.reports.mkdir(parents=True, exist_ok=True)
        solve_all(options)
    solves = read(options.reports)
    lines = [
        "# What suggest() knows from experience", "",
        f"Written by `run.py experience` from solves of {len(solves)} systems on the host, to a relative residual of 1e-8: cg "
        "for systems whose file says symmetric, else gmres(30); those that did not converge within 5000 iterations or 6 "
        "seconds count as 5000 iterations, or as those that they took if these are more.", "",
        "A probe ends after a hundredth of the iterations that it predicts. *Slowdown*: the one with which its "
        "predictions are right in the geometric mean, over solves of 15 iterations or more that converged; beside it "
        "what src/suggest/probe.cpp takes. *Off by*: factor between prediction and what came, root mean square of its "
        "logarithm. *Probe*: its iterations over those of the solve, mean.", "",
        "| with | solves | converged | slowdown | taken | off by | probe |",
        "| --- | --: | --: | --: | --: | --: | --: |",
        *[kind_line(solves, kind) for kind in KINDS], "",
        "Iterations with blocks over those of scalar Jacobi, as a power of the weight that the blocks leave outside; "
        "blocks that converge, where scalar Jacobi takes more than 25 iterations.", "",
        "| solver | systems | scalar Jacobi converges | choices of blocks | power, median | taken |",
        "| --- | --: | --: | --: | --: | --: |",
        power_line(solves, True), power_line(solves, False)]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")

