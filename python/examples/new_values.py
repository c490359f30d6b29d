"""A matrix whose values change from step to step: one analysis of the pattern, and what singular blocks do."""

import numpy as np
import scipy.sparse as sp

import blockjacobi


def main():
    n, block = 240, 4
    random = np.random.default_rng(3)
    band = sp.diags_array([random.uniform(0.2, 1.0, n) for _ in range(5)], offsets=[-2, -1, 0, 1, 2], shape=(n, n))
    A = sp.csr_array(band + 4.0 * sp.eye_array(n))
    M = blockjacobi.BlockJacobi(A, block)
    b = np.ones(n)

    x = np.zeros(n)
    for step in range(3):
        A.data *= random.uniform(0.9, 1.1, A.nnz)
        M.update(A.data)
        x, report = blockjacobi.solve(A, b, M, method="bicgstab", x0=x)
        print(f"step {step}: {report.iterations} iterations")
        assert report.converged

    # A block of zeros is named, where nothing else was asked for.
    broken = A.data.copy()
    broken[A.indptr[8] : A.indptr[12]] = 0.0
    try:
        M.update(broken)
    except blockjacobi.SingularBlock as error:
        print(f"block {error.block}, rows {list(error.rows)}: {error}")
    else:
        raise AssertionError("the singular block was not found")


if __name__ == "__main__":
    main()
