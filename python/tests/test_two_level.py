"""The coarse level: its formulas by dense arithmetic, iterations, new values, and every error."""

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
    random_matrix,
    random_numbers,
    tolerance,
)

import blockjacobi as bj

N = 48


def definite(dtype, n=N):
    """Hermitian positive definite, of neighbours near and far."""
    A = random_matrix(n, dtype, density=0.1).toarray()
    return sp.csr_array((A + A.conj().T).astype(dtype))


def labels():
    return bj.partition.from_labels(np.arange(N) * 7 % 12)


def assert_close(found, expected, dtype):
    assert found.dtype == np.dtype(dtype)
    assert np.abs(found - expected).max() <= 10 * tolerance(dtype) * max(1, np.abs(expected).max())


@pytest.mark.parametrize("mode", ["additive", "adef1", "adef2"])
@pytest.mark.parametrize("blocks", [4, "labels"])
def test_the_formulas(dtype, mode, blocks):
    A = definite(dtype)
    blocks = labels() if blocks == "labels" else blocks
    vectors = random_numbers((N, 2), dtype, 4)
    M = bj.TwoLevel(A, blocks=blocks, vectors=vectors, size=8, mode=mode)
    a, q = A.toarray(), dense_of(M.correct, dtype, N)
    inverse = dense_inverse(A, blocks_of(M.partition))
    # Q A Q = Q has the rank of Z, whose range has the vectors.
    assert_close(q @ a @ q, q, dtype)
    assert_close(q, q.conj().T, dtype)
    assert_close((q @ a @ vectors).astype(dtype), vectors, dtype)
    assert np.linalg.matrix_rank(q, tol=1e-3 * np.abs(q).max()) == M.report().size <= 8
    assert M.report().size == 2 * M.report().aggregates and M.report().uncovered_rows == 0
    identity = np.eye(N)
    expected = {"additive": inverse + q, "adef1": inverse @ (identity - a @ q) + q,
                "adef2": inverse + q @ (identity - a @ inverse)}[mode]
    assert_close(dense_of(M.matvec, dtype, N), expected.astype(dtype), dtype)


def test_names_of_a_linear_operator():
    A = definite("float64")
    M = bj.TwoLevel(A, blocks=4, size=6)
    r, R = random_numbers(N, "float64", 1), random_numbers((N, 3), "float64", 2)
    z = M @ r
    out = np.empty(N)
    assert M.apply(r, out=out) is out
    for found in (M.matvec(r), M.apply(r), out, M.matvec(r[:, None])[:, 0], spla.aslinearoperator(M).matvec(r)):
        np.testing.assert_array_equal(found, z)
    expected = np.stack([M @ column.copy() for column in R.T], axis=1)
    for order in "CF":
        np.testing.assert_array_equal(M @ np.array(R, order=order), expected)
        np.testing.assert_array_equal(M.matmat(np.array(R, order=order)), expected)
    assert M.shape == (N, N) and M.dtype == np.float64 and M.nnz == A.nnz and "48 rows in 12 blocks" in repr(M)
    assert M.nbytes > M.report().bytes > 0
    with pytest.raises(NotImplementedError):
        M.rmatvec(r)


def test_a_block_jacobi_gives_blocks_and_options():
    A = definite("float64")
    r = random_numbers(N, "float64", 1)
    one = bj.TwoLevel(A, bj.BlockJacobi(A, 6), size=6)
    np.testing.assert_array_equal(one @ r, bj.TwoLevel(A, blocks=6, size=6) @ r)
    narrow = bj.TwoLevel(A, bj.BlockJacobi(A, 6, storage="fp32", singular="identity", backend=bj.Backend.host(1)))
    assert narrow.block_report().storage == "fp32" and narrow.block_report().singular == "identity"
    assert narrow.backend.threads == 1 and narrow.partition == bj.partition.uniform(N, 6)


def test_fewer_iterations_of_cg():
    A = laplacian(40)
    b = A @ random_numbers(A.shape[0], "float64", 5)
    blocks = bj.BlockJacobi(A, "clusters")
    alone = iterations(spla.cg, A, b, M=blocks, rtol=1e-8)
    joined = iterations(spla.cg, A, b, M=bj.TwoLevel(A, blocks), rtol=1e-8)
    deflated = bj.TwoLevel(A, blocks, mode="adef2")
    started = iterations(spla.cg, A, b, M=deflated, x0=deflated.correct(b), rtol=1e-8)
    assert joined < 0.8 * alone and started < joined
    for M, count in ((blocks, alone), (bj.TwoLevel(A, blocks), joined), (deflated, started)):
        report = bj.solve(A, b, M).report
        assert report.converged and abs(report.iterations - count) <= max(2, 0.02 * count)


@pytest.mark.parametrize(("method", "mode"), [("gmres", "adef1"), ("bicgstab", "adef1"), ("fcg", "adef2"),
                                              ("minres", "additive"), ("fgmres", "additive")])
def test_solvers(method, mode):
    A = laplacian(24)
    b = A @ random_numbers(A.shape[0], "float64", 5)
    x, report = bj.solve(A, b, bj.TwoLevel(A, blocks=8, mode=mode), method=method)
    alone = bj.solve(A, b, bj.BlockJacobi(A, 8), method=method).report
    assert report.converged and report.iterations < alone.iterations
    assert np.linalg.norm(b - A @ x) <= 1.1e-8 * np.linalg.norm(b)


def test_bsr_has_a_vector_for_each_unknown(dtype):
    A = sp.bsr_array(elasticity_like(6, 3, dtype), blocksize=(3, 3))
    unknowns = np.tile(np.eye(3, dtype=dtype), (36, 1))
    for blocks in (None, bj.partition.from_labels(np.arange(108) // 3 % 7)):
        M = bj.TwoLevel(A, blocks=blocks, size=12)
        assert M.report().size == 3 * M.report().aggregates
        for vector in unknowns.T:
            assert_close(M.correct(A @ vector), vector, dtype)


@pytest.mark.parametrize("blocks", [8, "clusters"])
def test_relaxed_vectors(blocks):
    A = sp.bsr_array(sp.kron(laplacian(40), [[2.0, 1.0], [1.0, 2.0]]), blocksize=(2, 2))
    b = A @ random_numbers(A.shape[0], "float64", 9)
    alone = bj.solve(A, b, bj.BlockJacobi(A, blocks)).report.iterations
    M = bj.TwoLevel(A, blocks=blocks, relaxed=4, mode="automatic")
    assert M.report().mode == "adef2" and bj.solve(A, b, M).report.iterations < 0.8 * alone


def test_the_mode_follows_from_the_matrix():
    A = laplacian(8)
    assert bj.TwoLevel(A, blocks=4, mode="automatic").report().mode == "adef2"
    A.data[1] *= 2
    assert bj.TwoLevel(A, blocks=4, mode="automatic").report().mode == "adef1"


def test_of_one_vector():
    A = definite("float64")
    vector = random_numbers(N, "float64", 3)
    M = bj.TwoLevel(A, blocks=4, vectors=vector, size=5)
    assert_close(M.correct(A @ vector), vector, "float64")


@pytest.mark.parametrize("blocks", [4, "labels"])
def test_update(dtype, blocks):
    A = definite(dtype)
    blocks = labels() if blocks == "labels" else blocks
    M = bj.TwoLevel(A, blocks=blocks, size=6)
    q = dense_of(M.correct, dtype, N)
    B = A.copy()
    B.data = A.data * 3
    B[np.arange(N), np.arange(N)] += np.arange(N).astype(dtype)
    M.update(B.data)
    b, updated = B.toarray(), dense_of(M.correct, dtype, N)
    # Q of the new values in the old space.
    assert_close(updated @ b @ updated, updated, dtype)
    assert_close((updated @ b @ q).astype(dtype), q, dtype)
    assert_close(dense_of(M.matvec, dtype, N), dense_inverse(B, blocks_of(M.partition)) + updated, dtype)


def test_update_of_bsr_takes_its_values():
    A = sp.bsr_array(elasticity_like(5, 3), blocksize=(3, 3))
    r = random_numbers(75, "float64", 1)
    M = bj.TwoLevel(A, size=9)
    expected = M @ r / 4
    M.update(A.data * 4.0)
    np.testing.assert_array_equal(M @ r, expected)


@pytest.mark.parametrize("blocks", [4, "labels"])
def test_singular_blocks(blocks):
    A = definite("float64")
    blocks = labels() if blocks == "labels" else bj.partition.uniform(N, 4)
    rows = list(blocks.rows_of(2))
    broken = A.tolil()
    broken[rows[0], :] = broken[rows[1], :]
    broken = sp.csr_array(broken)
    with pytest.raises(bj.SingularBlock, match="block 2") as caught:
        bj.TwoLevel(broken, blocks=blocks)
    assert sorted(caught.value.rows) == rows
    M = bj.TwoLevel(broken, bj.BlockJacobi(broken, blocks, singular="identity"))
    assert [defect.block for defect in M.block_report().defects] == [2]
    assert sorted(M.block_report().defects[0].rows) == rows
    M = bj.TwoLevel(A, blocks=blocks)
    with pytest.raises(bj.SingularBlock, match="TwoLevel.update: block 0") as caught:
        M.update(np.zeros(A.nnz))
    assert sorted(caught.value.rows) == list(blocks.rows_of(0))
    M.update(np.zeros(A.nnz), check=False)
    assert bj.solve(A, np.ones(N), M, method="gmres").report.reason == "singular_block"
    M.update(A.data)
    assert bj.solve(A, np.ones(N), M).report.converged


def test_a_floating_body_is_told():
    line = sp.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40)))
    line[0, 0] = line[39, 39] = 1.0
    M = bj.TwoLevel(line, blocks=4)
    report = M.report()
    assert report.is_singular and report.is_finite and report.rcond < 1e-13
    assert "singular" in str(report) and "40 rows" in repr(report) and report.mode == "additive" and report.rows == 40
    assert not bj.TwoLevel(laplacian(6), blocks=4).report().is_singular


def test_a_callback_may_ask_the_preconditioner():
    A = laplacian(12)
    M = bj.TwoLevel(A, blocks=8)
    seen = []
    assert bj.solve(A, np.ones(144), M, progress=lambda p: seen.append(M.report().size)).report.converged
    assert seen and set(seen) == {M.report().size}


A = definite("float64")
M = bj.TwoLevel(A, blocks=4, size=6)
R = np.ones(N)
VECTORS = np.ones((N, 2))
NAN = np.array([[np.nan, 1.0]] + [[1.0, 1.0]] * (N - 1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bj.TwoLevel(A, bj.BlockJacobi(A, 4), blocks=4), "give none beside it"),
        (lambda: bj.TwoLevel(A, bj.BlockJacobi(A, 4), backend=bj.Backend.host(1)), "give none beside it"),
        (lambda: bj.TwoLevel(A.astype("float32"), bj.BlockJacobi(A, 4)), "A is of float32, M of float64"),
        (lambda: bj.TwoLevel(A[:40, :40], bj.BlockJacobi(A, 4)), "48.*40|40.*48"),
        (lambda: bj.TwoLevel(A[:40], blocks=4), "40 x 48"),
        (lambda: bj.TwoLevel(A, blocks=0), "0"),
        (lambda: bj.TwoLevel(A, blocks=4, mode="balanced"), 'mode is "balanced", must be one of additive, adef1'),
        (lambda: bj.TwoLevel(A, blocks=4, relaxed=513), "513"),
        (lambda: bj.TwoLevel(A, blocks=4, relaxed=2, vectors=np.ones(A.shape[0])), "relaxed"),
        (lambda: bj.TwoLevel(A, blocks=4, size=-1), "size is -1, must be in 0..4096"),
        (lambda: bj.TwoLevel(A, blocks=4, size=4097), "size is 4097, must be in 0..4096"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=VECTORS, size=1), "size is 1, an aggregate has 2 vectors"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=VECTORS[:47]), r"vectors has the shape \(47, 2\), must have 48 rows"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=VECTORS[:, :0]), "0 vectors"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=VECTORS.astype("float32")), "vectors is of float32, must be of"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=VECTORS[:, :, None]), "vectors has 3 dimensions"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=NAN), "element 0 of vector 0 is NaN or Inf"),
        (lambda: M @ np.ones(47), "r has 47 elements, must have 48"),
        (lambda: M @ R.astype("float32"), "r is of float32, must be of float64"),
        (lambda: M @ np.ones(2 * N)[::2], r"r has the strides \(2,\)"),
        (lambda: M.matvec(np.ones((N, 2))), "r has 2 dimensions"),
        (lambda: M.apply(R, np.empty(2 * N)[::2]), r"out has the strides \(2,\)"),
        (lambda: M.apply(R, R), "overlap"),
        (lambda: M.correct(R, R), "overlap"),
        (lambda: M.correct(np.ones(47)), "correct: r has 47 elements, must have 48"),
        (lambda: M.update(np.ones(3)), f"values has 3 elements, must have {A.nnz}"),
        (lambda: M.update(A.data.astype("float32")), "values is of float32, must be of float64"),
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
    with pytest.raises(bj.InvalidArgument, match="vectors lie in device memory, must be on the host"):
        bj.TwoLevel(A, blocks=4, vectors=OnDevice())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bj.TwoLevel(A, 4), "M must be a BlockJacobi or None"),
        (lambda: bj.TwoLevel(A, blocks=[4, 8]), "from_offsets"),
        (lambda: bj.TwoLevel(A.tocsc(), blocks=4), "convert it"),
        (lambda: M.update(A), "give A.data"),
        (lambda: M.matvec([1.0] * N), "list"),
        (lambda: bj.TwoLevel(A, blocks=4, vectors=[1.0] * N), "vectors is no array.*list"),
    ],
)
def test_types_that_are_not_known(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_copies_and_pickles_are_refused():
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="can be neither copied nor pickled"):
            refuse(M)
