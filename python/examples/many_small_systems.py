"""Ten thousand small systems at once, in both orders of their elements."""

import numpy as np

from blockjacobi import batched


def main():
    random = np.random.default_rng(4)
    a = random.uniform(-1, 1, (10_000, 6, 6)) + 3 * np.eye(6)
    b = random.uniform(-1, 1, (10_000, 6))

    factors = batched.lu(a)
    x = factors.solve(b)
    print(f"residual {np.abs(np.einsum('kij,kj->ki', a, x) - b).max():.1e}, {np.count_nonzero(factors.info)} singular")

    # The same matrices column by column, as LAPACK and Fortran have them: neither order is copied to be inverted.
    columns = np.asfortranarray(a.transpose(1, 2, 0)).transpose(2, 0, 1)
    assert columns.strides[1] == 8
    difference = np.abs(batched.inverse(a).x - batched.inverse(columns).x).max()
    print(f"both orders agree to {difference:.1e}")
    assert difference < 1e-12


if __name__ == "__main__":
    main()
