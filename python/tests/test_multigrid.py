"""The multigrid: its cycle by dense arithmetic, iterations, new values, and every error."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from systems import (
    blocks_of,
    dense_inverse,
    dense_of,
    elasticity_like,
    iterations,
    laplacian,
    random_numbers,
    tolerance,
)

import blockjacobi as bj

N = 144
METHODS = ["cg", "fcg", "minres", "bicgstab", "gmres", "fgmres", "richardson"]


def line(dtype="float64"):
    """Of N rows, definite; with complex numbers Hermitian, not symmetric."""
    off = np.full(N - 1, -1 if np.dtype(dtype).kind != "c" else -np.exp(1j), dtype)
    return sp.csr_array(sp.diags_array([off.conj(), np.full(N, 2.0, dtype), off], offsets=[-1, 0, 1], dtype=dtype))


def labels():
    return bj.partition.from_labels(np.arange(N) // 2 % 24)


@pytest.mark.parametrize("blocks", [4, "labels"])
def test_the_cycle(dtype, blocks):
    A = line(dtype)
    blocks = labels() if blocks == "labels" else blocks
    near_kernel = np.exp(-1j * np.arange(N)) if np.dtype(dtype).kind == "c" else np.ones(N)
    M = bj.Multigrid(A, blocks=blocks, vectors=near_kernel.astype(dtype), coarsest=72)
    fine, coarse = M.report().levels
    assert fine.rows == N and fine.nnz == A.nnz and coarse.relaxation == 0
    B = dense_of(M.matvec, dtype, N)
    assert np.abs(B - B.conj().T).max() <= 10 * tolerance(dtype) * np.abs(B).max()
    a, B = (each.astype(np.promote_types(dtype, "float64")) for each in (A.toarray(), B))
    eigenvalues = np.linalg.eigvals(B @ a).real
    assert eigenvalues.min() > 0.02 and eigenvalues.max() <= 1 + 100 * tolerance(dtype)
    # I - B A = S (I - Q A) S with S = I - v M^-1 A: Q A is a projection of the rank of the coarse matrix.
    smoothing = np.eye(N) - fine.relaxation * dense_inverse(A, blocks_of(M.partition)) @ a
    inverse = np.linalg.inv(smoothing)
    projection = np.eye(N) - inverse @ (np.eye(N) - B @ a) @ inverse
    if tolerance(dtype) < 1e-6:
        assert np.abs(projection @ projection - projection).max() <= 1e-7
        assert np.trace(projection).real == pytest.approx(coarse.rows, abs=1e-7)


def test_names_of_a_linear_operator():
    A = line()
    M = bj.Multigrid(A, blocks=4, coarsest=20)
    r, R = random_numbers(N, "float64", 1), random_numbers((N, 3), "float64", 2)
    z = M @ r
    out = np.empty(N)
    assert M.apply(r, out=out) is out
    for found in (M.matvec(r), M.apply(r), out, M.matvec(r[:, None])[:, 0], spla.aslinearoperator(M).matvec(r)):
        np.testing.assert_array_equal(found, z)
    np.testing.assert_array_equal(M @ R, np.stack([M @ column.copy() for column in R.T], axis=1))
    assert M.shape == (N, N) and M.dtype == np.float64 and M.nnz == A.nnz and M.nbytes > M.report().bytes > 0
    assert f"144 rows in 36 blocks, {len(M.report().levels)} levels, float64, host" in repr(M)
    with pytest.raises(NotImplementedError):
        M.rmatvec(r)


def test_a_block_jacobi_gives_blocks_and_options():
    A = line()
    r = random_numbers(N, "float64", 1)
    one = bj.Multigrid(A, bj.BlockJacobi(A, 6), coarsest=20)
    np.testing.assert_array_equal(one @ r, bj.Multigrid(A, blocks=6, coarsest=20) @ r)
    narrow = bj.Multigrid(A, bj.BlockJacobi(A, 6, storage="fp32", singular="identity", backend=bj.Backend.host(1)))
    assert narrow.block_report().storage == "fp32" and narrow.block_report().singular == "identity"
    assert narrow.backend.threads == 1 and narrow.partition == bj.partition.uniform(N, 6)


def test_the_report():
    report = bj.Multigrid(laplacian(40), blocks=8, coarsest=30).report()
    rows = [level.rows for level in report.levels]
    assert len(rows) >= 3 and rows[0] == 1600 and rows == sorted(rows, reverse=True) and rows[-1] <= 30
    assert all(0.5 < level.relaxation < 1.4 for level in report.levels[:-1]) and report.levels[-1].relaxation == 0
    assert report.is_finite and not report.is_singular and 0 < report.rcond < 1 and report.bytes > 0
    assert str(report).startswith(f"multigrid: {len(rows)} levels")
    assert "1600 rows, 7840 entries, relaxation" in str(report)
    assert f"{len(rows)} levels, 1600 rows" in repr(report) and "1600 rows, 7840 entries" in repr(report.levels[0])
    alone = bj.Multigrid(laplacian(6), blocks=4)
    assert len(alone.report().levels) == 1
    r = random_numbers(36, "float64", 1)
    np.testing.assert_array_equal(alone @ r, bj.BlockJacobi(laplacian(6), 4) @ r)


def test_fewer_iterations_of_cg():
    counts = []
    for nodes in (30, 60):
        A = laplacian(nodes)
        b = A @ random_numbers(A.shape[0], "float64", 5)
        blocks = bj.BlockJacobi(A, "clusters")
        M = bj.Multigrid(A, blocks, coarsest=50)
        alone = iterations(spla.cg, A, b, M=blocks, rtol=1e-8)
        joined = iterations(spla.cg, A, b, M=M, rtol=1e-8)
        assert 2 * joined < alone
        report = bj.solve(A, b, M).report
        assert report.converged and abs(report.iterations - joined) <= 2
        counts.append(joined)
    assert counts[1] <= counts[0] + 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("blocks", [8, "clusters"])
def test_solvers(method, blocks):
    A = laplacian(30)
    b = A @ random_numbers(A.shape[0], "float64", 5)
    x, report = bj.solve(A, b, bj.Multigrid(A, blocks=blocks, coarsest=50), method=method)
    assert report.converged and report.iterations < 60
    assert np.linalg.norm(b - A @ x) <= 1.1e-8 * np.linalg.norm(b)
    alone = bj.solve(A, b, bj.BlockJacobi(A, blocks), method=method, max_iterations=2000).report
    assert 2 * report.iterations < alone.iterations


@pytest.mark.parametrize("blocks", [8, "clusters"])
@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_several_right_hand_sides(method, blocks):
    A = laplacian(30)
    B = A @ random_numbers((A.shape[0], 3), "float64", 5)
    X, reports = bj.solve(A, B, bj.Multigrid(A, blocks=blocks, coarsest=50), method=method)
    assert all(report.converged and report.iterations < 60 for report in reports)
    assert (np.linalg.norm(B - A @ X, axis=0) <= 1.1e-8 * np.linalg.norm(B, axis=0)).all()


def signs(A):
    """D A D with D of random signs, and the near-kernel of it, of which ones know nothing."""
    d = np.sign(random_numbers(A.shape[0], "float64", 7))
    return sp.csr_array(sp.diags_array(d) @ A @ sp.diags_array(d)), d


@pytest.mark.parametrize("blocks", [8, "clusters"])
def test_near_kernels(blocks):
    A, d = signs(laplacian(40))
    b = A @ random_numbers(A.shape[0], "float64", 9)

    def count(**options):
        return bj.solve(A, b, bj.Multigrid(A, blocks=blocks, coarsest=50, **options)).report.iterations

    of_ones = count()
    assert 2 * count(vectors=d) < of_ones and count(relaxed=2) < of_ones
    assert count(vectors=np.stack([d, np.ones(d.size)], axis=1)) < of_ones


@pytest.mark.parametrize("blocks", ["nodes", "clusters", "parted"])
def test_bsr_has_a_vector_for_each_unknown(blocks):
    """Of two unknowns of which the second has the other sign on every node."""
    d = sp.diags_array(np.tile([1.0, -1.0], 1600))
    csr = sp.csr_array(d @ sp.kron(laplacian(40), [[2.0, -1.9], [-1.9, 2.0]]) @ d)
    A = sp.bsr_array(csr, blocksize=(2, 2))
    b = csr @ random_numbers(3200, "float64", 9)
    chosen = {"nodes": bj.partition.uniform(3200, 2),
              "clusters": bj.partition.from_labels(np.arange(3200) // 2 % 400),
              "parted": bj.partition.from_labels(np.arange(3200) % 2 + 2 * (np.arange(3200) // 8))}[blocks]
    M, of_csr = (bj.Multigrid(each, blocks=chosen, coarsest=50) for each in (A, csr))
    assert all(level.rows % 2 == 0 for level in M.report().levels)
    assert bj.solve(csr, b, M).report.iterations < bj.solve(csr, b, of_csr).report.iterations


@pytest.mark.parametrize("blocks", [4, "labels"])
def test_update(dtype, blocks):
    A = line(dtype)
    blocks = labels() if blocks == "labels" else blocks
    M = bj.Multigrid(A, blocks=blocks, coarsest=20)
    r = random_numbers(N, dtype, 1)
    z = M @ r
    M.update(A.data * np.array(4, dtype))
    np.testing.assert_array_equal(M @ r, z / np.array(4, dtype))
    other = A.copy()
    other.setdiag(np.linspace(2, 4, N).astype(dtype))
    M.update(other.data)
    assert np.abs(M @ r - z).max() > 1e-3 * np.abs(z).max()
    rtol = 1e-5 if tolerance(dtype) > 1e-6 else 1e-9
    assert bj.solve(other, r, M, rtol=rtol).report.converged
    M.update(A.data)
    np.testing.assert_array_equal(M @ r, z)


def test_update_of_bsr_takes_its_values():
    A = sp.bsr_array(elasticity_like(9, 3), blocksize=(3, 3))
    r = random_numbers(243, "float64", 1)
    M = bj.Multigrid(A, coarsest=20, symmetry_tolerance=1e-12)
    expected = M @ r / 4
    M.update(A.data * 4.0)
    np.testing.assert_array_equal(M @ r, expected)


@pytest.mark.parametrize("blocks", [4, "labels"])
def test_singular_blocks(blocks):
    A = line()
    blocks = labels() if blocks == "labels" else bj.partition.uniform(N, 4)
    broken = A.copy()
    broken.data[:] = 0
    with pytest.raises(bj.SingularBlock, match="block 0") as caught:
        bj.Multigrid(broken, blocks=blocks)
    assert sorted(caught.value.rows) == list(blocks.rows_of(0))
    M = bj.Multigrid(A, blocks=blocks, coarsest=20)
    with pytest.raises(bj.SingularBlock, match="Multigrid.update: block 0") as caught:
        M.update(np.zeros(A.nnz))
    assert sorted(caught.value.rows) == list(blocks.rows_of(0))
    M.update(np.zeros(A.nnz), check=False)
    assert bj.solve(A, np.ones(N), M).report.reason == "singular_block"
    M.update(A.data)
    assert bj.solve(A, np.ones(N), M).report.converged


def test_floating_bodies_and_nan_are_told():
    A = laplacian(20)
    A = sp.csr_array(A - sp.diags_array(A.sum(axis=1)))
    report = bj.Multigrid(A, blocks=4, coarsest=50).report()
    assert report.is_singular and report.is_finite and report.rcond < 1e-12 and "pseudo-inverse" in str(report)
    M = bj.Multigrid(laplacian(20), bj.BlockJacobi(laplacian(20), 4, singular="identity"), coarsest=50)
    values = laplacian(20).data.copy()
    values[100] = np.nan
    M.update(values)
    assert not M.report().is_finite


def test_symmetry_within_a_tolerance():
    A = line()
    A.data[1] *= 1 + 1e-14  # rounding, which is forgiven
    assert bj.solve(A, np.ones(N), bj.Multigrid(A, blocks=4, coarsest=20)).report.converged
    A.data[1] *= 1 + 1e-6
    with pytest.raises(bj.InvalidArgument, match="Multigrid: the matrix is not symmetric.*symmetry_tolerance"):
        bj.Multigrid(A, blocks=4)
    assert bj.solve(A, np.ones(N), bj.Multigrid(A, blocks=4, coarsest=20, symmetry_tolerance=1e-5)).report.converged


def test_a_callback_may_ask_the_preconditioner():
    A = laplacian(20)
    M = bj.Multigrid(A, blocks=8, coarsest=50)
    seen = []
    assert bj.solve(A, np.ones(400), M, progress=lambda p: seen.append(len(M.report().levels))).report.converged
    assert seen and set(seen) == {len(M.report().levels)}


A = line()
M = bj.Multigrid(A, blocks=4, coarsest=20)
R = np.ones(N)
VECTORS = np.ones((N, 2))
NAN = np.array([[np.nan, 1.0]] + [[1.0, 1.0]] * (N - 1))
WINDY = sp.csr_array(sp.diags_array([-1.5, 2.0, -0.5], offsets=[-1, 0, 1], shape=(N, N)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bj.Multigrid(A, bj.BlockJacobi(A, 4), blocks=4), "Multigrid: M has blocks.*give none beside it"),
        (lambda: bj.Multigrid(A, bj.BlockJacobi(A, 4), backend=bj.Backend.host(1)), "give none beside it"),
        (lambda: bj.Multigrid(A.astype("float32"), bj.BlockJacobi(A, 4)), "Multigrid: A is of float32, M of float64"),
        (lambda: bj.Multigrid(A[:40, :40], bj.BlockJacobi(A, 4)), "144.*40|40.*144"),
        (lambda: bj.Multigrid(A[:40], blocks=4), "40 x 144"),
        (lambda: bj.Multigrid(A, blocks=0), "0"),
        (lambda: bj.Multigrid(WINDY, blocks=4), "Multigrid: the matrix is not symmetric"),
        (lambda: bj.Multigrid(line("complex128") * 1j, blocks=4), "Multigrid: the matrix is not Hermitian"),
        (lambda: bj.Multigrid(A, blocks=4, symmetry_tolerance=-1.0), "symmetry_tolerance is -1, must be >= 0"),
        (lambda: bj.Multigrid(A, blocks=4, coarsest=0), "Multigrid: coarsest is 0, must be in 1..512"),
        (lambda: bj.Multigrid(A, blocks=4, coarsest=513), "Multigrid: coarsest is 513, must be in 1..512"),
        (lambda: bj.Multigrid(A, blocks=4, relaxed=513), "Multigrid: relaxed is 513, must be in 0..512"),
        (lambda: bj.Multigrid(A, blocks=4, relaxed=2, vectors=R), "relaxed is 2, must be 0 where vectors are given"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=VECTORS[:47]),
         r"Multigrid: vectors has the shape \(47, 2\), must have 144 rows"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=VECTORS[:, :0]), "0 vectors"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=VECTORS.astype("float32")), "vectors is of float32, must be of"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=VECTORS[:, :, None]), "vectors has 3 dimensions"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=NAN), "element 0 of vector 0 is NaN or Inf"),
        (lambda: M @ np.ones(47), "Multigrid.apply: r has 47 elements, must have 144"),
        (lambda: M @ R.astype("float32"), "r is of float32, must be of float64"),
        (lambda: M @ np.ones(2 * N)[::2], r"r has the strides \(2,\)"),
        (lambda: M.matvec(np.ones((N, 2))), "r has 2 dimensions"),
        (lambda: M.apply(R, np.empty(2 * N)[::2]), r"Multigrid.apply: out has the strides \(2,\)"),
        (lambda: M.apply(R, R), "overlap"),
        (lambda: M.update(np.ones(3)), f"Multigrid.update: values has 3 elements, must have {A.nnz}"),
        (lambda: M.update(A.data.astype("float32")), "values is of float32, must be of float64"),
        (lambda: bj.Multigrid(sp.bsr_array(A, blocksize=(2, 2))).update(A.data), r"Multigrid.update: values has the"),
        (lambda: bj.solve(A, R, M, backend=bj.Backend.host(1)), "M's is"),
        (lambda: bj.solve(A.astype("float32"), R.astype("float32"), M), "A is of float32, M of float64"),
    ],
)
def test_invalid_arguments(call, words):
    with pytest.raises(bj.InvalidArgument, match=words):
        call()


class OnDevice:
    ndim = 2
    __cuda_array_interface__ = {"shape": (N, 2), "typestr": "<f8", "data": (4096, False), "version": 3, "stream": 1}


def test_vectors_lie_on_the_host():
    with pytest.raises(bj.InvalidArgument, match="Multigrid: vectors lie in device memory, must be on the host"):
        bj.Multigrid(A, blocks=4, vectors=OnDevice())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bj.Multigrid(A, 4), "M must be a BlockJacobi or None"),
        (lambda: bj.Multigrid(A, M), "M must be a BlockJacobi or None"),
        (lambda: bj.Multigrid(A, blocks=[4, 8]), "from_offsets"),
        (lambda: bj.Multigrid(A.tocsc(), blocks=4), "convert it"),
        (lambda: M.update(A), "Multigrid.update takes the values.*give A.data"),
        (lambda: M.matvec([1.0] * N), "Multigrid.matvec: x.*list"),
        (lambda: bj.Multigrid(A, blocks=4, vectors=[1.0] * N), "Multigrid: vectors is no array.*list"),
    ],
)
def test_types_that_are_not_known(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_copies_and_pickles_are_refused():
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a Multigrid holds memory.*can be neither copied nor pickled"):
            refuse(M)
