"""Tensors of PyTorch on a device: current stream, CUDA graphs, gradients."""

import numpy as np
import pytest
from systems import elasticity_like, random_matrix, random_numbers

import blockjacobi as bj

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not bj.cuda_available(), reason="no CUDA device, or a build without CUDA"),
]


def tensor_of(A, width):
    kind = getattr(torch, width)
    return torch.sparse_csr_tensor(torch.tensor(A.indptr, dtype=kind), torch.tensor(A.indices, dtype=kind),
                                   torch.tensor(A.data), size=A.shape, device="cuda")


@pytest.mark.parametrize("width", ["int32", "int64"])
def test_apply_and_solve(width):
    A = elasticity_like(10, 3)
    T = tensor_of(A, width)
    M = bj.BlockJacobi(T, 6)
    assert M.backend.kind == "cuda"
    r = random_numbers(A.shape[0], "float64", 1)
    found = M @ torch.tensor(r, device="cuda")
    assert isinstance(found, torch.Tensor) and found.is_cuda
    expected = bj.BlockJacobi(A, 6) @ r
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-10, atol=1e-12)
    x, report = bj.solve(T, torch.tensor(A @ r, device="cuda"), M)
    assert report.converged and np.abs(x.cpu().numpy() - r).max() <= 1e-5


@pytest.mark.parametrize(("kind", "options"), [
    (bj.TwoLevel, {"size": 24}), (bj.Multigrid, {"coarsest": 24, "symmetry_tolerance": 1e-12})])
def test_coarse_levels(kind, options):
    A = elasticity_like(10, 3)
    vectors = np.tile(np.eye(3), (100, 1))
    M = kind(tensor_of(A, "int64"), blocks=6, vectors=torch.tensor(vectors), **options)
    r = random_numbers(A.shape[0], "float64", 1)
    found = M @ torch.tensor(r, device="cuda")
    assert isinstance(found, torch.Tensor) and found.is_cuda
    expected = kind(A, blocks=6, vectors=vectors, **options) @ r
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(bj.InvalidArgument, match="vectors lie in device memory"):
        kind(tensor_of(A, "int64"), blocks=6, vectors=torch.tensor(vectors, device="cuda"), **options)


@pytest.mark.stream
def test_the_current_stream_is_honoured():
    n = 4096
    A = torch.eye(n, dtype=torch.float64, device="cuda").to_sparse_csr()
    M = bj.BlockJacobi(A, 8)
    big = torch.ones(4096, 4096, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(8):
            big = big @ big / 4096
        r = torch.zeros(n, dtype=torch.float64, device="cuda") + big[0, 0]
        z = M @ r
        r.fill_(7)
        after = z * 2
    torch.cuda.synchronize()
    assert bool((after == 2).all())


@pytest.mark.stream
def test_apply_in_a_graph():
    A = random_matrix(60)
    M = bj.BlockJacobi(tensor_of(A, "int32"), 6)
    r = torch.ones(60, dtype=torch.float64, device="cuda")
    z = torch.empty_like(r)
    M.apply(r, out=z)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        M.apply(r, out=z)
    for factor in (1.0, 3.0):
        r.fill_(factor)
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_allclose(z.cpu().numpy(), factor * (bj.BlockJacobi(A, 6) @ np.ones(60)), rtol=1e-10)


@pytest.mark.stream
@pytest.mark.parametrize("levels", [1, 2])
def test_update_in_a_graph(levels):
    A = random_matrix(60)
    T = tensor_of(A, "int32")
    M = bj.BlockJacobi(T, 6) if levels == 1 else bj.TwoLevel(T, blocks=6, size=5)
    host = bj.BlockJacobi(A, 6) if levels == 1 else bj.TwoLevel(A, blocks=6, size=5)
    given = T.values().clone()
    values, r = given.clone(), torch.ones(60, dtype=torch.float64, device="cuda")
    z = torch.empty_like(r)
    M.update(values, check=False)
    M.apply(r, out=z)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        M.update(values, check=False)
        M.apply(r, out=z)
    expected = host @ np.ones(60)
    for factor, scale in ((1.0, 1.0), (2.0, 6.0), (4.0, 1.0)):
        values.copy_(given * factor)
        r.fill_(scale)
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_allclose(z.cpu().numpy(), expected * scale / factor, rtol=1e-9, atol=1e-9)


def test_batched_inverse_into_an_output():
    a = random_numbers((5, 7, 7), "float64", 1) + 3 * np.eye(7)
    t = torch.tensor(a, device="cuda")
    for out in (torch.empty_like(t), t):
        address = out.data_ptr()
        found = bj.batched.inverse(t, out=out)
        assert found.x is out and found.x.data_ptr() == address
        np.testing.assert_allclose(out.cpu().numpy(), np.linalg.inv(a), rtol=1e-9, atol=1e-12)


def test_misuse():
    M = bj.BlockJacobi(tensor_of(random_matrix(12, "complex128"), "int32"), 4)
    r = torch.ones(12, dtype=torch.complex128, device="cuda")
    with pytest.raises(bj.InvalidArgument, match="resolve_conj"):
        M @ r.conj()
    with pytest.raises(RuntimeError, match="requires grad"):
        M.apply(r.requires_grad_(), out=torch.empty_like(r))
