"""Design variants out of a record of `ablation_getrf`, `ablation_blocked` or `ablation_concurrency`, beside the
findings of the papers that they are from (ablation_studies.py).

A finding is a factor between the times of two designs, one row for each scalar; `from` is its paper, which
docs/kernels/diary/variants.md names in full, `paper` the factor that the paper has. Where the number of matrices a thread block or
the width of panels is free, the best of each design counts, unless the row says otherwise. The verdict is on the orders
that the finding speaks of: `confirmed` where the factor reaches the paper's (within 5 %), or is a gain at all where the
paper has no number; `weaker` where it is a gain, but less. A gain is more than 5 %. Rows that answer no finding have
none.
"""

import collections
import statistics

from tables import records_of
from tables.ablation_studies import STUDIES

NAMES = {"s": "single", "d": "double"}
SPEEDS = {"copy": "percent of the copy bandwidth", "tflops": "Tflop/s", "gflops": "Gflop/s"}
# What a factor must exceed to count as a gain at all, and how far below the paper's it may be.
GAIN, TOLERANCE = 1.05, 0.95


class Record:
    """Times by operation, scalar, order and design, for every number that is varied."""

    def __init__(self, study, records):
        self.study = study
        self.times = collections.defaultdict(dict)
        self.speeds = {}
        for r in records:
            key = r["operation"], r["scalar"], r["n"], r["implementation"]
            varied = r.get(study.varied, 0)
            self.times[key][varied] = r["time_ms"]
            self.speeds[(*key, varied)] = (100 * r["fraction_of_copy"] if study.unit == "copy"
                                           else r["flops"] / r["time_ms"] * (1e-9 if study.unit == "tflops" else 1e-6))
        self.scalars = [s for s in "sd" if any(key[1] == s for key in self.times)]
        self.orders = sorted({key[2] for key in self.times})

    def time(self, operation, scalar, n, design, varied=None):
        """Of the best number without one; None where it was not measured."""
        times = self.times.get((operation, scalar, n, design), {})
        return times.get(varied) if varied is not None else min(times.values(), default=None)

    def best(self, operation, scalar, n, design):
        """(number that is varied, speed)."""
        times = self.times.get((operation, scalar, n, design))
        if not times:
            return None
        varied = min(times, key=times.get)
        return varied, self.speeds[operation, scalar, n, design, varied]


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
    lines = [markdown_row(["from", "factor between", "paper", "", *orders, "mean", "verdict"]),
             markdown_row(["---"] * 4 + ["--:"] * (len(record.orders) + 1) + ["---"])]
    for finding in record.study.findings:
        for scalar in record.scalars:
            found = factors(record, finding, scalar)
            if not found:
                continue
            lines.append(markdown_row(
                [finding.source, finding.text, finding.paper, scalar,
                 *(f"{found[n]:.2f}" if n in found else "" for n in record.orders),
                 f"{statistics.geometric_mean(found.values()):.2f}", verdict(finding, scalar, found)]))
    return lines


def designs_table(record, operation, scalar):
    digits = 2 if record.study.unit == "tflops" else 1
    lines = [markdown_row([f"{operation}, {scalar}", *(f"N={n}" for n in record.orders)]),
             markdown_row(["---"] + ["--:"] * len(record.orders))]
    for design, name in record.study.designs.items():
        cells = []
        for n in record.orders:
            best = record.best(operation, scalar, n, design)
            cells.append("" if best is None else f"{best[1]:.{digits}f}" + (f" ({best[0]})" if best[0] else ""))
        if any(cells):
            lines.append(markdown_row([name, *cells]))
    return lines


def sweep_table(record, scalar):
    operation, design = record.study.sweep
    counts = sorted({m for key, times in record.times.items() if key[3] == design for m in times})
    lines = [markdown_row([f"{record.study.designs[design]}, {scalar}", *map(str, counts)]),
             markdown_row(["---"] + ["--:"] * len(counts))]
    for n in record.orders:
        times = [record.time(operation, scalar, n, design, m) for m in counts]
        if any(times):
            lines.append(markdown_row([f"N={n}", *(f"{times[0] / t:.2f}" if times[0] and t else "" for t in times)]))
    return lines


def machine_of(header):
    """With what the host works, where it does."""
    return f"; host: {header['processor']}, LAPACK: {header['lapack']}" if "lapack" in header else ""


def text_of(header, record):
    study = record.study
    least = min(m for key, times in record.times.items() if key[3] == study.sweep[1] for m in times)
    lines = [f"# {study.title}", "",
             f"{records_of.head(header)}{machine_of(header)}; "
             "benchmarks/tables/ablation.py says what the columns mean.", "",
             "## Findings of the papers", "", *findings_table(record), "",
             f"## {SPEEDS[study.unit].capitalize()}, with the best number of {study.varied_in_words} in parentheses"]
    for operation in study.operations:
        for scalar in record.scalars:
            table = designs_table(record, operation, scalar)
            lines += ["", *table] if len(table) > 2 else []
    lines += ["", f"## Times as fast as with {least}, by the number of {study.varied_in_words}"]
    for scalar in record.scalars:
        lines += ["", *sweep_table(record, scalar)]
    return "\n".join(lines) + "\n"


def draw_designs(axes, record, operation, scalar):
    study, dashed = record.study, ("lazy", "right", "explicit")
    for design, name in study.designs.items():
        best = {n: record.best(operation, scalar, n, design) for n in record.orders}
        best = {n: b[1] for n, b in best.items() if b}
        if best:
            own = design == "blockjacobi"
            axes.plot(list(best), list(best.values()), label=name, marker="o", markersize=3, linewidth=2 if own else 1,
                      color="black" if own else None, linestyle="--" if any(d in design for d in dashed) else "-")
    axes.set(title=f"{study.operations[operation]}, {NAMES[scalar]}", xlabel="N", ylabel=SPEEDS[study.unit],
             xticks=[n for n in record.orders if n % 4 == 0])
    axes.set_ylim(bottom=0, top=100 if study.unit == "copy" else None)
    axes.legend(fontsize=6)


def draw_sweep(axes, record, scalar):
    operation, design = record.study.sweep
    for n in record.orders:
        times = record.times.get((operation, scalar, n, design), {})
        if times:
            least = times[min(times)]
            axes.plot(sorted(times), [least / times[m] for m in sorted(times)], label=f"N = {n}", marker="o",
                      markersize=3, linewidth=1, linestyle="-" if n <= 16 else "--")
            axes.set_xticks(sorted(times))
            axes.set_ylabel(f"times as fast as with {'one' if min(times) == 1 else min(times)}")
    axes.set(title=f"{record.study.operations[operation]}, {record.study.designs[design]}, {NAMES[scalar]}",
             xlabel=record.study.varied_in_words)
    axes.legend(fontsize=6)


def plot(header, plt):
    """A figure of a record, by matplotlib's pyplot."""
    record = read(header)
    rows = len(record.scalars)
    figure, axes = plt.subplots(rows, 3, figsize=(15, 4.5 * rows), squeeze=False, layout="constrained")
    for row, scalar in zip(axes, record.scalars):
        first, second, *_ = record.study.operations
        draw_designs(row[0], record, first, scalar)
        draw_sweep(row[1], record, scalar)
        draw_designs(row[2], record, second, scalar)
    figure.suptitle(f"{record.study.title}, {header['device']}, {header['date']}")
    return figure


def read(header):
    study = next(study for study in STUDIES if any(study.varied in r for r in header["records"]))
    return Record(study, header["records"])


def report(header):
    """(tables as text, True: findings have no targets)"""
    return text_of(header, read(header)), True
