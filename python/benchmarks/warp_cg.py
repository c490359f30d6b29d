"""CG with block-Jacobi of NVIDIA Warp beside this package's, on a GPU.

Wants Warp 1.19 (`pip install warp-lang`), the first with such a preconditioner: blocks of one size, those of BSR.

usage: warp_cg.py [--device cuda|cpu] [--points 64] [--unknowns 3] [--iterations 200] [--json FILE]

A 7-point system of points^3 nodes with `unknowns` a node, which are the blocks of both. Set-up is the preconditioner
alone, of a matrix that lies where it is used. The time of an iteration is the median of seven solves, less that of
solves of ten iterations. Warp's kernels are compiled, or read from its cache, before anything is timed. `--device cpu`
tries the program where there is no GPU; Warp's reductions are not made for that, and the times say little.
"""

import argparse
import json
import statistics
import time

import numpy as np
import scipy.sparse as sp

import blockjacobi

WAYS = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")
FEW = 10  # Warp looks at the residual after so many iterations


def system(points, unknowns):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(points, points))
    grid = sp.kronsum(sp.kronsum(line, line), line)
    half = np.random.default_rng(1).uniform(-1, 1, (unknowns, unknowns))
    A = sp.bsr_array(sp.kron(grid, half @ half.T + np.eye(unknowns)), blocksize=(unknowns, unknowns))
    A.sort_indices()
    return A, np.random.default_rng(2).uniform(-1, 1, A.shape[0])


def median_seconds(call, wait, repeats=7):
    call()
    times = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measured(set_up, solve, wait, iterations):
    """solve(M, iterations, rtol) returns how many iterations it took."""
    M = set_up()
    whole, few = (median_seconds(lambda k=k: solve(M, k, 0.0), wait) for k in (iterations, FEW))
    return {"setup_ms": 1e3 * median_seconds(set_up, wait),
            "iteration_us": 1e6 * (whole - few) / (iterations - FEW),
            "iterations": solve(M, 10000, 1e-8)}


def of_warp(A, b, device, iterations):
    import warp
    import warp.optim.linear
    import warp.sparse

    warp.config.log_level = warp.LOG_WARNING
    unknowns = A.blocksize[0]
    nodes = A.shape[0] // unknowns
    rows = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(A.indptr))
    block, vector = warp.types.matrix((unknowns, unknowns), warp.float64), warp.types.vector(unknowns, warp.float64)
    with warp.ScopedDevice(device):
        matrix = warp.sparse.bsr_from_triplets(
            nodes, nodes, warp.array(rows), warp.array(A.indices.astype(np.int32)), warp.array(A.data, dtype=block))
        right = warp.array(b.reshape(nodes, unknowns), dtype=vector)

        def solve(M, limit, rtol):
            x = warp.zeros(nodes, dtype=vector)
            took, _, _ = warp.optim.linear.cg(matrix, right, x, tol=rtol, atol=0.0, maxiter=limit, M=M, check_every=FEW)
            return int(took)

        times = {way: measured(lambda way=way: warp.optim.linear.preconditioner(matrix, way), solve, warp.synchronize,
                               iterations) for way in WAYS}
        return warp.get_device().name, warp.__version__, times


def of_the_library(A, b, device, iterations):
    if device == "cpu":
        matrix, right, backend = A.tocsr(), b, blockjacobi.Backend.host(1)
    else:
        import cupy
        from cupyx.scipy import sparse

        matrix, right, backend = sparse.csr_matrix(sp.csr_matrix(A)), cupy.asarray(b), blockjacobi.Backend.cuda()

    def solve(M, limit, rtol):
        return blockjacobi.solve(matrix, right, M, rtol=rtol, max_iterations=limit, history=False).report.iterations

    return measured(lambda: blockjacobi.BlockJacobi(matrix, A.blocksize[0], backend=backend), solve,
                    backend.synchronize, iterations)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--unknowns", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--json")
    arguments = parser.parse_args()

    A, b = system(arguments.points, arguments.unknowns)
    name, version, times = of_warp(A, b, arguments.device, arguments.iterations)
    times["blockjacobi"] = of_the_library(A, b, arguments.device, arguments.iterations)
    record = {"rows": A.shape[0], "nnz": int(A.nnz), "block": arguments.unknowns, "device": name, "warp": version,
              "blockjacobi": blockjacobi.__version__, "times": times}
    print(f"{A.shape[0]} rows in blocks of {arguments.unknowns}, {name}, Warp {version}")
    print(f"{'':<26}{'set-up ms':>12}{'iteration us':>14}{'iterations':>12}")
    for way, found in times.items():
        print(f"{way:<26}{found['setup_ms']:>12.3f}{found['iteration_us']:>14.1f}{found['iterations']:>12}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)


if __name__ == "__main__":
    main()
