"""Tables of set-up on stencils and assembled systems out of a record of `patterns`, with the verdict on the project's
targets.

Construction: ms, detection of blocks included, METIS left out, beside Ginkgo's generate, for detected blocks with its
detection. Refresh up to order 32: percent of the copy bandwidth of the same run. Above: in times of batched::inverse of
the same blocks, also of a matrix that is stated to be symmetric, where it is definite. A record passes if no more than a
tenth of the rows miss their target; what is wrong does.
"""

import csv
import pathlib

from tables import preconditioner, records_of, solve

GIVEN = pathlib.Path(__file__).resolve().parent.parent / "given" / "h200_ginkgo_setup.tsv"
BYTES = ("Bytes of a refresh: of every entry inside of the blocks its value and four bytes that say where it belongs, and the inverses, "
         "12 nnz + 8 N^2 in d and 8 nnz + 4 N^2 in s, nnz counting what lies inside of the blocks. *All entries* is the percentage with "
         "the entries outside counted too: most of their values lie in sectors of memory that are read for others. Where copies are "
         "named, a call is one of so many that follow each other, each with arrays of its own, so that none finds its own in the cache; "
         "those of a few MB are short beside what their launches take.")
PEERS = ("Inverse: batched::inverse of the same blocks; x cuBLAS: its inversion of them in the same run, the faster one, over the refresh. "
         "Of blocks of one order both are of at most 1 GB of blocks, up to order 32 of 0.25 GB, and count by block. x Ginkgo is given, "
         "measured in another run: its generate, its only set-up, of detected blocks with detection. Also given: PETSc's "
         "vpbjacobi takes 358 ms for 2.1 M blocks of 3 of the 7-point Laplacian of 128^3 with three unknowns a point, 263 with new values.")
LAND_PERCENT = {"d": 60, "s": 50}  # up to order 32
LAND_TIMES, LAND_TIMES_DEFINITE = preconditioner.REFRESH_TIMES, preconditioner.DEFINITE_TIMES  # batched::inverse, above
LARGEST_TINY = 32
LARGEST_ERROR = 10
NUMBERS = " --: |"


def read_given():
    """Milliseconds of Ginkgo by system, partition and order."""
    with open(GIVEN, encoding="utf-8") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        given = {(r["matrix"], "uniform", int(r["block"])): float(r["ms"]) for r in rows}
    for r in solve.read_given(solve.GIVEN).values():
        if (r["operation"], r["block"]) == ("krylov_solve", str(LARGEST_TINY)):
            given[r["matrix"], "detected", LARGEST_TINY] = float(r["setup_ms"])
    return given


def ginkgo_ms(given, r):
    """None where nothing is given; detection has one maximum, whatever is the largest block that it finds."""
    order = LARGEST_TINY if r["partition"] == "detected" else r["n"]
    return given.get((r["matrix"], r["partition"], order)) if r["scalar"] == "d" else None


def inverse_ms(records, r, is_ours):
    """Of as many of the same blocks, the faster one of the peers; None if it was not measured."""
    same = ("operation", "inverse"), *((key, r[key]) for key in ("scalar", "matrix", "partition", "n"))
    times = [i["time_ms"] / i["batch"] * r["batch"] for i in records
             if all(i[key] == value for key, value in same) and (i["implementation"] == "blockjacobi") == is_ours]
    return min(times, default=None)


def construct_land(r):
    """Milliseconds; None for what has no target."""
    if (r["matrix"], r["scalar"], r["partition"]) != ("7-point 200^3", "d", "uniform"):
        return None
    return {3: preconditioner.CONSTRUCT_THREES_MS, 8: preconditioner.CONSTRUCT_MS[r["matrix"]]}.get(r["n"])


def percent_of_all(r):
    outside = (r["nnz"] - r["entries"]) * (12 if r["scalar"] == "d" else 8)
    return 100 * r["fraction_of_copy"] * (1 + outside / r["bytes"])


def times(a, b):
    return f"{a / b:.3g}" if a and b else ""


def constructions(records, given):
    """Rows of the table: (cells, target as text, whether it is met or None)."""
    for r in records:
        land = construct_land(r)
        yield ([f"{r['time_ms']:.3f}", times(ginkgo_ms(given, r), r["time_ms"])], f"{land} ms" if land else "",
               r["time_ms"] <= land if land else None)


def shares(r):
    yield from (f"{r['bytes'] * 1e-6:.1f}", str(r.get("copies", "")), f"{r['time_ms']:.4f}",
                f"{100 * r['fraction_of_copy']:.1f}", f"{percent_of_all(r):.1f}")


def tiny_refreshes(rows, records, given):
    for r in rows:
        land = LAND_PERCENT[r["scalar"]]
        generate = ginkgo_ms(given, r) if r["partition"] == "uniform" else None  # without detection
        yield ([*shares(r), times(generate, r["time_ms"]), times(inverse_ms(records, r, False), r["time_ms"])],
               f"{land} %", 100 * r["fraction_of_copy"] >= land - 0.05)


def large_refreshes(rows, records):
    for r in rows:
        land = LAND_TIMES_DEFINITE if r["pattern"] == "definite" else LAND_TIMES
        alone = inverse_ms(records, r, True)
        ratio = r["time_ms"] / alone if alone else None
        yield ([*shares(r), f"{alone:.4f}" if alone else "", f"{ratio:.2f}x" if ratio else "",
                times(inverse_ms(records, r, False), r["time_ms"])], f"{land}x" if ratio else "",
               round(ratio, 2) <= land if ratio else None)


def blocks_of(r):
    text = str(r["n"]) if r["partition"] == "uniform" else f"{r['partition']}, up to {r['n']}"
    return f"{text} ({r['singular']} singular)" if r.get("singular") else text


def is_right(r):
    """By the error of a few inverses in units of N eps ||A|| ||X||."""
    return r["error"] is not None and r["error"] <= LARGEST_ERROR


def report(record):
    """(tables as text, whether few enough rows miss their target)"""
    records, given = record["records"], read_given()
    judged = missed = 0
    lines = []
    moved = ["MB", "copies", "ms", "% of copy", "all entries"]
    for scalar in "ds":
        own = [r for r in records if (r["scalar"], r["implementation"]) == (scalar, "blockjacobi")]
        built = [r for r in own if r["operation"] == "construct"]
        refreshed = [r for r in own if r["operation"] == "refresh"]
        tiny = [r for r in refreshed if r["n"] <= LARGEST_TINY]
        large = [r for r in refreshed if r["n"] > LARGEST_TINY and r["pattern"] != "definite"]
        definite = [r for r in refreshed if r["n"] > LARGEST_TINY and r["pattern"] == "definite"]
        beside = [*moved, "inverse, ms", "", "x cuBLAS"]
        for heading, rows, heads, cells in (
                ("construction", built, ["ms", "x Ginkgo"], constructions(built, given)),
                ("refresh up to order 32", tiny, [*moved, "x Ginkgo", "x cuBLAS"], tiny_refreshes(tiny, records, given)),
                ("refresh above order 32", large, beside, large_refreshes(large, records)),
                ("refresh above order 32, stated to be symmetric, definite", definite, beside,
                 large_refreshes(definite, records))):
            if not rows:
                continue
            lines += ["", f"### {heading}, {scalar}", "", f"| system | blocks | number | {' | '.join(heads)} | LAND | |",
                      f"| --- | --- |{NUMBERS * (len(heads) + 2)} --- |"]
            for r, (texts, target, met) in zip(rows, cells):
                met = met if is_right(r) else False
                judged += met is not None
                missed += met is False
                verdict = "" if met is None else "ok" if met else "**under**" if is_right(r) else "**wrong**"
                lines.append(f"| {r['matrix']} | {blocks_of(r)} | {r['batch']} | {' | '.join(texts)} | {target} | {verdict} |")
    head = f"{records_of.head(record)}; {judged} rows with a target, {missed} under it"
    return "\n".join([head, "", BYTES, "", PEERS, *lines]) + "\n", missed <= judged / 10
