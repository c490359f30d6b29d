"""Tables of the preconditioner out of a record of `preconditioner`, with the verdict on the project's targets.

Products with full inverses: percent of the copy bandwidth of the same run, and beside single ones how many times faster
than the products of cuBLAS and MAGMA (benchmarks/given), those between measured orders interpolated linearly in log(time
a block). Other storage, transposed and 8 columns: time a block against one product with the full fp64 (or, in s, full)
inverse of the same order. Refresh above order 32: in times of batched::inverse of the same blocks; up to 32 beside the
time of Ginkgo's generate, its only set-up, on the same machine, as detection beside its own. Construction, partition
included, and clusters: ms. A record passes if no more than a tenth of the rows miss their target.
"""

from tables import batched, records_of

GIVEN = ("Times of cuBLAS, MAGMA and Ginkgo are given, measured in other runs. Ginkgo's generate is its only set-up; what stands beside "
         "it is a refresh, new values in a known pattern.")
PEERS = {"cublas": "cuBLAS", "magma": "MAGMA"}
GINKGO_DETECT_MS = 475.0  # 1 M blocks of order 8
# Set-up, ns a block: ms for 1 M blocks of order 8, 500 k of 16, 200 k of 32.
GINKGO_SETUP_NS = {("d", 8): 2300.0 / 1e3, ("d", 16): 4860.0 / 500, ("d", 32): 11800.0 / 200,
                   ("s", 8): 1400.0 / 1e3, ("s", 16): 3140.0 / 500, ("s", 32): 5350.0 / 200}
# Construction from a matrix on the device, ms.
CONSTRUCT_MS = {"7-point 25^3": 0.10, "7-point 100^3": 0.4, "7-point 200^3": 2.0}
REFRESH_TIMES = 1.5  # the inversion of the same blocks alone, above order 32
DEFINITE_TIMES = 1.0  # the same of definite ones
CONSTRUCT_THREES_MS = 3.5  # 2.7 M blocks of order 3
CLUSTERS_MS = {"7-point 64^3": 1.5, "7-point 200^3": 20.0}  # to a permutation on the host
RATIO = {"packed": 1.7, "fp32": 1.7, "bf16": 2.8, "fp16": 2.8}


def ns(record):
    return record["time_ms"] * 1e6 / record["batch"]


def full_of(records, record):
    """One product with the full inverse of the same order and scalar."""
    for r in records:
        if (r["operation"], r["scalar"], r["n"], r["storage"]) == ("gemv", record["scalar"], record["n"], "full") \
                and r["partition"] == "uniform" and "op" not in r and "columns" not in r:
            return r
    return None


def judge(records, r):
    """(value as text, target as text, whether it is met or None)."""
    percent = 100 * r["fraction_of_copy"]
    if r["operation"] == "detect":
        times = GINKGO_DETECT_MS / r["time_ms"]
        return f"{times:.0f}x Ginkgo", "50x", times >= 50
    if r["operation"] == "clusters":
        return f"{r['time_ms']:.2f} ms", f"{CLUSTERS_MS[r['matrix']]} ms", r["time_ms"] <= CLUSTERS_MS[r["matrix"]]
    if r["operation"] == "construct":
        land = CONSTRUCT_THREES_MS if (r["matrix"], r["n"]) == ("7-point 200^3", 3) else CONSTRUCT_MS[r["matrix"]]
        return f"{r['time_ms']:.2f} ms", f"{land} ms", r["time_ms"] <= land
    if r["operation"] == "detect_coupled":
        return f"{percent:.1f} %", "", None
    if r["operation"] == "inverse":
        return f"{percent:.1f} %", "", None
    if r["operation"] == "refresh":
        given = GINKGO_SETUP_NS.get((r["scalar"], r["n"]))
        alone = next((i for i in records if (i["operation"], i["scalar"], i["n"]) == ("inverse", r["scalar"], r["n"])), None)
        if alone and r["n"] > 32:
            times = r["time_ms"] / alone["time_ms"]
            land = DEFINITE_TIMES if is_definite(r) else REFRESH_TIMES
            return f"{percent:.1f} %, {times:.2f}x the inversion", f"{land}x", times <= land
        if given is None or r.get("partition") or is_definite(r):
            return f"{percent:.1f} %", "", None
        return f"{percent:.1f} %, {given / ns(r):.1f}x Ginkgo's generate", "5x", given / ns(r) >= 5
    if r.get("columns", 1) == 1 and "op" not in r and r["storage"] == "full":
        land = 85 if r["partition"] == "mixed" else 95 if r["scalar"] in "sd" else 90
        counted = r["n"] >= 3
        return f"{percent:.1f} %", f"{land} %" if counted else "", percent >= land - 0.05 if counted else None
    full = full_of(records, r)
    if full is None:
        return f"{percent:.1f} %", "", None
    times = ns(full) / ns(r)
    if "columns" in r:
        return f"{1 / times:.2f}x the time of one", "2.5x", 1 / times <= 2.5
    if "op" in r:
        return f"{times:.2f}x", "0.9x", times >= 0.9
    target = RATIO[r["storage"]] if r["scalar"] == "d" else None
    return f"{times:.2f}x full", f"{target}x" if target else "", times >= target if target else None


def is_definite(r):
    return r.get("pattern") == "definite"


def heading_of(r):
    if is_definite(r):
        return f"{r['operation']}, definite"
    if r["operation"] == "construct":
        return f"construct, {r['matrix']}, {r['partition']}"
    if r["operation"] != "gemv":
        return r["operation"]
    parts = [r["storage"], r["partition"]] if r["storage"] == "full" else [r["storage"]]
    return ", ".join(parts + (["transposed"] if "op" in r else []) +
                     ([f"{r['columns']} columns"] if "columns" in r else []))


def times_as_fast(given, rows):
    """Columns of a group of single products with full inverses of one order: [(head, texts)], those with a time."""
    kind = rows[0]["operation"], rows[0]["storage"], rows[0].get("partition")  # of all of them, as columns
    if kind != ("gemv", "full", "uniform") or "columns" in rows[0]:
        return []
    columns = []
    for name, head in PEERS.items():
        times = [given.ns("gemv_transposed" if "op" in r else "gemv", name, r["scalar"], r["n"]) for r in rows]
        if any(times):
            columns.append((f"x {head}", [f"{t / ns(r):.3g}" if t else "" for t, r in zip(times, rows)]))
    return columns


def table(records, given):
    groups = {}
    for r in records:
        groups.setdefault((heading_of(r), r["scalar"]), []).append(r)
    judged = missed = 0
    lines = []
    for (heading, scalar), rows in sorted(groups.items(), key=lambda g: (g[0][0] != "full, uniform", g[0][0],
                                                                        "sdcz".index(g[0][1]))):
        peers = times_as_fast(given, rows)
        heads = "".join(f" {head} |" for head, _ in peers)
        lines += ["", f"### {heading}, {scalar}", "", f"| N | blocks | ms | % of copy | |{heads} LAND | |",
                  f"| --: | --: | --: | --: | --: |{' --: |' * len(peers)} --: | --- |"]
        for k, r in enumerate(rows):
            value, target, met = judge(records, r)
            beside = "".join(f" {texts[k]} |" for _, texts in peers)
            judged += met is not None
            missed += met is False
            label = r["n"] if r["operation"] == "gemv" or not r.get("partition") or "matrix" in r else f"{r['n']}, {r['partition']}"
            lines.append(f"| {label} | {r['batch']} | {r['time_ms']:.3f} | {100 * r['fraction_of_copy']:.1f} | "
                         f"{'' if value.endswith('%') else value} |{beside} {target} | "
                         f"{'' if met is None else 'ok' if met else '**under**'} |")
    return [f"{judged} rows with a target, {missed} under it", "", GIVEN, *lines], missed <= judged / 10


def report(record):
    """(tables as text, whether few enough rows miss their target)"""
    lines, passed = table(record["records"], batched.Given(batched.GIVEN))
    return records_of.head(record) + "; " + "\n".join(lines) + "\n", passed
