"""Solves every system with every choice of blocks, and judges what `--blocks suggest` recommends; writes one table.

usage: run.py suggest [options]; BLOCKJACOBI_MATRICES names the folder of NAME.mtx.gz and MANIFEST.tsv (columns name, n,
nnz_expanded, posdef; `yes` and `no(PSD)` are solved with cg, all others with gmres(30)). Or:
       run.py suggest --records FILE.jsonl [--backend cuda] [--judge time]: what the program `suggest` measured on a GPU.

Right-hand side A x with x uniform random in [-1, 1], relative residual 1e-8, at most CAP iterations. Two judges:
- time: partition + set-up + solve in milliseconds, the best of --repeat runs;
- cost: set-up + iterations x bytes of an iteration by the model of <blockjacobi/suggest.hpp>, which a busy machine does not
  change.
A system counts if some candidate of suggest converges. A candidate that does not converge counts as 10 times the best in
the geometric means.

Writes NAME.md and NAME.tsv (NAME follows --name); ends with 1 if the recommendation is within 20 % of the best on fewer than
80 % of the systems by the judge of --judge, or does not beat 'always scalar' and 'always 32' in geometric mean.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import sys

from tables import solve_program

CAP = 5000
WORST = 10.0

# Column -> options of the program.
BLOCKS = {
    "scalar": ["uniform", "--block-size", "1"],
    "detect 8": ["detect", "--block-size", "8"],
    "detect 16": ["detect", "--block-size", "16"],
    "detect 32": ["detect", "--block-size", "32"],
    "uniform 8": ["uniform", "--block-size", "8"],
    "uniform 32": ["uniform", "--block-size", "32"],
    "uniform 64": ["uniform", "--block-size", "64"],
    "coupled 32": ["coupled", "--block-size", "32"],
    "metis 32": ["metis", "--block-size", "32"],
}
# Passes over the matrix that the partition counts for; METIS takes far more, which only times show.
PASSES = {"uniform": 0, "detect": 1, "coupled": 4, "metis": 4}


def run_program(system, blocks, options):
    """The program's JSON report, of the fastest of some runs."""
    best = None
    for _ in range(options.repeat):
        report = solve_program.report_of(
            options.program, options.matrices / f"{system['name']}.mtx.gz", "--blocks", *blocks,
            "--solver", system["solver"], "--max-iterations", CAP, "--backend", options.backend,
            *(["--threads", options.threads] if options.backend == "host" else []))  # fmt: skip
        if best is None or milliseconds(report) < milliseconds(best):
            best = report
    return best


def milliseconds(report):
    return report["blocks"]["partition_ms"] + report["setup_ms"] + (report["solve_ms"] or 0.0)


class Model:
    """The cost model of suggest for any blocks, with the constants of its own report."""

    def __init__(self, suggestion, rows):
        candidates = {c["name"]: c for c in suggestion["candidates"]}
        self.rows, self.scalar, large = rows, candidates["scalar"], candidates["uniform 64"]
        bytes_apart = large["bytes"] - self.scalar["bytes"]
        self.per_byte = (large["iteration_seconds"] - self.scalar["iteration_seconds"]) / bytes_apart
        cubes = rows // 64 * 64**3 + (rows % 64) ** 3
        set_up_apart = large["setup_seconds"] - self.scalar["setup_seconds"]
        self.per_cube = (set_up_apart - bytes_apart * self.per_byte) / (cubes - rows)

    def seconds(self, sizes, pass_bytes, iterations):
        """sizes: [(rows, count)]; pass_bytes: what the partition reads."""
        squares = sum(size**2 * count for size, count in sizes)
        cubes = sum(size**3 * count for size, count in sizes)
        more = (squares / self.rows - 1) * self.scalar["bytes"] * self.per_byte
        set_up = self.scalar["setup_seconds"] + more + (cubes - self.rows) * self.per_cube + pass_bytes * self.per_byte
        return set_up + iterations * (self.scalar["iteration_seconds"] + more)


class Programs:
    """Reports of blockjacobi-solve, one run each."""

    def __init__(self, options):
        self.options = options

    def systems(self):
        return read_systems(self.options)

    def report(self, system, name):
        return run_program(system, BLOCKS[name] if name in BLOCKS else ["suggest", "--coarse", "none"], self.options)


class Records:
    """Reports of the program `suggest`, a line each."""

    def __init__(self, path):
        self.of = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            self.of.setdefault((record["system"], record["solver"]), {})[record["column"]] = record["report"]

    def systems(self):
        """Those that were measured whole; says what others lack."""
        whole = []
        for (name, solver), reports in self.of.items():
            missing = [column for column in ["suggest", *BLOCKS] if column not in reports]
            if missing:
                print(f"suggest: {name} left out: no record of {', '.join(missing)}", file=sys.stderr)
            else:
                whole.append({"name": name, "solver": solver})
        return whole

    def report(self, system, name):
        report = self.of[system["name"], system["solver"]][name]
        if name == "suggest":
            report = {**report, "blocks": {"suggestion": report["suggestion"]}}
        return report


def measure(system, source):
    """A row of the table; without a recommendation where no candidate converges."""
    asked = source.report(system, "suggest")
    suggestion = asked["blocks"]["suggestion"]
    candidates = {c["name"]: c for c in suggestion["candidates"]}
    model = Model(suggestion, asked["rows"])
    entry_bytes = 4 + {"s": 4, "d": 8, "c": 8, "z": 16}[asked["scalar"]]
    results = {}
    for name, blocks in BLOCKS.items():
        report = source.report(system, name)
        sizes = [(size["rows"], size["count"]) for size in report["blocks"]["sizes"]]
        squares = sum(size**2 * count for size, count in sizes)
        pass_bytes = PASSES[blocks[0]] * asked["nnz"] * entry_bytes
        converged = report["reason"] == "converged"
        cost = model.seconds(sizes, pass_bytes, report["iterations"])
        if name in candidates:
            c = candidates[name]
            cost = c["setup_seconds"] + report["iterations"] * c["iteration_seconds"]
        results[name] = {
            "iterations": report["iterations"], "converged": converged, "reason": report["reason"],
            "mean_square": squares / report["rows"], "partition_ms": report["blocks"]["partition_ms"],
            "time": milliseconds(report) if converged else math.inf, "cost": 1e3 * cost if converged else math.inf,
        }  # fmt: skip
    if not any(results[name]["converged"] for name in candidates):
        return {"system": system, "results": results, "recommended": None}
    recommended = suggestion["recommended"]
    chosen = results[recommended]
    return {"system": system, "results": results, "candidates": list(candidates), "recommended": recommended,
            "predicted": 1e3 * (candidates[recommended]["seconds"] or math.inf),
            "probe": {"time": 1e3 * suggestion["probe_seconds"], "cost": 1e3 * suggestion["probe_cost"]},
            "probe_products": sum(c["probe_iterations"] for c in candidates.values()) / chosen["iterations"],
            "rows": asked["rows"], "nnz": asked["nnz"]}  # fmt: skip


def ratio(row, name, judge):
    """Against the best candidate, at most WORST."""
    best = min(row["results"][c][judge] for c in row["candidates"])
    return min(WORST, row["results"][name][judge] / best)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows, judge):
    chosen = [ratio(row, row["recommended"], judge) for row in rows]
    means = {name: geometric_mean([ratio(row, name, judge) for row in rows]) for name in BLOCKS}
    return {"within": sum(value <= 1.2 for value in chosen), "mean": geometric_mean(chosen), "always": means}


def passes(rows, judge):
    s = summary(rows, judge)
    thirty_two = min(s["always"]["detect 32"], s["always"]["uniform 32"])
    return s["within"] >= 0.8 * len(rows) and s["mean"] < s["always"]["scalar"] and s["mean"] < thirty_two


def sentence(rows, judge):
    s = summary(rows, judge)
    means = ", ".join(f"always {name} {mean:.2f}" for name, mean in s["always"].items())
    return (f"By {judge}: the recommendation is within 20 % of the best candidate on {s['within']} of {len(rows)} systems; "
            f"geometric means against the best: recommendation {s['mean']:.2f}, {means}.")  # fmt: skip


def cell(row, name, judge):
    result = row["results"].get(name)
    if result is None:
        return ""
    text = "-"
    if result["converged"]:
        time = f"; {result['time']:.2f} ms" if judge == "time" else ""
        text = f"{result['iterations']} ({ratio(row, name, judge):.2f}{time})"
    return f"**{text}**" if name == row["recommended"] else text


def about_probes(rows, judge):
    """Of rows whose recommendation converges: what the probes took of its solve, and how far the prediction is off."""
    solved = [row for row in rows if row["results"][row["recommended"]]["converged"]]
    products = [row["probe_products"] for row in solved]
    shares = [row["probe"][judge] / row["results"][row["recommended"]][judge] for row in solved]
    off = [row["predicted"] / row["results"][row["recommended"]][judge] for row in solved]
    probed = sum(row["probe"]["cost"] > 0 for row in rows)
    return (f"Probed: {probed} of {len(rows)} systems. Probes against the solve with the recommended blocks, by {judge} "
            f"with set-ups: median {statistics.median(shares):.3f}, above a tenth on {sum(s > 0.1 for s in shares)}; in "
            f"iterations: median {statistics.median(products):.3f}, above a tenth on {sum(p > 0.1 for p in products)}. "
            f"Predicted time to solution against what it came to: geometric mean {geometric_mean(off):.2f}, within a "
            f"factor of three on {sum(1 / 3 <= o <= 3 for o in off)} of {len(solved)}.")  # fmt: skip


def about_left_out(left_out):
    """The systems without a converging candidate, and what else converges on them."""
    others = [f"{row['system']['name']} with {name} after {result['iterations']}"
              for row in left_out for name, result in row["results"].items() if result["converged"]]  # fmt: skip
    return (f"Left out, since no candidate converges: {', '.join(row['system']['name'] for row in left_out)}. Of them "
            f"converge: {', '.join(others) or 'none with other blocks'}.")  # fmt: skip


def write_markdown(path, rows, left_out, options):
    measure = "cost by the model of suggest" if options.judge == "cost" else "time of partition, set-up and solve"
    lines = [
        "# Choices of blocks, and what suggest recommends",
        "",
        f"Written by `run.py suggest`; {options.backend} backend, random right-hand side, relative residual 1e-8, at "
        f"most {CAP} iterations, cg for positive (semi)definite systems, else gmres(30). Cells: iterations ({measure} against the best "
        f"candidate, set-up included, {WORST:.0f} at most), `-` not converged, **bold** recommended. The first "
        f"{len(rows[0]['candidates'])} columns are the candidates of suggest.",
        "",
    ]
    if left_out:
        lines += [about_left_out(left_out), ""]
    if options.judge == "cost":
        lines += [sentence(rows, "cost"), ""]
    lines += [
        sentence(rows, "time") + " Times are those of the machine on which the table was written; see the .tsv.",
        "",
        about_probes(rows, options.judge),
        "",
        f"| system | n | nnz | solver | {' | '.join(BLOCKS)} |",
        "| --- | --- | --- | --- |" + " --- |" * len(BLOCKS),
    ]
    for row in rows:
        cells = " | ".join(cell(row, name, options.judge) for name in BLOCKS)
        lines.append(f"| {row['system']['name']} | {row['rows']} | {row['nnz']} | {row['system']['solver']} | {cells} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tsv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["name", "solver", "blocks", "recommended", "iterations", "reason", "mean_square", "partition_ms",
                        "time_ms", "cost_ms", "probe_ms", "predicted_ms"])  # fmt: skip
        for row in rows:
            for name, r in row["results"].items():
                table.writerow([row["system"]["name"], row["system"]["solver"], name, int(name == row["recommended"]),
                                r["iterations"], r["reason"], f"{r['mean_square']:.2f}", f"{r['partition_ms']:.3f}",
                                f"{r['time']:.3f}", f"{r['cost']:.4f}", f"{row['probe']['time']:.3f}",
                                f"{row['predicted']:.3f}"])  # fmt: skip


def read_systems(options):
    with (options.matrices / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    systems = []
    for row in sorted(rows, key=lambda r: int(r["nnz_expanded"])):
        if int(row["n"]) < options.least_rows or int(row["nnz_expanded"]) > options.most_entries:
            continue
        if options.only and row["name"] not in options.only:
            continue
        systems.append({"name": row["name"], "solver": "cg" if row["posdef"] in ("yes", "no(PSD)") else "gmres"})
    return systems


def parse_arguments(words):
    parser = argparse.ArgumentParser(prog="run.py suggest-host", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=solve_program.PROGRAM)
    parser.add_argument("--records", type=pathlib.Path, help="what the program `suggest` wrote; nothing is run")
    parser.add_argument("--backend", default="host", choices=["host", "cuda"])
    parser.add_argument("--threads", type=int, default=1, help="of the host backend")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each case, of which the fastest counts")
    parser.add_argument("--judge", default="cost", choices=["cost", "time"])
    parser.add_argument("--no-metis", dest="metis", action="store_false")
    parser.add_argument("--coupling", action="append", default=[], metavar="THETA",
                        help="a column of coupled blocks with this threshold; may be repeated")  # fmt: skip
    parser.add_argument("--least-rows", type=int, default=1000)
    parser.add_argument("--most-entries", type=int, default=10**9)
    parser.add_argument("--only", action="append", metavar="NAME", help="this system only; may be repeated")
    parser.add_argument("--name", help="of the files that are written; default suggest-BACKEND")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS)
    options = parser.parse_args(words)
    if not options.records:
        if not os.environ.get("BLOCKJACOBI_MATRICES"):
            parser.error("BLOCKJACOBI_MATRICES does not name the folder of matrices")
        options.matrices = pathlib.Path(os.environ["BLOCKJACOBI_MATRICES"])
    options.name = options.name or f"suggest-{options.backend}"
    if not options.metis:
        del BLOCKS["metis 32"]
    for threshold in options.coupling:
        BLOCKS[f"coupled {threshold}"] = ["coupled", "--coupling", threshold]
    return options


def main(words):
    options = parse_arguments(words)
    options.output.mkdir(parents=True, exist_ok=True)
    rows, left_out = [], []
    source = Records(options.records) if options.records else Programs(options)
    for system in source.systems():
        row = measure(system, source)
        if row["recommended"] is None:
            left_out.append(row)
            print(f"{system['name']:<36} no candidate converges", flush=True)
        else:
            rows.append(row)
            print(f"{system['name']:<36} {row['recommended']:<11} cost {ratio(row, row['recommended'], 'cost'):.2f} "
                  f"time {ratio(row, row['recommended'], 'time'):.2f}", flush=True)  # fmt: skip
        if rows:
            write_markdown(options.output / f"{options.name}.md", rows, left_out, options)
            write_tsv(options.output / f"{options.name}.tsv", rows)
    if not rows:
        return 1
    print(sentence(rows, options.judge))
    print(about_probes(rows, options.judge))
    return 0 if passes(rows, options.judge) else 1
