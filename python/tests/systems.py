"""Matrices, vectors and expected results that the tests share."""

import numpy as np
import scipy.sparse as sp

DTYPES = ["float32", "float64", "complex64", "complex128"]


def tolerance(dtype):
    return 2e-4 if np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1) == 4 else 1e-11


def random_numbers(shape, dtype, seed):
    random = np.random.default_rng(seed)
    numbers = random.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * random.uniform(-1, 1, shape)
    return numbers.astype(dtype)


def random_matrix(n, dtype="float64", seed=1, density=0.2):
    """Of random pattern and values, with a diagonal that makes every block regular."""
    random = np.random.default_rng(seed)
    pattern = random.random((n, n)) < density
    dense = np.where(pattern, random_numbers((n, n), dtype, seed + 1), 0).astype(dtype)
    dense += (n * np.eye(n)).astype(dtype)
    return sp.csr_array(dense)


def elasticity_like(nodes, unknowns=3, dtype="float64", seed=3):
    """Hermitian positive definite, `unknowns` a node of a square grid, with strongly coupled unknowns of a node."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(nodes, nodes))
    grid = sp.kronsum(line, line).tocsr()
    half = random_numbers((unknowns, unknowns), dtype, seed)
    node = half @ half.conj().T + 0.05 * np.eye(unknowns)
    random = np.random.default_rng(seed)
    scale = sp.diags_array(10.0 ** random.uniform(-1, 1, grid.shape[0]))
    return sp.csr_array(sp.kron(scale @ grid @ scale, node, format="csr").astype(dtype))


def laplacian(nodes):
    """Five points on a square grid."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(nodes, nodes))
    return sp.csr_array(sp.kronsum(line, line))


def dense_of(operator, dtype, n):
    return np.stack([operator(column) for column in np.eye(n, dtype=dtype)], axis=1)


def iterations(solver, A, b, **options):
    """Of a solver of SciPy, which solves to 1e-8."""
    count = [0]

    def counts_one(_):
        count[0] += 1

    x, status = solver(A, b, callback=counts_one, **options)
    assert status == 0 and np.linalg.norm(b - A @ x) <= 1.1e-8 * np.linalg.norm(b)
    return count[0]


def dense_inverse(A, rows_of_blocks):
    """M^-1 as a dense matrix, by NumPy."""
    dense = A.toarray()
    inverse = np.zeros_like(dense)
    for rows in rows_of_blocks:
        at = np.ix_(rows, rows)
        inverse[at] = np.linalg.inv(dense[at])
    return inverse


def blocks_of(partition):
    return [partition.rows_of(block) for block in range(len(partition))]
