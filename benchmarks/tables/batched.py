"""One table of the batched operations out of a record of `batched`, with the verdict on the project's targets.

One row an order, for solves an order and a number of right-hand sides: time, percent of the copy bandwidth of the same
run, how many times faster than the best of cuBLAS and cuSOLVER in the same run, than MAGMA and than Ginkgo (given
figures, see the head of the file), and the target LAND: the percentage that the row must reach; the inverse of a matrix
alone must not be slower than cuSOLVER's. Times of MAGMA and Ginkgo between measured orders are interpolated linearly in
log(time a matrix). A record passes if no more than a tenth of the rows with a target miss it and none of
them is slower than the best peer; slower rows without a target are named.

A record of `energy` becomes a table of the energy of one matrix instead, beside the time.
"""

import collections
import csv
import math
import pathlib

from tables import records_of

GIVEN_MATRICES = ("Times of MAGMA are given, measured in another run, on matrices with a dominant diagonal, where pivoting moves no "
                  "row; those of cuBLAS and cuSOLVER are of this run, LU and inverse on matrices whose rows move.")
GIVEN_SETUP = ("Times are of a refresh, new values in a known pattern, of matrices that are nothing but their blocks. Times of Ginkgo are "
               "given, measured in another run: of its generate with given blocks, its only set-up, on matrices with a dominant "
               "diagonal.")
GIVEN = pathlib.Path(__file__).resolve().parent.parent / "given" / "h200.tsv"

# Percent of copy by class N <= 8, 16, 24, 32.
LAND = {
    ("inverse", "d"): (88, 72, 58, 55),
    ("inverse", "s"): (75, 65, 50, 50),
    ("lu", "d"): (88, 78, 65, 60),
    ("lu", "s"): (75, 68, 55, 52),
    ("lu", "c"): (70, 60, 45, 45),
    ("lu", "z"): (70, 60, 45, 45),
}
# Times as fast as (implementations), at most this percentage of copy.
RELATIVE = {
    ("cholesky", "sd"): (1.3, ("magma",), 80),
    ("qr", "sd"): (1.3, ("magma",), 55),
    ("inverse", "cz"): (4.0, ("cublas",), 80),
    ("qr", "cz"): (4.0, ("cublas",), 80),
    ("cholesky", "cz"): (3.0, ("cusolver",), math.inf),
    ("extract_invert", "sd"): (5.0, ("ginkgo",), math.inf),
}
# Above order 32: percent of the floor, times as fast as cuBLAS or cuSOLVER, times as fast as MAGMA, by the largest order.
BLOCKED = {
    ("inverse", "d"): ((128, 25, 6, 2), (512, 15, 6, 1.5)),
    ("inverse", "s"): ((128, None, 6, 2), (512, None, 6, 1.5)),
    ("lu", "sd"): ((512, None, 4, 2),),
    ("cholesky", "sd"): ((512, None, 3, 1.3),),
    ("qr", "sd"): ((512, None, 5, 1.5),),
    ("inverse lu cholesky qr", "cz"): ((512, None, 3, None),),
}


def ns_per_matrix(record):
    return record["time_ms"] * 1e6 / record["batch"]


class Given:
    """Times of other libraries by operation, implementation and scalar."""

    def __init__(self, path):
        self.times = collections.defaultdict(dict)
        with open(path, encoding="utf-8") as file:
            lines = (line for line in file if not line.startswith("#"))
            for row in csv.DictReader(lines, delimiter="\t"):
                key = row["operation"], row["implementation"], row["scalar"]
                self.times[key][int(row["n"])] = float(row["ms"]) * 1e6 / int(row["batch"])

    def ns(self, operation, implementation, scalar, n):
        """None outside the measured orders."""
        times = self.times.get((operation, implementation, scalar), {})
        if n in times:
            return times[n]
        below, above = [k for k in times if k < n], [k for k in times if k > n]
        if not below or not above:
            return None
        low, high = max(below), min(above)
        weight = (n - low) / (high - low)
        return math.exp((1 - weight) * math.log(times[low]) + weight * math.log(times[high]))


def blocked_time(row, peers):
    """The time a matrix of order above 32 may take, in ns; None without a target."""
    for (operations, scalars), classes in BLOCKED.items():
        if row["operation"] not in operations.split() or row["scalar"] not in scalars:
            continue
        _, floor, toolkit, magma = next(c for c in classes if row["n"] <= c[0])
        times = [100 / floor * row["fraction_of_floor"] * ns_per_matrix(row)] if floor else []
        times += [peers[name] / toolkit for name in ("cublas", "cusolver") if name in peers]
        times += [peers["magma"] / magma] if magma and "magma" in peers else []
        return min(times, default=None)
    return None


def is_single(record):
    """One matrix alone is no batch: it has a target of its own."""
    return record["batch"] == 1


def land(row, peers):
    """The percentage of copy that the row must reach; None without a target."""
    operation, scalar, n = row["operation"], row["scalar"], row["n"]
    if is_single(row):  # not slower than cuSOLVER's getrf + getri
        found = operation == "inverse" and peers.get("cusolver")
        return 100 * row["fraction_of_copy"] * ns_per_matrix(row) / found if found else None
    if n > 32:
        time = blocked_time(row, peers)
        factor = 1.0 if n % 4 == 0 else 0.75
        return time and factor * 100 * row["fraction_of_copy"] * ns_per_matrix(row) / time
    # Orders that are no multiple of 4 have 3/4 of the target of their class; orders 1 to 3 count as 4.
    factor = 1.0 if n % 4 == 0 or n < 4 else 0.75
    if (operation, scalar) in LAND:
        return factor * LAND[operation, scalar][min((n - 1) // 8, 3)]
    for (name, scalars), (times, implementations, most) in RELATIVE.items():
        known = [peers[i] for i in implementations if peers.get(i)]
        if name == operation and scalar in scalars and known:
            percent = 100 * row["fraction_of_copy"] * times * ns_per_matrix(row) / min(known)
            return factor * min(percent, most)
    return None


def columns_of(record):
    """Right-hand sides; 1 for what has none."""
    return record.get("columns", 1)


def key_of(record):
    return record["operation"], record["scalar"], record["n"], columns_of(record), is_single(record)


def collect(records, given):
    measured = collections.defaultdict(dict)
    for record in records:
        measured[key_of(record)][record["implementation"]] = record
    for (operation, scalar, n, _, single), found in sorted(measured.items(), key=lambda k: (
            k[0][0], "sdcz".index(k[0][1]), *k[0][2:])):  # fmt: skip
        if "blockjacobi" not in found:
            continue
        row, peers = found["blockjacobi"], {}
        for name, record in found.items():  # the fastest of each library
            library = name.split()[0].split("_")[0]
            if library != "blockjacobi":
                peers[library] = min(ns_per_matrix(record), peers.get(library, math.inf))
        for name in () if single else ("magma", "ginkgo"):
            peers[name] = given.ns(operation, name, scalar, n)
        yield row, {name: ns for name, ns in peers.items() if ns}


def verdict(percent, target, slower):
    if slower:
        return "**slower**"
    if target is None:
        return ""
    return "ok" if percent >= target - 0.05 else "**under**"


def targets(rows):
    """By operation, scalar and order. Orders without a measured peer below them count as the smallest with one."""
    found = {key_of(row): land(row, peers) for row, peers in rows}
    for (operation, scalar, n, *rest), target in found.items():
        if target is None and n < 4:
            found[operation, scalar, n, *rest] = found.get((operation, scalar, 4, *rest))
    return found


def order_in_words(row):
    """With the number of right-hand sides, if there are several."""
    return f"{row['n']} x {columns_of(row)}" if columns_of(row) > 1 else str(row["n"])


def short(percent):
    return f"{percent:.1f}" if percent >= 1 else f"{percent:.3f}"


def table(rows):
    lines, gaps, judged, slow, besides = [], [], 0, 0, 0
    heading, target_of = None, targets(rows)
    for row, peers in rows:
        if (row["operation"], row["scalar"]) != heading:
            heading = row["operation"], row["scalar"]
            lines += ["", f"### {heading[0]}, {heading[1]}", "",
                      "| N | batch | ms | % of copy | x cuBLAS, cuSOLVER | x MAGMA | x Ginkgo | LAND | |",
                      "| --: | --: | --: | --: | --: | --: | --: | --: | --- |"]
        percent, own = 100 * row["fraction_of_copy"], ns_per_matrix(row)
        target = target_of[key_of(row)]
        times = [min((peers[i] for i in names if i in peers), default=None)
                 for names in (("cublas", "cusolver"), ("magma",), ("ginkgo",))]
        word = verdict(percent, target, bool(peers) and min(peers.values()) < own)
        judged += target is not None
        slow += word == "**slower**" and target is not None
        besides += word == "**slower**" and target is None
        if word in ("**under**", "**slower**"):
            gaps.append(f"- {heading[0]}, {heading[1]}, {order_in_words(row)}{' alone' if is_single(row) else ''}: {short(percent)} of "
                        + ("no target" if target is None else short(target)) + ("; slower" if "slower" in word else ""))
        cells = [f"{t / own:.1f}" if t else "-" for t in times]
        lines.append(f"| {order_in_words(row)} | {row['batch']} | {row['time_ms']:.3f} | {short(percent)} | " + " | ".join(cells)
                     + " | "
                     + ("-" if target is None else f"{target:.0f}" if target >= 1 else short(target)) + f" | {word} |")
    missed = len(gaps) - besides
    summary = f"{judged} rows with a target, {missed - slow} under it, {slow} slower than the best peer"
    if besides:
        summary += f"; {besides} slower without a target"
    if gaps:
        lines += ["", "### Gaps", "", "Percent of copy reached and asked for.", "", *gaps]
    return [summary, *lines], missed <= judged / 10 and slow == 0


def energy_table(records):
    """One row a case and implementation; how many times the energy and the time of this library the others take."""
    def figure(value, text):
        return "n/a" if value is None else format(value, text)

    own = {(r["operation"], r["n"]): r for r in records if r["implementation"] == "blockjacobi"}
    lines = ["input copies taken off", "",
             "| operation | N | | us a matrix | uJ a matrix | W | pJ a flop | x energy | x time |",
             "| --- | --: | --- | --: | --: | --: | --: | --: | --: |"]
    for r in records:
        ours = own[r["operation"], r["n"]]
        us = r["time_ms"] and 1e3 * r["time_ms"] / r["batch"]
        uj = r["energy_j"] and 1e6 * r["energy_j"]
        gain = uj and r["energy_j"] / ours["energy_j"]
        slower = us and us / (1e3 * ours["time_ms"] / ours["batch"])
        per_flop = uj and 1e6 * uj / (ours["flops"] / ours["batch"])
        lines.append("| " + " | ".join([r["operation"], str(r["n"]), r["implementation"], figure(us, ".3f"),
                                        figure(uj, ".1f"), figure(r["power_w"], ".0f"), figure(per_flop, ".1f"),
                                        figure(gain, ".1f"), figure(slower, ".1f")]) + " |")
    return lines


def report(record):
    """(table as text, whether few enough rows miss their target)"""
    records = record["records"]
    if any("energy_j" in r for r in records):
        lines, passed = energy_table(records), True
    else:
        rows = list(collect(records, Given(GIVEN)))
        lines, passed = table(rows)
        if any("magma" in peers for _, peers in rows):
            lines[1:1] = ["", GIVEN_MATRICES]
        if any(row["operation"] == "extract_invert" for row, _ in rows):
            lines[1:1] = ["", GIVEN_SETUP]
    return records_of.head(record) + "; " + "\n".join(lines) + "\n", passed
