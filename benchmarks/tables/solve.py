"""Tables of the Krylov solvers out of a record of `solve`, with the verdict on the project's targets.

Iterations beside their byte floor (for other storage than full that of its bytes, without a target), Ginkgo's (given
figures, averages over a fixed number: beside the average of ours, begin and end of the solve in it) and, where it was
timed in the same run, CG put together from cuSPARSE and cuBLAS (an iteration more of both); products beside cuSPARSE's;
whole solves, set-up included, beside Ginkgo's with the same largest block and its best against ours; there every count
of iterations must lie within the band of iterations.py too. Iterations of which a solve ended early miss theirs.
"""

import csv
import pathlib

from tables import iterations, records_of

GIVEN = pathlib.Path(__file__).resolve().parent.parent / "given" / "h200_solves.tsv"
SMALL = "7-point 25^3"
LAND_OF_FLOOR = 75.0
LAND_SMALL_MS = 0.015
# Milliseconds an iteration, blocks of 8.
LAND_MS = {
    "cg_iteration": {"7-point 16^3": 0.008, "7-point 25^3": 0.008, "7-point 40^3": 0.008, "7-point 50^3": 0.014,
                     "7-point 64^3": 0.024, "7-point 80^3": 0.040, "7-point 100^3": 0.072, "7-point 128^3": 0.148},
    "gmres_iteration": {"7-point 16^3": 0.014, "7-point 25^3": 0.014, "7-point 40^3": 0.020, "7-point 50^3": 0.028,
                        "7-point 64^3": 0.050, "7-point 100^3": 0.165, "7-point 128^3": 0.39},
}
LAND_BICGSTAB = 2.1  # iterations of CG
COLUMNS = "8 columns"  # in place of a storage
LAND_COLUMNS = 2.5  # the same
LAND_SOLVE_EACH = 4.0  # each choice of blocks against Ginkgo's with the same, but for
NOT_EACH = ("xpetra_regions_A",)
LAND_SOLVE = 8.0  # our best against Ginkgo's best
CHOICES = ("1", "8", "16", "32", "suggest")
STORAGES = ("full", "packed", "fp32", "bf16", "fp16", "adaptive")
ITERATIONS = ("ms: a whole solve over its iterations; marginal: what an iteration more takes. x Ginkgo is by ms, beside given averages of "
              "another run; x unfused is by iterations more of both, in this run.")


def read_given(path):
    with open(path, encoding="utf-8") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        return {(r["operation"], r["matrix"], r["solver"], r["block"]): r for r in rows}


class Tables:
    def __init__(self, record, given):
        self.records = record["records"]
        self.given = given
        self.copy = record["copy_gbps"]
        self.lines = [records_of.head(record), ""]
        self.rows = self.missed = 0

    def select(self, **wanted):
        return [r for r in self.records if all(r[k] == v for k, v in wanted.items())]

    def verdict(self, passes):
        self.rows += 1
        self.missed += not passes
        return "yes" if passes else "**no**"

    def row(self, *cells):
        self.lines.append("| " + " | ".join(str(c) for c in cells) + " |")

    def head(self, title, *cells):
        self.lines += ["", f"## {title}", ""]
        self.row(*cells)
        self.row(*["---"] * len(cells))

    def iterations(self):
        self.head("Iterations", "system", "solver", "storage", "block", "ms", "marginal ms", "% of floor", "x Ginkgo",
                  "x unfused", "LAND")
        for r in self.select(implementation="blockjacobi"):
            if r["operation"] not in ("cg_iteration", "gmres_iteration", "bicgstab_iteration"):
                continue
            extra = r["storage"] != "full"  # a row beside those with a target
            peer = self.given.get((r["operation"], r["matrix"], r["solver"], str(r["block"])))
            unfused = self.select(
                operation=r["operation"], implementation="cusparse + cublas", matrix=r["matrix"], block=r["block"])
            percent = 100 * r["fraction_of_floor"]
            land = self.land_ms(r) if not extra or r["storage"] == COLUMNS else None
            passes = None if land is None else r["time_ms"] <= land
            if r["reason"]:  # some solve ended before its iterations were over
                passes = False
            marginal = r.get("marginal_ms") or r["time_ms"]  # records from before had nothing else
            self.row(r["matrix"], r["solver"], r["storage"], r["block"], f"{r['time_ms']:.4f}", f"{marginal:.4f}",
                     f"{percent:.0f}", f"{float(peer['time_ms']) / r['time_ms']:.1f}" if peer else "-",
                     f"{unfused[0]['time_ms'] / marginal:.1f}" if unfused and unfused[0]["time_ms"] else "-",
                     "-" if passes is None else self.verdict(passes))
        self.lines += ["", ITERATIONS]

    def land_ms(self, r):
        """What the iteration may take; None without a target."""
        if r["operation"] == "bicgstab_iteration" or r["storage"] == COLUMNS:
            cg = self.select(operation="cg_iteration", implementation="blockjacobi", storage="full",
                             matrix=r["matrix"], block=r["block"])
            factor = LAND_COLUMNS if r["storage"] == COLUMNS else LAND_BICGSTAB
            return factor * cg[0]["time_ms"] if cg else None
        targets = LAND_MS[r["operation"]]
        if r["block"] == 8 and r["matrix"] in targets:
            return targets[r["matrix"]]
        if r["operation"] == "gmres_iteration":
            return None
        if r["matrix"] == SMALL:
            return LAND_SMALL_MS
        return r["time_ms"] * 100 * r["fraction_of_floor"] / LAND_OF_FLOOR

    def products(self):
        self.head("Products", "system", "storage", "ms", "% of floor", "cuSPARSE CSR_ALG1, ms", "CSR_ALG2, ms")
        for r in self.select(operation="spmv", implementation="blockjacobi"):
            peers = [self.select(operation="spmv", implementation=f"cusparse {a}", matrix=r["matrix"])[0]["time_ms"]
                     for a in ("alg1", "alg2")]
            self.row(r["matrix"], r["storage"], f"{r['time_ms']:.4f}", f"{100 * r['fraction_of_floor']:.0f}",
                     *(f"{p:.4f}" if p else "-" for p in peers))

    @staticmethod
    def total(given):
        return float(given["setup_ms"]) + float(given["time_ms"]) if given["iterations"] else None

    def solves(self):
        self.head("Whole solves: iterations / set-up + solve ms (times Ginkgo with the same largest block)", "system",
                  "solver", *CHOICES, "best, x Ginkgo's best", "true residual", "LAND")
        names = dict.fromkeys((r["matrix"], r["solver"]) for r in self.records
                              if r["operation"] == "krylov_solve" and r["partition"] in CHOICES)
        for matrix, solver in names:
            cells, best, peer_best, passes, residual = [], None, None, True, 0.0
            for choice in CHOICES:
                found = self.select(
                    operation="krylov_solve", matrix=matrix, solver=solver, partition=choice, storage="full")
                peer = self.given.get(("krylov_solve", matrix, solver, choice))
                peer_ms = self.total(peer) if peer else None
                if peer_ms is not None:
                    peer_best = min(peer_ms, peer_best or peer_ms)
                if not found or found[0]["reason"] != "converged":
                    cells.append(found[0]["reason"] if found else "-")
                    passes = passes and peer_ms is None
                    continue
                r = found[0]
                residual = max(residual, r["true_residual"])
                best = min(r["time_ms"], best or r["time_ms"])
                cell = f"{r['iterations']} / {r['setup_ms']:.2f} + {r['solve_ms']:.2f}"
                if peer_ms is not None:
                    cell += f" ({peer_ms / r['time_ms']:.1f}x)"
                    fewest, most = iterations.band(int(peer["iterations"]), solver)
                    if not fewest <= r["iterations"] <= most:
                        cell += " **outside**"
                        passes = False
                    if matrix not in NOT_EACH:
                        passes = passes and peer_ms >= LAND_SOLVE_EACH * r["time_ms"]
                cells.append(cell)
            ratio = peer_best / best if best and peer_best else None
            if ratio is not None:
                passes = passes and ratio >= LAND_SOLVE
            self.row(matrix, solver, *cells, f"{ratio:.1f}" if ratio else "-", f"{residual:.2e}",
                     "-" if peer_best is None else self.verdict(passes))

    def storages(self):
        def has_blocks_of_32(r):
            return r["partition"] == "32" or (r["partition"] == "uniform" and r["block"] == 32)

        names = dict.fromkeys(r["matrix"] for r in self.select(operation="krylov_solve", storage="packed")
                              if has_blocks_of_32(r))
        if not names:
            return
        self.head("CG with every storage of the inverses, blocks of 32: iterations / solve ms (times full)", "system",
                  *STORAGES)
        for matrix in names:
            full_ms, cells = None, []
            for storage in STORAGES:
                found = [r for r in self.select(operation="krylov_solve", matrix=matrix, solver="cg", storage=storage)
                         if has_blocks_of_32(r)]
                if not found or found[0]["reason"] != "converged":
                    cells.append(found[0]["reason"] if found else "-")
                    continue
                full_ms = full_ms or found[0]["solve_ms"]
                cells.append(f"{found[0]['iterations']} / {found[0]['solve_ms']:.2f} "
                             f"({full_ms / found[0]['solve_ms']:.2f}x)")
            self.row(matrix, *cells)


def report(record):
    """(tables as text, whether every row reaches its target)"""
    tables = Tables(record, read_given(GIVEN))
    tables.iterations()
    tables.products()
    tables.storages()
    tables.solves()
    tables.lines += ["", f"{tables.rows - tables.missed} of {tables.rows} rows reach their target."]
    return "\n".join(tables.lines) + "\n", tables.missed == 0
