"""Compares the iteration counts of blockjacobi-solve with a reference, system by system, and writes one table.

usage: run.py iterations REFERENCE.tsv [options]; BLOCKJACOBI_MATRICES names the folder of NAME.mtx.gz.

The reference has the columns name, solver (cg or gmres30), rhs (A1: b = A * ones, Arand: b = A x with normally
distributed x, see right_hand_sides.py) and one count per preconditioner: it_jac (blocks of 1), it_b8, it_b16, it_b32,
it_b64 (uniform blocks) and it_sv32 (supervariables up to 32); `-` means not converged within CAP iterations. A count
agrees if it lies within 2 % or 2 of a reference up to 500, within 5 % above for cg, and within a factor 1.25 above
for restarted gmres, to both sides. Cases outside are solved again with right-hand sides perturbed in the last place:
the spread of our own counts says how much of the difference rounding alone can make.

Two things about the reference are inferred from its counts, not known: the x of Arand (see right_hand_sides.py) and
that singular blocks were replaced by scalar Jacobi (identity leaves more cases outside).

Writes iterations-host.md and iterations-host.tsv (the name follows --name); ends with 1 if a count is outside.
Needs numpy for Arand and for the perturbations.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import math
import os
import pathlib
import tempfile

from tables import solve_program

CAP = 5000
RTOL = 1e-8

# Column of the reference -> options of the program.
BLOCKS = {
    "jac": ["--blocks", "uniform", "--block-size", "1"],
    "b8": ["--blocks", "uniform", "--block-size", "8"],
    "b16": ["--blocks", "uniform", "--block-size", "16"],
    "b32": ["--blocks", "uniform", "--block-size", "32"],
    "b64": ["--blocks", "uniform", "--block-size", "64"],
    "sv32": ["--blocks", "detect", "--block-size", "32"],
}
SOLVERS = {"cg": ["--solver", "cg"], "gmres30": ["--solver", "gmres", "--restart", "30"]}


def band(count, solver):
    """Fewest and most iterations that agree with `count` of a reference with the same blocks."""
    if count <= 500:
        slack = max(2, math.floor(0.02 * count))
        return max(0, count - slack), count + slack
    if solver == "cg":
        return math.ceil(0.95 * count), math.floor(1.05 * count)
    return math.ceil(count / 1.25), math.floor(1.25 * count)


@dataclasses.dataclass
class Case:
    """One system with one preconditioner."""

    system: dict
    column: str

    @property
    def reference(self):
        """Iterations, or None where the reference did not converge."""
        count = self.system["it_" + self.column]
        return None if count == "-" else int(count)

    @property
    def band(self):
        return band(self.reference, self.system["solver"])

    @property
    def max_iterations(self):
        """The reference's cap, but never less than the band allows."""
        return CAP if self.reference is None else max(CAP, self.band[1] + 1)


@dataclasses.dataclass
class Record:
    case: Case
    reason: str
    iterations: int | None
    relative_residual: float | None
    singular: int
    verdict: str
    spread: list = dataclasses.field(default_factory=list)  # counts with perturbed right-hand sides, None: not converged


# Verdicts; the last three put the comparison outside its bands.
AGREES = "agrees"
NEITHER = "neither converged"
REFERENCE_DID_NOT = "converged (reference did not)"
FEWER = "fewer"
MORE = "more"
FAILED = "not converged (reference did)"
OUTSIDE = (FEWER, MORE, FAILED)


def verdict(case, reason, iterations):
    converged = reason == "converged"
    if case.reference is None:
        return REFERENCE_DID_NOT if converged else NEITHER
    if not converged:
        return FAILED
    fewest, most = case.band
    return FEWER if iterations < fewest else MORE if iterations > most else AGREES


def right_hand_side(case, matrix, folder, perturbation):
    """Value of --rhs."""
    random = {"A1": False, "Arand": True}[case.system["rhs"]]
    if not random and perturbation == 0:
        return "ones"
    from tables.right_hand_sides import write_right_hand_side  # why here: a table of A1 alone does without numpy

    write_right_hand_side(matrix, folder / "b.mtx", random, perturbation)
    return str(folder / "b.mtx")


def run_program(case, options, perturbation=0):
    """The program's JSON report."""
    system = case.system
    matrix = options.matrices / f"{system['name']}.mtx.gz"
    with tempfile.TemporaryDirectory() as name:
        rhs = right_hand_side(case, matrix, pathlib.Path(name), perturbation)
        return solve_program.report_of(
            options.program, matrix, *SOLVERS[system["solver"]], *BLOCKS[case.column], "--rhs", rhs, "--rtol", RTOL,
            "--max-iterations", case.max_iterations, "--singular", options.singular, "--backend", options.backend,
            *(["--threads", 1] if options.backend == "host" else []))  # fmt: skip


def solve(case, options):
    report = run_program(case, options)
    blocks = report["blocks"]
    record = Record(
        case,
        report["reason"],
        report["iterations"],
        report["relative_residual"],
        blocks.get("singular", 0) + blocks.get("non_finite", 0),
        verdict(case, report["reason"], report["iterations"]),
    )
    if record.verdict in OUTSIDE:
        again = [run_program(case, options, number) for number in range(1, options.perturbations + 1)]
        record.spread = [r["iterations"] if r["reason"] == "converged" else None for r in again]
    return f"{report['program']} {report['version']}", record


def cell(record):
    """ours / reference, and a mark where they differ."""
    reference = record.case.reference
    ours = str(record.iterations) if record.reason == "converged" else "-"
    text = f"{ours} / {'-' if reference is None else reference}"
    if record.verdict in OUTSIDE:
        return f"**{text}**"
    return text + " +" if record.verdict == REFERENCE_DID_NOT else text


def spread_text(record):
    """Our fewest and most iterations over the perturbed right-hand sides."""
    counts = [count for count in record.spread if count is not None]
    lost = len(record.spread) - len(counts)
    text = f"{min(counts)}..{max(counts)}" if counts else ""
    return ", ".join(filter(None, [text, f"{lost} not converged" if lost else ""]))


def within_spread(record):
    counts = [count for count in record.spread if count is not None] + [record.iterations]
    return min(counts) <= record.case.reference <= max(counts)


def within_text(record):
    if not record.spread:
        return ""
    return "yes" if within_spread(record) else "no"


def outside_lines(records, perturbations):
    """The section about the cases that are outside."""
    outside = [record for record in records if record.verdict in OUTSIDE]
    if not outside:
        return []
    lines = ["", "## Outside", ""]
    lines += ["Perturbed right-hand sides were not tried."] if perturbations == 0 else [
        f"Perturbed: our counts over {perturbations} right-hand sides that differ in the last places only. Where the "
        "reference lies within them, rounding alone explains the difference; where it does not, something else may. Cases "
        "inside their bands are not perturbed: some of them agree by the same luck, and which cases of a chaotic system "
        "stand here changes with the compiler.",
    ]  # fmt: skip
    lines += [
        "",
        "| system | blocks | ours | reference | band | perturbed | reference within | stop reason |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in outside:
        fewest, most = r.case.band
        lines.append(f"| {r.case.system['name']} | {r.case.column} | {r.iterations} | {r.case.reference} "
                     f"| {fewest}..{most} | {spread_text(r)} | {within_text(r)} | {r.reason} |")  # fmt: skip
    return lines


def summary(records):
    counts = {}
    for record in records:
        counts[record.verdict] = counts.get(record.verdict, 0) + 1
    outside = sum(counts.get(name, 0) for name in OUTSIDE)
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{len(records)} cases, {outside} outside the bands: {parts}."


def write_markdown(path, systems, records, program, options):
    by_case = {(id(r.case.system), r.case.column): r for r in records}
    lines = [
        "# Iteration counts against a reference",
        "",
        f"Written by `run.py iterations`; {program}, {options.backend} backend, --singular {options.singular}, "
        f"relative residual {RTOL:g}, at most {CAP} iterations. Cells: ours / reference, `-` not converged. "
        "Bands: within 2 % or 2 up to 500; above, within 5 % for cg and within a factor 1.25 for gmres(30). "
        "**Bold**: outside its band. `+`: converged where the reference did not.",
        "",
        summary(records),
        "",
        f"| system | n | nnz | solver | rhs | {' | '.join(BLOCKS)} |",
        "| --- | --- | --- | --- | --- |" + " --- |" * len(BLOCKS),
    ]
    for system in systems:
        cells = " | ".join(cell(by_case[id(system), column]) for column in BLOCKS)
        lines.append(
            f"| {system['name']} | {system['n']} | {system['nnz']} | {system['solver']} | {system['rhs']} | {cells} |")
    lines += outside_lines(records, options.perturbations)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tsv(path, records):
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["name", "solver", "rhs", "blocks", "ours", "reason", "relative_residual", "singular_blocks",
                        "reference", "verdict", "perturbed"])  # fmt: skip
        for r in records:
            system = r.case.system
            residual = "-" if r.relative_residual is None else f"{r.relative_residual:.2e}"
            reference = "-" if r.case.reference is None else r.case.reference
            table.writerow([system["name"], system["solver"], system["rhs"], r.case.column, r.iterations, r.reason,
                            residual, r.singular, reference, r.verdict, spread_text(r)])  # fmt: skip


def parse_arguments(words):
    parser = argparse.ArgumentParser(prog="run.py iterations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=solve_program.PROGRAM)
    parser.add_argument("--singular", default="scalar_jacobi", choices=["scalar_jacobi", "identity"],
                        help="what replaces singular blocks")  # fmt: skip
    parser.add_argument("--backend", default="host", choices=["host", "cuda"])
    parser.add_argument("--name", help="of the files that are written; default iterations-BACKEND")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS)
    parser.add_argument("--only", action="append", metavar="NAME", help="this system only; may be repeated")
    parser.add_argument("--perturbations", type=int, default=10,
                        help="right-hand sides to judge a case outside its band by; 0 for none")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, help="cases at the same time, one thread each")
    options = parser.parse_args(words)
    if not os.environ.get("BLOCKJACOBI_MATRICES"):
        parser.error("BLOCKJACOBI_MATRICES does not name the folder of matrices")
    options.matrices = pathlib.Path(os.environ["BLOCKJACOBI_MATRICES"])
    options.name = options.name or f"iterations-{options.backend}"
    return options


def read_systems(options):
    with options.reference.open(encoding="utf-8", newline="") as file:
        systems = list(csv.DictReader(file, delimiter="\t"))
    if options.only:
        unknown = set(options.only) - {system["name"] for system in systems}
        if unknown:
            raise SystemExit(f"not in {options.reference}: {', '.join(sorted(unknown))}")
        systems = [system for system in systems if system["name"] in options.only]
    return systems


def main(words):
    options = parse_arguments(words)
    systems = read_systems(options)
    cases = [Case(system, column) for system in systems for column in BLOCKS]
    records, program = [], ""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for program, record in pool.map(lambda case: solve(case, options), cases):
            records.append(record)
            if record.verdict in OUTSIDE:
                print(f"{record.case.system['name']:<36} {record.case.column:<5} {record.reason:<18} "
                      f"{record.iterations} / {record.case.reference}  {record.verdict}  perturbed: {spread_text(record)}", flush=True)  # fmt: skip
    options.output.mkdir(parents=True, exist_ok=True)
    write_markdown(options.output / f"{options.name}.md", systems, records, program, options)
    write_tsv(options.output / f"{options.name}.tsv", records)
    print(summary(records))
    return 1 if any(record.verdict in OUTSIDE for record in records) else 0
