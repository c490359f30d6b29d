#!/usr/bin/env python3
"""Draws the plots of the manual and of README.md from the records in benchmarks/results and benchmarks/given.

usage: plots.py [--check]

With --check nothing is written: a plot that differs from what its records give ends the run with status 1.
"""

import argparse
import csv
import io
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt  # noqa: E402, the backend comes first
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RECORDS = HERE.parent / "benchmarks"
H200 = RECORDS / "results" / "h200"

# Readable on white and on black; told apart by colour-blind eyes.
INK, GRID = "#7d7d7d", "#8a8a8a"
OURS, BLUE, GREEN, RED, PURPLE, BROWN = "#e07b00", "#2f86d1", "#1a9e76", "#d1495b", "#9068be", "#a3763f"

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "blockjacobi", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "sans-serif"], "font.size": 11, "axes.titlesize": 11, "legend.fontsize": 10,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "legend.frameon": False, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": GRID, "grid.alpha": 0.25,
    "grid.linewidth": 0.8, "lines.linewidth": 1.8, "figure.constrained_layout.use": True,
})


def table(path):
    """Rows of a .tsv as dictionaries; lines that begin with # are comments."""
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t"))


def records(name):
    document = json.loads((H200 / f"{name}.json").read_text(encoding="utf-8"))
    return document["records"], document["copy_gbps"]


def plain(value, _=None):
    """2, 0.5, 16 k, 2.1 M: no exponents on the ticks."""
    if value < 1000:
        return f"{value:g}"
    return f"{value / 1e3:.0f} k" if value < 1e6 else f"{value / 1e6:.2g} M"


def power_of_ten(value, _=None):
    exponent = round(math.log10(value))
    return "1" if exponent == 0 else f"1e{exponent}"


def log_ticks(axis, ticks, form=plain):
    axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(form))


def batched():
    """Share of the bandwidth of a copy that batched operations reach, over the order."""
    words = {"lu": lambda n: 2 * n * n, "inverse": lambda n: 2 * n * n, "cholesky": lambda n: n * (n + 1),
             "qr": lambda n: 2 * n * n + n}
    titles = {"lu": "LU, partial pivoting", "inverse": "inverse", "cholesky": "Cholesky", "qr": "QR (Householder)"}
    measured, copy = [], 0.0
    for name in ("batched", "blocked"):
        some, copy = records(name)
        measured += some
    given = table(RECORDS / "given" / "h200.tsv")
    figure, axes = plt.subplots(2, 2, figsize=(8.6, 6.2), sharex=True, sharey=True)
    for axis, operation in zip(axes.flat, words):
        series = {"blockjacobi": {}, "NVIDIA": {}, "MAGMA": {}}
        for r in measured:
            if r["operation"] == operation and r["scalar"] == "d" and r["batch"] > 1:
                name = "blockjacobi" if r["implementation"] == "blockjacobi" else "NVIDIA"
                share = 100 * r["fraction_of_copy"]
                series[name][r["n"]] = max(share, series[name].get(r["n"], 0.0))
        for r in given:
            if r["operation"] == operation and r["scalar"] == "d" and r["implementation"] == "magma":
                n, milliseconds = int(r["n"]), float(r["ms"])
                moved = 8 * words[operation](n) * int(r["batch"])
                series["MAGMA"][n] = 100 * moved / (milliseconds * 1e-3) / (copy * 1e9)
        for name, colour, marker in (("blockjacobi", OURS, "o"), ("NVIDIA", BLUE, "s"), ("MAGMA", GREEN, "^")):
            label = {"blockjacobi": "this library", "NVIDIA": "cuBLAS, cuSOLVER"}.get(name, name)
            # Above order 32 other kernels work on smaller batches: no line between the two.
            for part in (range(1, 33), range(33, 513)):
                points = sorted((n, share) for n, share in series[name].items() if n in part)
                axis.plot(*zip(*points), color=colour, marker=marker, markersize=4, label=label)
                label = None
        axis.set_xscale("log", base=2)
        log_ticks(axis.xaxis, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
        axis.set_title(titles[operation])
        axis.set_ylim(0, 104)
    for axis in axes[:, 0]:
        axis.set_ylabel("% of a copy's bandwidth")
    for axis in axes[1]:
        axis.set_xlabel("order N")
    axes[0, 1].legend(loc="upper right")
    return figure


def iteration():
    """Time of an iteration over the rows of a system."""
    measured, copy = records("solve")
    figure, axis = plt.subplots(figsize=(7.2, 4.4))
    solvers = (("bicgstab_iteration", "BiCGSTAB", PURPLE, "D"), ("gmres_iteration", "GMRES(30)", BLUE, "s"),
               ("cg_iteration", "CG", OURS, "o"))
    for operation, label, colour, marker in solvers:
        points = sorted((r["rows"], 1e3 * r["time_ms"], 1e-3 * r["bytes"] / copy) for r in measured
                        if r["operation"] == operation and r["implementation"] == "blockjacobi"
                        and r["matrix"].startswith("7-point") and r["storage"] == "full" and r["block"] == 8)
        if points:
            rows, times, floors = zip(*points)
            axis.plot(rows, times, color=colour, marker=marker, markersize=5, label=label)
            axis.plot(rows, floors, color=colour, linestyle=":")
    axis.plot([], [], color=INK, linestyle=":", label="bytes alone")
    axis.set_xscale("log")
    axis.set_yscale("log")
    log_ticks(axis.xaxis, [4096, 15625, 64000, 262144, 1000000, 2097152, 16777216])
    log_ticks(axis.yaxis, [1, 10, 100, 1000])
    axis.set_ylim(bottom=0.4)
    axis.set_xlabel("rows of the system")
    axis.set_ylabel("microseconds an iteration")
    axis.legend(loc="lower right")
    return figure


def convergence():
    """Residuals of CG with six choices of blocks."""
    series = {}
    for row in table(RECORDS / "results" / "convergence-host.tsv"):
        x, y, _ = series.setdefault(row["choice"], ([], [], row))
        x.append(int(row["iteration"]))
        y.append(float(row["residual"]))
    figure, axis = plt.subplots(figsize=(7.2, 4.4))
    for (name, (x, y, row)), colour in zip(series.items(), (INK, BLUE, GREEN, OURS, RED, PURPLE)):
        label = f"{name}: {x[-1]} iterations, {float(row['megabytes']):.1f} MB"
        axis.plot(x, y, color=colour, linewidth=1.4, label=label)
    axis.set_yscale("log")
    log_ticks(axis.yaxis, [10.0**-e for e in range(0, 9, 2)], power_of_ten)
    axis.axhline(1e-8, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xlim(left=0)
    axis.set_xlabel("iteration")
    axis.set_ylabel("‖r‖ / ‖b‖")
    axis.legend(loc="upper right")
    return figure


def best_solves():
    """System: (ms of this library, ms of Ginkgo or None), set-up and partition included, each with its best blocks."""
    ours, ginkgo = {}, {}
    for r in records("solve")[0]:
        # Blocks of 1, 8, 16, 32 rows at most as Ginkgo's; suggest() would be one choice more.
        choice = r["operation"] == "krylov_solve" and r["storage"] == "full" and r["partition"].isdigit()
        if choice and r["reason"] == "converged":
            ours[r["matrix"]] = min(r["time_ms"], ours.get(r["matrix"], math.inf))
    for r in table(RECORDS / "given" / "h200_solves.tsv"):
        if r["operation"] == "krylov_solve" and r["iterations"]:
            ginkgo[r["matrix"]] = min(float(r["setup_ms"]) + float(r["time_ms"]), ginkgo.get(r["matrix"], math.inf))
    return {name: (time, ginkgo.get(name)) for name, time in ours.items()}


def rows_of_dots(axis, names, series):
    """A line of each system from its smallest to its largest time, a dot a library."""
    for name in names:
        times = [times[name] for _, _, _, times in series if name in times]
        axis.plot([min(times), max(times)], [names.index(name)] * 2, color=GRID, alpha=0.5, linewidth=1.2, zorder=1)
    for label, colour, marker, times in series:
        axis.scatter(list(times.values()), [names.index(name) for name in times], color=colour, marker=marker, s=46,
                     label=label, zorder=2)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("milliseconds, set-up and solve")


def ginkgo():
    """Whole solves of real systems beside Ginkgo's."""
    solves = {name: times for name, times in best_solves().items() if times[1] is not None}
    names = sorted(solves, key=lambda name: solves[name][0])
    figure, axis = plt.subplots(figsize=(7.6, 4.2))
    rows_of_dots(axis, names, [("this library", OURS, "o", {name: solves[name][0] for name in names}),
                               ("Ginkgo", BLUE, "s", {name: solves[name][1] for name in names})])
    for position, name in enumerate(names):
        ours, theirs = solves[name]
        axis.text(theirs * 1.18, position, f"{theirs / ours:.1f} times", va="center", fontsize=10)
    log_ticks(axis.xaxis, [1, 10, 100, 1000], lambda value, _: f"{value:g}")
    axis.set_xlim(0.5, 3600)
    axis.legend(loc="upper right")
    return figure


def solvers():
    """Whole solves beside Ginkgo, a sparse direct solver and algebraic multigrid."""
    solves = best_solves()
    direct = {row["matrix"]: {key: float(value) for key, value in row.items() if key.endswith("_ms")}
              for row in table(RECORDS / "given" / "h200_cudss.tsv")}
    petsc = {row["preconditioner"]: {key: float(value) for key, value in row.items() if key.endswith("_ms")}
             for row in table(RECORDS / "given" / "h200_petsc.tsv")}
    stencil = {row["block"]: float(row["solve_ms"]) for row in table(RECORDS / "given" / "h200_stencil_solves.tsv")
               if row["matrix"] == "7-point 64^3" and row["block"] == "8"}
    names = sorted(direct, key=lambda name: solves[name][0])
    ours = {name: solves[name][0] for name in names}
    theirs = {name: solves[name][1] for name in names if solves[name][1] is not None}
    first = {name: direct[name]["analysis_ms"] + direct[name]["factor_ms"] + direct[name]["solve_ms"] for name in names}
    again = {name: direct[name]["refactor_ms"] + direct[name]["solve_ms"] for name in names}
    figure, (whole, alone) = plt.subplots(2, 1, figsize=(9.4, 5.2), height_ratios=(len(names), 1.6))
    rows_of_dots(whole, names, [
        ("this library", OURS, "o", ours), ("Ginkgo", BLUE, "s", theirs),
        ("cuDSS, first system of a pattern", RED, "^", first), ("cuDSS, new values", RED, "v", again)])
    # Of this grid there is no set-up of this library on record, so the others go without theirs too.
    grid = "7-point 64³"
    rows_of_dots(alone, [grid], [
        ("this library", OURS, "o", {grid: stencil["8"]}),
        ("PETSc, Jacobi", GREEN, "P", {grid: petsc["jacobi"]["solve_ms"]}),
        ("PETSc, GAMG", PURPLE, "D", {grid: petsc["gamg"]["solve_ms"]})])
    alone.set_xlabel("milliseconds, solve alone")
    for axis in (whole, alone):
        log_ticks(axis.xaxis, [1, 10, 100], lambda value, _: f"{value:g}")
        axis.set_xlim(0.5, 500)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def storage():
    """Time of a CG iteration with every storage of the inverses."""
    names = ["full", "packed", "fp32", "bf16", "fp16", "adaptive"]
    times = {r["storage"]: 1e3 * r["time_ms"] for r in records("solve")[0]
             if r["operation"] == "cg_iteration" and r["implementation"] == "blockjacobi"
             and r["matrix"] == "7-point 128^3" and r["block"] == 32}
    figure, axis = plt.subplots(figsize=(6.4, 2.9))
    bars = axis.barh(names, [times[name] for name in names], color=[OURS] + [BLUE] * (len(names) - 1), height=0.6)
    axis.bar_label(bars, fmt="%.0f", padding=4, color=INK)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("microseconds an iteration")
    return figure


PLOTS = {"batched": batched, "iteration": iteration, "convergence": convergence, "ginkgo": ginkgo, "solvers": solvers,
         "storage": storage}


def svg(draw):
    figure = draw()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for name, draw in PLOTS.items():
        path, text = HERE / "plots" / f"{name}.svg", svg(draw)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"plots.py: {', '.join(stale)} are not what the records give; run docs/plots.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
