"""What an application costs beside its arithmetic: microseconds a call on a system of 12 rows.

usage: apply_overhead.py [--backend host|cuda] [--repeats 20] [--json FILE]

On CUDA it is the time of the calling thread, which enqueues and does not wait; CuPy is needed.
"""

import argparse
import json
import platform
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import blockjacobi

ROWS = 12


def microseconds(call, repeats, calls, wait):
    """The least mean of `calls` in a row: what disturbs a run only adds."""
    call()
    best = float("inf")
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / calls


def system():
    random = np.random.default_rng(1)
    return sp.csr_array(random.uniform(-1, 1, (ROWS, ROWS)) + ROWS * np.eye(ROWS))


def calls_of(A, M, r, linalg):
    """By name, with SciPy's or CuPy's module of operators."""
    out = r.copy()
    operator = linalg.aslinearoperator(M)
    identity = linalg.LinearOperator(A.shape, matvec=lambda x: x, dtype=A.dtype)
    return {
        "M.apply(r, out=out)": lambda: M.apply(r, out=out),
        "M @ r": lambda: M @ r,
        "aslinearoperator(M).matvec(r), as M= is used": lambda: operator.matvec(r),
        "an operator around the identity": lambda: identity.matvec(r),
        "A @ r": lambda: A @ r,
    }


def measure_on_host(repeats):
    A = system()
    M = blockjacobi.BlockJacobi(A, 3, backend=blockjacobi.Backend.host(1))
    calls = calls_of(A, M, np.ones(ROWS), spla)
    return platform.processor() or platform.machine(), {
        name: microseconds(call, repeats, 2000, lambda: None) for name, call in calls.items()}


def measure_on_cuda(repeats):
    import cupy
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse import linalg

    A = sparse.csr_matrix(sp.csr_matrix(system()))
    calls = calls_of(A, blockjacobi.BlockJacobi(A, 3), cupy.ones(ROWS), linalg)
    # A queue that is full makes the caller wait for the device: fewer calls than it holds.
    wait = cupy.cuda.Device().synchronize
    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), {
        name: microseconds(call, repeats, 100, wait) for name, call in calls.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["host", "cuda"], default="host")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    measure = measure_on_host if arguments.backend == "host" else measure_on_cuda
    machine, times = measure(arguments.repeats)
    for name, time_of_one in times.items():
        print(f"{name:<48}{time_of_one:8.2f} us")
    if arguments.json:
        record = {"backend": arguments.backend, "machine": machine, "rows": ROWS,
                  "blockjacobi": blockjacobi.__version__, "microseconds": times}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)


if __name__ == "__main__":
    main()
