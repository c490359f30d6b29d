"""Tensors of PyTorch in host memory."""

import numpy as np
import pytest
from systems import DTYPES, elasticity_like, random_numbers, tolerance

import blockjacobi as bj

torch = pytest.importorskip("torch")


def tensor_of(A, width="int64"):
    kind = getattr(torch, width)
    return torch.sparse_csr_tensor(torch.tensor(A.indptr, dtype=kind), torch.tensor(A.indices, dtype=kind),
                                   torch.tensor(A.data), size=A.shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", ["int32", "int64"])
def test_apply_and_solve(dtype, width):
    A = elasticity_like(8, 3, dtype)
    M = bj.BlockJacobi(tensor_of(A, width), 6)
    r = random_numbers(A.shape[0], dtype, 1)
    found = M @ torch.tensor(r)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), bj.BlockJacobi(A, 6) @ r)
    x, report = bj.solve(tensor_of(A, width), torch.tensor(A @ r), M, rtol=1e-4)
    assert isinstance(x, torch.Tensor) and report.converged
    assert bj.suggest(tensor_of(A, width)).best.name


@pytest.mark.parametrize(("kind", "options"), [
    (bj.TwoLevel, {"size": 12}), (bj.Multigrid, {"coarsest": 24, "symmetry_tolerance": 1e-12})])
def test_coarse_levels(kind, options):
    A = elasticity_like(8, 3)
    vectors = np.tile(np.eye(3), (64, 1))
    M = kind(tensor_of(A), blocks=6, vectors=torch.tensor(vectors), **options)
    r = random_numbers(A.shape[0], "float64", 1)
    assert isinstance(M @ torch.tensor(r), torch.Tensor)
    np.testing.assert_array_equal((M @ torch.tensor(r)).numpy(), kind(A, blocks=6, vectors=vectors, **options) @ r)
    M.update(tensor_of(A).values() * 2)
    assert (M @ torch.tensor(np.stack([r, r], 1))).shape == (A.shape[0], 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_batched(dtype, order):
    a = random_numbers((5, 7, 7), dtype, 1) + 3 * np.eye(7, dtype=dtype)
    b = random_numbers((5, 7), dtype, 2)
    t = torch.tensor(a)
    if order == "columns":
        t = t.swapaxes(1, 2).contiguous().swapaxes(1, 2)
    bound = 100 * tolerance(dtype)
    assert np.abs(bj.batched.inverse(t).x.numpy() - np.linalg.inv(a)).max() <= bound
    for op, turned in (("none", a), ("transpose", a.swapaxes(1, 2)), ("conjugate_transpose", a.conj().swapaxes(1, 2))):
        found = bj.batched.lu(t).solve(torch.tensor(b), op)
        assert np.abs(found.numpy() - np.linalg.solve(turned, b[..., None])[..., 0]).max() <= bound
    assert bj.batched.qr(t).r().shape == (5, 7, 7)


def test_misuse():
    M = bj.BlockJacobi(tensor_of(elasticity_like(2, 3)), 3)
    with pytest.raises(bj.InvalidArgument, match="strides"):
        M @ torch.ones(24, dtype=torch.float64)[::2]
    with pytest.raises(bj.InvalidArgument, match="r is of float32"):
        M @ torch.ones(12)
    with pytest.raises(TypeError):
        bj.BlockJacobi(torch.eye(3))
