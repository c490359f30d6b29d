"""Whole solves of real systems with blockjacobi-solve on the host, as one table.

BLOCKJACOBI_MATRICES names the folder of NAME.mtx.gz.

The systems are those of the given solves (given/h200_solves.tsv) and heart_bidomain, with b = A * ones and a relative
residual of 1e-8. For scalar Jacobi, detected blocks of up to 8, 16, 32 rows and those of suggest: iterations, partition
and set-up and solve in ms (the median of the runs by their sum), and the largest true residual. Counts are compared
with the given ones on the same blocks, in the bands of iterations.py. Ends with 1 if one is outside.
"""

import argparse
import os
import pathlib

from tables import iterations, solve, solve_program

BLOCKS = {
    "1": ["--blocks", "uniform", "--block-size", "1"],
    "8": ["--blocks", "detect", "--block-size", "8"],
    "16": ["--blocks", "detect", "--block-size", "16"],
    "32": ["--blocks", "detect", "--block-size", "32"],
    "suggest": ["--blocks", "suggest", "--coarse", "none"],
}
MAX_ITERATIONS = 20000


def run(options, matrix, solver, choice):
    return solve_program.report_of(
        options.program, options.matrices / f"{matrix}.mtx.gz", "--solver", solver, *BLOCKS[choice], "--rhs", "ones",
        "--max-iterations", MAX_ITERATIONS, "--backend", "host", "--threads", options.threads)  # fmt: skip


def setup_ms(report):
    return report["blocks"]["partition_ms"] + report["setup_ms"]


def median_run(options, matrix, solver, choice):
    """The median by time; one run where a solve takes seconds."""
    runs = [run(options, matrix, solver, choice)]
    if runs[0]["solve_ms"] < 2000:
        runs += [run(options, matrix, solver, choice) for _ in range(options.repetitions - 1)]
    return sorted(runs, key=lambda r: setup_ms(r) + r["solve_ms"])[len(runs) // 2]


def row(options, matrix, solver, given):
    """The row, and how many counts are outside."""
    cells, outside, residual, best = [], 0, 0.0, None
    for choice in BLOCKS:
        report = median_run(options, matrix, solver, choice)
        if report["reason"] != "converged":
            cells.append(report["reason"])
            continue
        cell = f"{report['iterations']} / {setup_ms(report):.1f} + {report['solve_ms']:.1f}"
        peer = given.get(("krylov_solve", matrix, solver, choice))
        if peer and peer["iterations"]:
            fewest, most = iterations.band(int(peer["iterations"]), solver)
            if not fewest <= report["iterations"] <= most:
                cell += f" **outside {fewest}..{most}**"
                outside += 1
        residual = max(residual, report["relative_residual"])
        total = setup_ms(report) + report["solve_ms"]
        best = min(total, best or total)
        cells.append(cell)
    return f"| {matrix} | {solver} | {' | '.join(cells)} | {best:.1f} | {residual:.2e} |", outside


def main(words):
    parser = argparse.ArgumentParser(prog="run.py solve-host", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=solve_program.PROGRAM)
    parser.add_argument("--given", type=pathlib.Path, default=solve.GIVEN)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", action="append", help="this system only; may be repeated")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS / "solve-host.md")
    options = parser.parse_args(words)
    if not os.environ.get("BLOCKJACOBI_MATRICES"):
        parser.error("BLOCKJACOBI_MATRICES does not name the folder of matrices")
    options.matrices = pathlib.Path(os.environ["BLOCKJACOBI_MATRICES"])

    given = solve.read_given(options.given)
    systems = dict.fromkeys((matrix, solver) for operation, matrix, solver, _ in given if operation == "krylov_solve")
    systems[("heart_bidomain", "cg")] = None
    systems = [s for s in systems if not options.only or s[0] in options.only]
    lines = ["# Whole solves on the host", "",
             f"Written by `run.py solve-host`; {options.threads} threads, b = A * ones, relative residual 1e-8, "
             f"at most {MAX_ITERATIONS} iterations. Cells: iterations / partition and set-up + solve in ms.", "",
             f"| system | solver | {' | '.join(BLOCKS)} | best, ms | largest true residual |",
             "| --- | --- |" + " --- |" * (len(BLOCKS) + 2)]  # fmt: skip
    outside = 0
    for matrix, solver in systems:
        line, missed = row(options, matrix, solver, given)
        print(line, flush=True)
        lines.append(line)
        outside += missed
    lines += ["", f"{outside} counts outside their bands."]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if outside else 0
