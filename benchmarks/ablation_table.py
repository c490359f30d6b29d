#!/usr/bin/env python3
"""The design variants of tiny LU and inversion out of a record of `ablation_getrf`, beside the findings of the paper
that they are from (A. Abdelfattah, A. Haidar, S. Tomov, J. Dongarra, 2017; P100, 1 000 000 matrices).

usage: ablation_table.py RECORD.json [--output TABLE.md] [--plot PLOT.svg]

A finding is a factor between the times of two designs, one row for each scalar. Where both designs take any number of
matrices a thread block, the best of each counts, unless the row says otherwise. The verdict is on the orders that the
finding speaks of: `confirmed` where the factor reaches the paper's (within 5 %), or is a gain at all where the paper
has no number; `weaker` where it is a gain, but less. A gain is more than 5 %. Rows that answer no finding have none.
The plot needs matplotlib.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import statistics
import sys

import record_head

NAMES = {"s": "single", "d": "double"}
DESIGNS = {
    "2d_shared_eager": "2D, shared, eager",
    "2d_shared_lazy": "2D, shared, lazy",
    "1d_shared_eager_serial_search": "1D, shared, eager, serial search",
    "1d_shared_eager": "1D, shared, eager",
    "1d_shared_lazy": "1D, shared, lazy",
    "1d_registers_eager": "1D, registers, eager",
    "1d_registers_lazy": "1D, registers, lazy",
    "separate": "LU, interchange, two solves: 4 launches",
    "fused": "fused: 1 launch",
    "blockjacobi": "this library",
}
# What a factor must exceed to count as a gain at all, and how far below the paper's it may be.
GAIN, TOLERANCE = 1.05, 0.95


class Record:
    """Times by operation, scalar, order and design, for every number of matrices a thread block."""

    def __init__(self, records):
        self.times = collections.defaultdict(dict)
        self.percent = {}
        for r in records:
            key = r["operation"], r["scalar"], r["n"], r["implementation"]
            self.times[key][r.get("matrices_per_block", 0)] = r["time_ms"]
            self.percent[(*key, r.get("matrices_per_block", 0))] = 100 * r["fraction_of_copy"]
        self.scalars = [s for s in "sd" if any(key[1] == s for key in self.times)]
        self.orders = sorted({key[2] for key in self.times})

    def time(self, operation, scalar, n, design, matrices=None):
        """Of the best number of matrices without one; None where it was not measured."""
        times = self.times.get((operation, scalar, n, design), {})
        return times.get(matrices) if matrices is not None else min(times.values(), default=None)

    def best(self, operation, scalar, n, design):
        """(matrices a thread block, percent of copy)."""
        times = self.times.get((operation, scalar, n, design))
        if not times:
            return None
        matrices = min(times, key=times.get)
        return matrices, self.percent[operation, scalar, n, design, matrices]


@dataclasses.dataclass
class Finding:
    number: str
    text: str
    paper: str
    operation: str
    slow: tuple  # design, and the number of matrices a thread block if not the best
    fast: tuple
    least: dict  # scalar: the paper's factor
    orders: tuple = (1, 32)  # that it speaks of
    claim: str = "gain"  # none: the paper finds that there is no gain; "": not from the paper


FINDINGS = [
    Finding("1.2", "1D against 2D threads, as the paper: shared, eager, one matrix a thread block",
            "6 (s), 4 (d) or more", "lu", ("2d_shared_eager", 1), ("1d_shared_eager_serial_search", 1),
            {"s": 6, "d": 4}),
    Finding("1.2", "1D against 2D threads, shared, lazy, best number of matrices", "-",
            "lu", ("2d_shared_lazy", None), ("1d_shared_lazy", None), {}, claim=""),
    Finding("1.3", "registers against shared memory, as the paper: 1D, eager, one matrix a thread block",
            "1.6 (s), 1.7 (d) at the large end", "lu", ("1d_shared_eager_serial_search", 1), ("1d_registers_eager", 1),
            {"s": 1.6, "d": 1.7}, (24, 32)),
    Finding("1.3", "registers against shared memory, 1D, lazy, same search, best number of matrices", "-",
            "lu", ("1d_shared_lazy", None), ("1d_registers_lazy", None), {}, claim=""),
    Finding("1.3", "butterfly against serial search, 1D, shared, eager, best number of matrices", "-",
            "lu", ("1d_shared_eager_serial_search", None), ("1d_shared_eager", None), {}, claim=""),
    Finding("1.4", "best of 1..16 matrices a thread block against one, registers, eager, N <= 16", "2 to 3",
            "lu", ("1d_registers_eager", 1), ("1d_registers_eager", None), {"s": 2, "d": 2}, (1, 16)),
    Finding("1.4", "the same, N >= 17", "none", "lu", ("1d_registers_eager", 1), ("1d_registers_eager", None), {},
            (17, 32), "none"),
    Finding("1.5", "lazy against eager swap, 1D, registers, best number of matrices", "a gain, without a number",
            "lu", ("1d_registers_eager", None), ("1d_registers_lazy", None), {}),
    Finding("1.5", "lazy against eager swap, 1D, shared memory, best number of matrices", "-",
            "lu", ("1d_shared_eager", None), ("1d_shared_lazy", None), {}, claim=""),
    Finding("1.6", "inversion in one launch against four, best number of matrices", "a gain, without a number",
            "inverse", ("separate", None), ("fused", None), {}),
    Finding("", "this library against the paper's last LU: 1D, registers, lazy, best number of matrices", "-",
            "lu", ("1d_registers_lazy", None), ("blockjacobi", None), {}, claim=""),
    Finding("", "this library against the paper's fused inversion, best number of matrices", "-",
            "inverse", ("fused", None), ("blockjacobi", None), {}, claim=""),
]


def factors(record, finding, scalar):
    """{order: factor} at the orders that the finding speaks of."""
    found = {}
    for n in record.orders:
        slow = record.time(finding.operation, scalar, n, *finding.slow)
        fast = record.time(finding.operation, scalar, n, *finding.fast)
        if slow and fast and finding.orders[0] <= n <= finding.orders[1]:
            found[n] = slow / fast
    return found


def orders_in_words(orders, among):
    """`N = ...`, or a range of the orders among which they are."""
    if orders == among:
        return "all N"
    if len(orders) > 2 and orders == among[-len(orders):]:
        return f"N >= {orders[0]}"
    if len(orders) > 2 and orders == among[:len(orders)]:
        return f"N <= {orders[-1]}"
    return "N = " + ", ".join(map(str, orders))


def verdict(finding, scalar, found):
    among = list(found)
    gains = [n for n, f in found.items() if f > GAIN]
    if finding.claim == "":
        return ""
    if finding.claim == "none":
        return "confirmed" if not gains else "a gain at " + orders_in_words(gains, among)
    reached = [n for n in gains if found[n] >= TOLERANCE * finding.least.get(scalar, 0)]
    weaker = [n for n in gains if n not in reached]
    words = [f"{word} at {orders_in_words(orders, among)}"
             for word, orders in (("confirmed", reached), ("weaker", weaker)) if orders]
    if len(gains) < len(found):
        words.append("no gain at " + orders_in_words([n for n in among if n not in gains], among))
    return "; ".join(words).replace(" at all N", "")


def markdown_row(cells):
    return "| " + " | ".join(cells) + " |"


def findings_table(record):
    orders = [f"N={n}" for n in record.orders]
    lines = [markdown_row(["item", "factor between", "paper", "", *orders, "mean", "verdict"]),
             markdown_row(["---"] * 4 + ["--:"] * (len(record.orders) + 1) + ["---"])]
    for finding in FINDINGS:
        for scalar in record.scalars:
            found = factors(record, finding, scalar)
            if not found:
                continue
            lines.append(markdown_row(
                [finding.number, finding.text, finding.paper, scalar,
                 *(f"{found[n]:.2f}" if n in found else "" for n in record.orders),
                 f"{statistics.geometric_mean(found.values()):.2f}", verdict(finding, scalar, found)]))
    return lines


def designs_table(record, operation, scalar):
    lines = [markdown_row([f"{operation}, {scalar}", *(f"N={n}" for n in record.orders)]),
             markdown_row(["---"] + ["--:"] * len(record.orders))]
    for design, name in DESIGNS.items():
        cells = []
        for n in record.orders:
            best = record.best(operation, scalar, n, design)
            cells.append("" if best is None else f"{best[1]:.1f}" + (f" ({best[0]})" if best[0] else ""))
        if any(cells):
            lines.append(markdown_row([name, *cells]))
    return lines


def sweep_table(record, scalar, design):
    counts = sorted({m for key, times in record.times.items() if key[3] == design for m in times})
    lines = [markdown_row([f"{DESIGNS[design]}, {scalar}", *map(str, counts)]),
             markdown_row(["---"] + ["--:"] * len(counts))]
    for n in record.orders:
        one = record.time("lu", scalar, n, design, 1)
        times = [record.time("lu", scalar, n, design, m) for m in counts]
        lines.append(markdown_row([f"N={n}", *(f"{one / t:.2f}" if one and t else "" for t in times)]))
    return lines


def report(header, record):
    lines = ["# Design variants of tiny LU and inversion", "",
             f"{record_head.of(header)}; "
             "written by `ablation_table.py`, which says what the columns mean.", "",
             "## Findings of the paper", "", *findings_table(record), "",
             "## Percent of the copy bandwidth, with the best number of matrices a thread block in parentheses"]
    for operation in ("lu", "inverse"):
        for scalar in record.scalars:
            lines += ["", *designs_table(record, operation, scalar)]
    lines += ["", "## Times as fast as with one matrix a thread block, by their number"]
    for scalar in record.scalars:
        lines += ["", *sweep_table(record, scalar, "1d_registers_lazy")]
    return "\n".join(lines) + "\n"


def draw_designs(axes, record, operation, scalar):
    for design, name in DESIGNS.items():
        best = {n: record.best(operation, scalar, n, design) for n in record.orders}
        best = {n: b[1] for n, b in best.items() if b}
        if best:
            own = design == "blockjacobi"
            axes.plot(list(best), list(best.values()), label=name, marker="o", markersize=3, linewidth=2 if own else 1,
                      color="black" if own else None, linestyle="--" if "lazy" in design else "-")
    axes.set(title=f"{'LU' if operation == 'lu' else 'inversion'}, {NAMES[scalar]}", xlabel="N",
             ylabel="% of copy bandwidth", xticks=[n for n in record.orders if n % 4 == 0], ylim=(0, 100))
    axes.legend(fontsize=6)


def draw_sweep(axes, record, scalar, design="1d_registers_lazy"):
    for n in record.orders:
        times = record.times.get(("lu", scalar, n, design), {})
        if 1 in times:
            axes.plot(sorted(times), [times[1] / times[m] for m in sorted(times)], label=f"N = {n}", marker="o",
                      markersize=3, linewidth=1, linestyle="-" if n <= 16 else "--")
    axes.set(title=f"LU, {DESIGNS[design]}, {NAMES[scalar]}", xlabel="matrices a thread block",
             ylabel="times as fast as with one", xticks=range(1, 17))
    axes.legend(fontsize=6)


def plot(header, record, path):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "ablation", "svg.fonttype": "none", "font.size": 8, "axes.grid": True,
                                "grid.alpha": 0.3})
    import matplotlib.pyplot as plt

    rows = len(record.scalars)
    figure, axes = plt.subplots(rows, 3, figsize=(15, 4.5 * rows), squeeze=False, layout="constrained")
    for row, scalar in zip(axes, record.scalars):
        draw_designs(row[0], record, "lu", scalar)
        draw_sweep(row[1], record, scalar)
        draw_designs(row[2], record, "inverse", scalar)
    figure.suptitle(f"Design variants of tiny LU and inversion, {header['device']}, {header['date']}")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, help="standard output without it")
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    header = json.loads(options.record.read_text(encoding="utf-8"))
    record = Record(header["records"])
    text = report(header, record)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text)
    if options.plot:
        plot(header, record, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
