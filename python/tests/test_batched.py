import numpy as np
import pytest
from systems import random_numbers, tolerance

import blockjacobi as bj
from blockjacobi import batched

COUNT, N = 6, 9


def in_order(a, order):
    """The same matrices in row order, in column order, or with gaps in both."""
    if order == "rows":
        return np.ascontiguousarray(a)
    if order == "columns":
        return np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
    wide = np.full((2 * a.shape[0], a.shape[1] + 2, a.shape[2] + 3), np.nan, a.dtype)
    if order == "columns, apart":
        wide = np.ascontiguousarray(wide.swapaxes(1, 2)).swapaxes(1, 2)
    part = wide[::2, 1 : a.shape[1] + 1, 2 : a.shape[2] + 2]
    part[...] = a
    return part


@pytest.fixture(params=["rows", "columns", "rows, apart", "columns, apart"])
def order(request):
    return request.param


def regular(dtype, n=N):
    return random_numbers((COUNT, n, n), dtype, 1) + 2 * np.eye(n, dtype=dtype)


def definite(dtype, n=N):
    half = random_numbers((COUNT, n, n), dtype, 2)
    return (half @ half.conj().swapaxes(1, 2) + np.eye(n)).astype(dtype)


def assert_close(found, expected, dtype, factor=100):
    assert found.dtype == np.dtype(dtype) and found.shape == expected.shape
    largest = max(1, np.abs(expected).max(initial=0))
    assert np.abs(found - expected).max(initial=0) <= factor * tolerance(dtype) * largest


def test_inverse(dtype, order):
    a = in_order(regular(dtype), order)
    x, info = batched.inverse(a)
    assert_close(x, np.linalg.inv(a), dtype)
    assert info.dtype == np.int32 and not info.any()
    assert (x.strides[1] < x.strides[2]) == order.startswith("columns")
    out = in_order(np.zeros_like(a), order)
    assert batched.inverse(a, out=out).x is out
    np.testing.assert_array_equal(out, x)
    assert batched.inverse(a, out=a).x is a
    np.testing.assert_array_equal(a, x)


@pytest.mark.parametrize("lower", [True, False])
def test_inverse_of_definite_matrices(dtype, order, lower):
    whole = definite(dtype)
    triangle = np.tril(whole) if lower else np.triu(whole)
    garbage = np.triu(np.full_like(whole, 99), 1) if lower else np.tril(np.full_like(whole, 99), -1)
    x, info = batched.inverse(in_order(triangle + garbage, order), definite=True, lower=lower)
    assert_close(x, np.linalg.inv(whole), dtype)
    assert not info.any()
    np.testing.assert_array_equal(x, x.conj().swapaxes(1, 2))


@pytest.mark.parametrize("op", ["none", "transpose", "conjugate_transpose"])
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_lu(dtype, order, op, columns):
    whole = regular(dtype)
    a = in_order(whole, order)
    factors = batched.lu(a)
    np.testing.assert_array_equal(a, whole)
    assert not factors.info.any() and factors.transposed == order.startswith("rows")
    turned = {"none": whole, "transpose": whole.swapaxes(1, 2), "conjugate_transpose": whole.conj().swapaxes(1, 2)}[op]
    b = random_numbers((COUNT, N) if columns is None else (COUNT, N, columns), dtype, 3)
    kept = b.copy()
    x = factors.solve(b, op)
    expected = np.linalg.solve(turned, b[..., None])[..., 0] if columns is None else np.linalg.solve(turned, b)
    assert_close(x, expected, dtype)
    np.testing.assert_array_equal(b, kept)
    inverses = factors.inverse()
    assert_close(inverses.x, np.linalg.inv(whole), dtype)
    assert not inverses.info.any()


def test_factors_of_lu(dtype):
    a = in_order(regular(dtype), "columns")
    factors = batched.lu(a)
    for k in range(COUNT):
        lower = np.tril(factors.factors[k], -1) + np.eye(N)
        permuted = a[k].copy()
        for i, row in enumerate(factors.pivots[k]):
            permuted[[i, row - 1]] = permuted[[row - 1, i]]
        assert_close((lower @ np.triu(factors.factors[k])).astype(dtype), permuted, dtype)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("columns", [None, 2])
def test_cholesky(dtype, order, lower, columns):
    whole = definite(dtype)
    a = in_order(whole, order)
    found = batched.cholesky(a, lower=lower)
    assert not found.info.any() and found.lower == lower
    factor = np.tril(found.factors) if lower else np.triu(found.factors)
    product = factor @ factor.conj().swapaxes(1, 2) if lower else factor.conj().swapaxes(1, 2) @ factor
    assert_close(product.astype(dtype), whole, dtype)
    b = random_numbers((COUNT, N) if columns is None else (COUNT, N, columns), dtype, 3)
    expected = np.linalg.solve(whole, b[..., None])[..., 0] if columns is None else np.linalg.solve(whole, b)
    assert_close(found.solve(b), expected, dtype)


@pytest.mark.parametrize("kind", ["general", "definite"])
def test_solve(dtype, order, kind):
    whole = definite(dtype) if kind == "definite" else regular(dtype)
    b = random_numbers((COUNT, N, 2), dtype, 4)
    x, info = batched.solve(in_order(whole, order), b, definite=kind == "definite")
    assert_close(x, np.linalg.solve(whole, b), dtype)
    assert not info.any()


@pytest.mark.parametrize("shape", [(9, 9), (9, 5), (5, 9)])
def test_qr(dtype, order, shape):
    whole = random_numbers((COUNT, *shape), dtype, 5)
    found = batched.qr(in_order(whole, order))
    r = found.r()
    least = min(shape)
    assert r.shape == (COUNT, least, shape[1]) and found.tau.shape == (COUNT, least)
    product = np.zeros((COUNT, *shape), dtype)
    product[:, :least] = r
    for i in reversed(range(least)):
        v = np.zeros((COUNT, shape[0], 1), dtype)
        v[:, i] = 1
        v[:, i + 1 :, 0] = found.factors[:, i + 1 :, i]
        product -= found.tau[:, i, None, None] * v @ (v.conj().swapaxes(1, 2) @ product)
    assert_close(product, whole, dtype)


def test_pseudo_inverse(dtype, order):
    whole = regular(dtype)
    whole[1, :, 3] = whole[1, :, 2]
    whole[2] = 0
    x, rank = batched.pseudo_inverse(in_order(whole, order))
    assert rank.tolist() == [N, N - 1, 0, N, N, N]
    assert_close(x, np.linalg.pinv(whole).astype(dtype), dtype, 1000)
    assert batched.pseudo_inverse(whole, rtol=0.9).rank.max() < N


def test_overwrite():
    for order in ("rows", "columns"):
        a = in_order(regular("float64"), order)
        factors = batched.lu(a, overwrite=True)
        assert factors.factors is a
        s = in_order(definite("float64"), order)
        assert batched.cholesky(s, overwrite=True).factors is s
    a = in_order(regular("float64"), "columns")
    assert batched.qr(a, overwrite=True).factors is a


def test_singular_matrices_are_told_and_leave_the_others(dtype):
    whole = regular(dtype)
    whole[3] = 0
    x, info = batched.inverse(whole)
    assert info[3] == 1 and np.isnan(x[3]).all()
    regular_ones = [0, 1, 2, 4, 5]
    assert_close(x[regular_ones], np.linalg.inv(whole[regular_ones]), dtype)
    assert batched.lu(whole).info[3] == 1
    assert batched.cholesky(-definite(dtype)).info.tolist() == [1] * COUNT


@pytest.mark.parametrize("n", [0, 1, 2, 33, 130])
def test_orders(n, order):
    a = in_order(random_numbers((3, n, n), "float64", 1) + n * np.eye(n), order)
    assert_close(batched.inverse(a).x, np.linalg.inv(a), "float64")
    b = random_numbers((3, n), "float64", 2)
    assert_close(batched.lu(a).solve(b), np.linalg.solve(a, b[..., None])[..., 0], "float64")


def test_nothing_at_all():
    assert batched.inverse(np.empty((0, 4, 4))).x.shape == (0, 4, 4)


A = regular("float64")
WIDE = np.concatenate([A, A[:1]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: batched.inverse(A[0]), "2 dimensions, must have 3"),
        (lambda: batched.inverse(np.ones((2, 3, 4))), "3"),
        (lambda: batched.inverse(A.astype(int)), "int64"),
        (lambda: batched.inverse(np.ones((2, 513, 513))), "513"),
        (lambda: batched.inverse(np.ones((2, 8, 8))[:, ::2, ::2]), r"strides \(64, 16, 2\)"),
        (lambda: batched.inverse(A, out=in_order(A, "columns").copy(order="K")), "must be contiguous"),
        (lambda: batched.inverse(A, out=np.empty_like(A, "float32")), "out is of float32, must be of float64"),
        (lambda: batched.inverse(A, out=np.empty((COUNT + 1, N, N))), str(COUNT + 1)),
        (lambda: batched.inverse(A, out=np.broadcast_to(0.0, A.shape)), "read-only"),
        (lambda: batched.inverse(A, out=A.reshape(-1)[: -N * N].reshape(COUNT - 1, N, N)), str(COUNT - 1)),
        (lambda: batched.pseudo_inverse(A, rtol=1.0), "rtol"),
        (lambda: batched.lu(A[0]), "2 dimensions, must have 3"),
        (lambda: batched.lu(np.broadcast_to(A[0], A.shape), overwrite=True), "read-only"),
        (lambda: batched.lu(A).solve(np.ones((COUNT, N - 1))), str(N - 1)),
        (lambda: batched.lu(A).solve(np.ones((COUNT, N), "float32")), "b is of float32, must be of float64"),
        (lambda: batched.lu(A).solve(np.ones(N)), "1 dimensions, must have 2 or 3"),
        (lambda: batched.lu(A).solve(np.ones((COUNT, N)), "adjoint"), 'op is "adjoint"'),
        (lambda: batched.cholesky(A).solve(np.ones((COUNT + 1, N))), str(COUNT + 1)),
        (lambda: batched.qr(A, overwrite=True), "columns of its matrices must be contiguous"),
        (lambda: batched.qr(A[0]), "2 dimensions, must have 3"),
        (lambda: batched.qr(np.ones((1, 513, 2))), "513"),
        (lambda: batched.lu(np.ones((2, 3, 4))), "3"),
        (lambda: batched.cholesky(np.ones((2, 3, 4))), "3"),
        (lambda: batched.cholesky(A[:, ::2, ::2], overwrite=True), "strides"),
        (lambda: batched.pseudo_inverse(np.ones((2, 3, 4))), "3"),
        (lambda: batched.solve(A, np.ones((COUNT, N - 1))), str(N - 1)),
        (lambda: batched.solve(A, np.ones((COUNT, N), "float32"), definite=True), "b is of float32, must be of float64"),
        (lambda: batched.inverse(WIDE[:COUNT], out=WIDE[1:]), "overlap"),
    ],
)
def test_misuse(call, words):
    with pytest.raises(bj.InvalidArgument, match=words):
        call()


def test_types():
    with pytest.raises(TypeError, match="list"):
        batched.inverse([[[1.0]]])
    with pytest.raises(TypeError, match="list"):
        batched.lu(A).solve([1.0])
    for call in (batched.inverse, batched.pseudo_inverse):
        with pytest.raises(TypeError, match="a must be an array of NumPy, CuPy or PyTorch"):
            call([[[1.0]]], out=np.ones((1, 1, 1)))
    for call in (batched.lu, batched.cholesky, batched.qr):
        with pytest.raises(TypeError, match="a must be an array of NumPy, CuPy or PyTorch"):
            call([[[1.0]]], overwrite=True)


def test_factorizations_describe_themselves(dtype):
    a = definite(dtype, 3)
    for made, name in ((batched.lu(a), "LU"), (batched.cholesky(a), "Cholesky"), (batched.qr(a[:, :, :2]), "QR")):
        assert repr(made) == f"<blockjacobi.batched.{name}: {COUNT} of 3 x {2 if name == 'QR' else 3}, {dtype}>"
