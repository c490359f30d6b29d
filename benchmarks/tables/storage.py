"""Solves systems with cg and every storage of the inverses, and writes one table: iterations, and bytes of the
inverses relative to full storage.

BLOCKJACOBI_MATRICES names the folder of NAME.mtx.gz; without names, the symmetric or Hermitian positive definite
systems of the list below are taken. The blocks are uniform ones of --block-size rows; b = A x with x uniform in [-1, 1].
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys

from tables import solve_program

SYSTEMS = """
494_bus pyamg_bar 662_bus nos3 pyamg_local_disc_galerkin_diffusion bcsstk08 bcsstk09 1138_bus ml_elasticity1 mhd1280b
muelu_meshtying_Q bcsstk14 bcsstk13 hypre_beam_tet_dof2475 chaste_bidomain_cube6000 mhd3200b muelu_maxwell_M1 nasa4704
bcsstk16 hypre_ams_mfemA teko_lsc_F_2 wathenSmall magma_ani5_crop xpetra_regions_A ccx_segmenttet hypre_tucker21935
""".split()
STORAGES = ("full", "packed", "fp32", "bf16", "fp16", "adaptive")
CAP = 5000


def solve(options, name, storage):
    """The program's JSON report, or what it says on the error stream."""
    try:
        return solve_program.report_of(
            options.program, options.matrices / f"{name}.mtx.gz", "--solver", "cg", "--blocks", "uniform",
            "--block-size", options.block_size, "--rtol", "1e-8", "--max-iterations", CAP, "--storage", storage,
            "--backend", options.backend, *(["--threads", 1] if options.backend == "host" else []))  # fmt: skip
    except solve_program.Refused as refusal:
        return refusal.reason


def cell(report, full):
    """Iterations and relative bytes of one solve."""
    if isinstance(report, str):
        return "not Hermitian" if "Hermitian" in report else "error"
    share = report["blocks"]["inverse_bytes"] / full["blocks"]["inverse_bytes"]
    converged = report["reason"] == "converged"
    return f"{report['iterations'] if converged else report['reason']} / {share:.2f}"


def formats(report):
    """"12 fp16, 3 full" of adaptive storage."""
    return ", ".join(f"{count} {name}" for name, count in report["blocks"]["formats"].items())


def row(options, name):
    reports = {storage: solve(options, name, storage) for storage in STORAGES}
    full = reports["full"]
    cells = [cell(reports[storage], full) for storage in STORAGES]
    return f"| {name} | {full['rows']} | {' | '.join(cells)} | {formats(reports['adaptive'])} |"


def main(words):
    parser = argparse.ArgumentParser(prog="run.py storage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SYSTEMS)
    parser.add_argument("--program", type=pathlib.Path, default=solve_program.PROGRAM)
    parser.add_argument("--matrices", type=pathlib.Path, default=os.environ.get("BLOCKJACOBI_MATRICES"))
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--block-size", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, help="default: benchmarks/results/storage-BACKEND.md")
    options = parser.parse_args(words)
    if options.matrices is None:
        sys.exit("name the folder of the matrices with BLOCKJACOBI_MATRICES or --matrices")
    options.matrices = pathlib.Path(options.matrices)
    output = options.output or solve_program.RESULTS / f"storage-{options.backend}.md"
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: row(options, name), options.names))
    header = " | ".join(("system", "rows", *STORAGES, "formats of adaptive"))
    output.write_text(
        f"# CG with every storage of the inverses, {options.backend}\n\n"
        f"Iterations / bytes of the inverses relative to full storage. Uniform blocks of {options.block_size} rows, "
        f"rtol 1e-8, at most {CAP} iterations, accuracy 0.1 for adaptive, b = A x with x uniform in [-1, 1]. "
        "Written by `run.py storage`.\n\n"
        f"| {header} |\n|{' --- |' * (len(STORAGES) + 3)}\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )
