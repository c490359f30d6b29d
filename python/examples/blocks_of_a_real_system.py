"""Compares choices of blocks on a system from a Matrix Market file: set-up, iterations, time.

usage: blocks_of_a_real_system.py FILE.mtx [--method cg] [--rtol 1e-8]
"""

import argparse
import time

import numpy as np
import scipy.io
import scipy.sparse as sp

import blockjacobi
from blockjacobi import partition


def choices(A):
    """Names, and what to give as blocks=."""
    yield "none", None
    yield "scalar", 1
    yield "supervariables", partition.supervariables(A)
    yield "detect 32", partition.detect(A, 32)
    yield "coupled 32", partition.coupled(A, 32)
    yield "clusters 32", partition.clusters(A, 32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--method", default="cg")
    parser.add_argument("--rtol", type=float, default=1e-8)
    arguments = parser.parse_args()

    A = sp.csr_array(scipy.io.mmread(arguments.file, spmatrix=False))
    b = A @ np.random.default_rng(1).uniform(-1, 1, A.shape[0])
    print(f"{arguments.file}: {A.shape[0]} rows, {A.nnz} entries, {arguments.method}, rtol {arguments.rtol:g}")
    print(f"{'blocks':<16}{'largest':>8}{'captured':>10}{'set-up/ms':>11}{'iterations':>12}{'solve/ms':>10}  outcome")
    for name, blocks in choices(A):
        start = time.perf_counter()
        M = None if blocks is None else blockjacobi.BlockJacobi(A, blocks, singular="scalar_jacobi")
        setup = 0.0 if M is None else time.perf_counter() - start
        _, report = blockjacobi.solve(A, b, M, method=arguments.method, rtol=arguments.rtol, history=False)
        largest, captured = ("", "") if M is None else (M.partition.largest, f"{M.report(A).captured:.1%}")
        print(f"{name:<16}{largest:>8}{captured:>10}{1e3 * setup:>11.1f}{report.iterations:>12}"
              f"{1e3 * report.seconds:>10.1f}  {report.reason}")


if __name__ == "__main__":
    main()
