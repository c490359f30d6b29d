"""Preconditions SciPy's CG, and solves the same system by the library's own."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import blockjacobi


def coupled_diffusion(points=30, unknowns=3, seed=1):
    """Diffusion of several coupled unknowns a node on a square grid, scaled differently from node to node."""
    random = np.random.default_rng(seed)
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(points, points))
    grid = sp.kronsum(line, line)
    half = random.uniform(-1, 1, (unknowns, unknowns))
    scale = sp.diags_array(10.0 ** random.uniform(-1, 1, points * points))
    node = half @ half.T + 0.05 * np.eye(unknowns)
    return sp.bsr_array(sp.kron(scale @ grid @ scale, node), blocksize=(unknowns, unknowns))


def main():
    A = coupled_diffusion()
    b = A @ np.random.default_rng(2).uniform(-1, 1, A.shape[0])

    M = blockjacobi.BlockJacobi(A)
    print(M.report(A))

    count = 0

    def counts(_):
        nonlocal count
        count += 1

    x, status = spla.cg(A, b, M=M, rtol=1e-8, callback=counts)
    assert status == 0
    print(f"SciPy's cg: {count} iterations, residual {np.linalg.norm(b - A @ x) / np.linalg.norm(b):.1e}")

    x, report = blockjacobi.solve(A, b, M, rtol=1e-8)
    assert report.converged
    print(f"blockjacobi.solve: {report}")


if __name__ == "__main__":
    main()
