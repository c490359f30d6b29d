"""Residuals of CG on one generated system with six choices of blocks: results/convergence-host.tsv.

The system is linear elasticity on 20 x 20 x 20 hexahedra whose stiffness varies by a factor 100, 26 460 rows; the
right-hand side is A x with random x. docs/plots.py draws the table.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from tables import solve_program

SYSTEM = ["elasticity", "--elements", "20", "20", "20", "--contrast", "100"]
CHOICES = [("scalar Jacobi", "uniform", 1), ("nodes, 3 rows", "uniform", 3), ("detect 32", "detect", 32),
           ("METIS 32", "metis", 32), ("clusters 32", "clusters", 32), ("clusters 256", "clusters", 256)]
COLUMNS = ["choice", "blocks", "rows_a_block", "megabytes", "iteration", "residual"]


def solve(programs, matrix, blocks, size):
    """The report of one solve, with its residuals."""
    report = matrix.with_suffix(".json")
    subprocess.run([programs / "examples" / "blockjacobi-solve", matrix, "--solver", "cg", "--backend", "host",
                    "--blocks", blocks, "--block-size", str(size), "--json", report],
                   check=True, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text())


def main(words):
    parser = argparse.ArgumentParser(prog="run.py convergence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=solve_program.BENCHMARKS.parent / "build" / "host", help="build folder")
    parser.add_argument("--output", type=pathlib.Path, default=solve_program.RESULTS / "convergence-host.tsv")
    options = parser.parse_args(words)
    lines = ["\t".join(COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        matrix = pathlib.Path(folder) / "system.mtx"
        subprocess.run([options.build / "matrices" / "blockjacobi-generate", *SYSTEM[:1], matrix, *SYSTEM[1:]],
                       check=True)
        for name, blocks, size in CHOICES:
            report = solve(options.build, matrix, blocks, size)
            count = report["blocks"]["count"]
            head = [name, str(count), f"{report['rows'] / count:.1f}",
                    f"{report['blocks']['inverse_bytes'] * 1e-6:.2f}"]
            lines += ["\t".join([*head, str(iteration), f"{residual / report['rhs_norm']:.4e}"])
                      for iteration, residual in enumerate(report["history"])]
    options.output.write_text("\n".join(lines) + "\n")

