"""What an application costs beside its arithmetic: microseconds a call on a system of 12 rows, in host memory.

usage: apply_overhead.py [--repeats 20]
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import blockjacobi


def microseconds(call, repeats, calls=2000):
    """The least mean of `calls` in a row: what disturbs a run only adds."""
    call()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    n = 12
    random = np.random.default_rng(1)
    A = sp.csr_array(random.uniform(-1, 1, (n, n)) + n * np.eye(n))
    M = blockjacobi.BlockJacobi(A, 3, backend=blockjacobi.Backend.host(1))
    r, out = np.ones(n), np.empty(n)
    operator = spla.aslinearoperator(M)
    identity = spla.LinearOperator((n, n), matvec=lambda x: x, dtype=float)
    rows = (
        ("M.apply(r, out=out)", lambda: M.apply(r, out=out)),
        ("M @ r", lambda: M @ r),
        ("aslinearoperator(M).matvec(r), as M= is used", lambda: operator.matvec(r)),
        ("SciPy's own operator around the identity", lambda: identity.matvec(r)),
        ("A @ r, SciPy's product", lambda: A @ r),
    )
    for name, call in rows:
        print(f"{name:<48}{microseconds(call, repeats):8.2f} us")


if __name__ == "__main__":
    main()
