"""CG of CuPy on a GPU with this package's M=, beside a diagonal of CuPy as M= and the library's CG.

Wants a CUDA device and CuPy; .ci/gpu-python runs it.

usage: cupy_cg.py [--points 128] [--unknowns 1] [--blocks 8] [--iterations 200] [--json FILE]

A 7-point system of points^3 nodes (128^3 is 2.1 million rows) with `unknowns` a node. Every solver does the same number
of iterations; the time of one is the median of seven solves, less that of a solve of one iteration. The overhead of M=
is what an iteration of CuPy's CG takes with M=, over one without a preconditioner and an application apart. Whole
solves, to 1e-8, are medians of three, set-up not included.

CuPy has no preconditioner of CG's kind: its scalar Jacobi is the reciprocal of the diagonal, multiplied element by
element in a LinearOperator that this program makes.
"""

import argparse
import inspect
import json
import statistics
import time

import numpy as np

import blockjacobi


def system(cupy, sparse, points, unknowns):
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(points, points), format="csr")
    one = sparse.identity(points, format="csr")
    grid = (sparse.kron(sparse.kron(line, one), one) + sparse.kron(sparse.kron(one, line), one)
            + sparse.kron(sparse.kron(one, one), line))
    if unknowns > 1:
        half = np.random.default_rng(1).uniform(-1, 1, (unknowns, unknowns))
        grid = sparse.kron(grid, sparse.csr_matrix(cupy.asarray(half @ half.T + np.eye(unknowns))))
    return sparse.csr_matrix(grid)


def median_seconds(cupy, call, repeats=7):
    call()
    times = []
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=128)
    parser.add_argument("--unknowns", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--json")
    arguments = parser.parse_args()

    import cupy
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse import linalg

    A = system(cupy, sparse, arguments.points, arguments.unknowns)
    b = cupy.asarray(np.random.default_rng(2).uniform(-1, 1, A.shape[0]))
    M = blockjacobi.BlockJacobi(A, arguments.blocks)
    reciprocal = 1.0 / A.diagonal()
    scalar = linalg.LinearOperator(A.shape, matvec=lambda r: reciprocal * r, dtype=A.dtype)
    out = cupy.empty_like(b)
    # CuPy 14 took SciPy's name.
    rtol = "rtol" if "rtol" in inspect.signature(linalg.cg).parameters else "tol"

    def an_iteration(preconditioner):
        """A tolerance of 0 never stops before maxiter."""
        whole, none = (median_seconds(cupy, lambda k=k: linalg.cg(A, b, M=preconditioner, maxiter=k, **{rtol: 0.0}))
                       for k in (arguments.iterations, 1))
        return 1e6 * (whole - none) / (arguments.iterations - 1)

    def of_the_library():
        whole, none = (median_seconds(cupy, lambda k=k: blockjacobi.solve(A, b, M, rtol=0.0, max_iterations=k))
                       for k in (arguments.iterations, 1))
        return 1e6 * (whole - none) / (arguments.iterations - 1)

    def whole_ms(solve):
        return 1e3 * median_seconds(cupy, solve, repeats=3)

    record = {
        "rows": A.shape[0], "nnz": int(A.nnz), "unknowns": arguments.unknowns, "block": arguments.blocks,
        "device": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "cupy": cupy.__version__, "blockjacobi": blockjacobi.__version__,
        "apply_us": 1e6 * median_seconds(cupy, lambda: [M.apply(b, out=out) for _ in range(100)]) / 100,
        "cupy_cg_none_us": an_iteration(None),
        "cupy_cg_scalar_us": an_iteration(scalar),
        "cupy_cg_blocks_us": an_iteration(M),
        "blockjacobi_cg_us": of_the_library(),
        "scalar_iterations": _iterations(linalg, A, b, scalar, rtol),
        "blocks_iterations": _iterations(linalg, A, b, M, rtol),
        "library_iterations": blockjacobi.solve(A, b, M).report.iterations,
        "scalar_solve_ms": whole_ms(lambda: linalg.cg(A, b, M=scalar, **{rtol: 1e-8})),
        "blocks_solve_ms": whole_ms(lambda: linalg.cg(A, b, M=M, **{rtol: 1e-8})),
        "library_solve_ms": whole_ms(lambda: blockjacobi.solve(A, b, M, history=False)),
    }
    record["over_apply"] = record["cupy_cg_blocks_us"] / (record["cupy_cg_none_us"] + record["apply_us"])
    for name, value in record.items():
        print(f"{name:<20} {value:.4g}" if isinstance(value, float) else f"{name:<20} {value}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)


def _iterations(linalg, A, b, preconditioner, rtol):
    count = [0]

    def callback(_):
        count[0] += 1

    _, status = linalg.cg(A, b, M=preconditioner, callback=callback, **{rtol: 1e-8})
    return count[0] if status == 0 else None


if __name__ == "__main__":
    main()
