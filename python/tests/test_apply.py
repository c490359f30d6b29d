"""The preconditioner against NumPy's inverses of the same blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from systems import blocks_of, dense_inverse, elasticity_like, random_matrix, random_numbers, tolerance

import blockjacobi as bj


def assert_close(found, expected, dtype):
    assert found.dtype == np.dtype(dtype)
    assert np.abs(found - expected).max() <= tolerance(dtype) * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("op", ["none", "transpose", "conjugate_transpose"])
@pytest.mark.parametrize("blocks", [1, 5, 37, "labels"])
def test_apply_is_the_product_with_the_inverses(dtype, blocks, op):
    n = 61
    A = random_matrix(n, dtype)
    if blocks == "labels":
        blocks = bj.partition.from_labels(np.arange(n) % 7)
    M = bj.BlockJacobi(A, blocks)
    inverse = dense_inverse(A, blocks_of(M.partition))
    inverse = {"none": inverse, "transpose": inverse.T, "conjugate_transpose": inverse.conj().T}[op]
    r = random_numbers(n, dtype, 5)
    assert_close(M.apply(r, op=op), inverse @ r, dtype)
    for order in "CF":
        R = np.array(random_numbers((n, 4), dtype, 6), order=order)
        Z = M.apply(R, op=op)
        assert_close(Z, inverse @ R, dtype)
        assert Z.strides == R.strides
        out = np.zeros((n, 9), dtype)[:, 2:6] if order == "C" else np.zeros((n + 3, 4), dtype, "F")[:n]
        assert M.apply(R, out=out, op=op) is out
        assert_close(out, inverse @ R, dtype)


def test_names_of_a_linear_operator(dtype):
    A = random_matrix(24, dtype)
    M = bj.BlockJacobi(A, 6)
    inverse = dense_inverse(A, blocks_of(M.partition))
    r, R = random_numbers(24, dtype, 1), random_numbers((24, 3), dtype, 2)
    assert M.shape == (24, 24) and M.dtype == np.dtype(dtype)
    assert_close(M @ r, inverse @ r, dtype)
    assert_close(M @ R, inverse @ R, dtype)
    assert_close(M.matvec(r), inverse @ r, dtype)
    assert_close(M.matvec(r[:, None]), (inverse @ r)[:, None], dtype)
    assert_close(M.matmat(R), inverse @ R, dtype)
    assert_close(M.rmatvec(r), inverse.conj().T @ r, dtype)
    assert_close(M.rmatmat(R), inverse.conj().T @ R, dtype)
    assert_close(M.H @ r, inverse.conj().T @ r, dtype)
    assert_close(M.T @ r, inverse.T @ r, dtype)
    assert_close((M @ sp.linalg.aslinearoperator(A)) @ r, inverse @ (A @ r), dtype)
    assert sp.linalg.aslinearoperator(M) is M


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_index_widths(index, make):
    A = make(random_matrix(40))
    A.indptr, A.indices = A.indptr.astype(index), A.indices.astype(index)
    B = random_matrix(40)
    r = random_numbers(40, "float64", 3)
    assert np.array_equal(bj.BlockJacobi(A, 8) @ r, bj.BlockJacobi(B, 8) @ r)


def test_offsets_of_64_and_columns_of_32_bits():
    A = random_matrix(40)
    A.indptr = A.indptr.astype("int64")
    r = random_numbers(40, "float64", 3)
    assert np.array_equal(bj.BlockJacobi(A, 8) @ r, bj.BlockJacobi(random_matrix(40), 8) @ r)


def test_unsorted_rows_and_duplicates():
    A = random_matrix(30)
    coo = A.tocoo()
    shuffled = np.random.default_rng(4).permutation(2 * A.nnz)
    rows, cols = np.tile(coo.row, 2)[shuffled], np.tile(coo.col, 2)[shuffled]
    values = np.tile(coo.data / 2, 2)[shuffled]
    order = np.argsort(rows, kind="stable")
    offsets = np.searchsorted(rows[order], np.arange(31)).astype(np.int32)
    B = sp.csr_array((values[order], cols[order].astype(np.int32), offsets), shape=A.shape)
    assert not B.has_sorted_indices
    r = random_numbers(30, "float64", 3)
    np.testing.assert_allclose(bj.BlockJacobi(B, 10) @ r, bj.BlockJacobi(A, 10) @ r, rtol=1e-12)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("make", [sp.bsr_array, sp.bsr_matrix])
def test_bsr_states_its_blocks(make, index, dtype):
    A = elasticity_like(6, 3, dtype)
    B = make(A, blocksize=(3, 3))
    B.indptr, B.indices = B.indptr.astype(index), B.indices.astype(index)
    M = bj.BlockJacobi(B)
    assert len(M.partition) == 36 and M.partition.largest == 3
    r = random_numbers(A.shape[0], dtype, 1)
    assert_close(M @ r, bj.BlockJacobi(A, 3) @ r, dtype)
    assert len(bj.BlockJacobi(B, 6).partition) == 18


def test_bsr_of_oblong_blocks_needs_blocks():
    B = sp.bsr_array(elasticity_like(4, 3), blocksize=(3, 6))
    M = bj.BlockJacobi(B)  # the supervariables
    assert M.partition.largest == 3


def test_supervariables_are_the_default():
    assert bj.BlockJacobi(elasticity_like(8, 4)).partition == bj.partition.uniform(256, 4)


def test_fortran_ordered_numpy_scalars_and_read_only_inputs():
    A = random_matrix(12)
    r = random_numbers(12, "float64", 1)
    expected = bj.BlockJacobi(A, 4) @ r
    for array in (A.data, A.indices, A.indptr, r):
        array.flags.writeable = False
    assert np.array_equal(bj.BlockJacobi(A, np.int64(4)) @ r, expected)


class OfAnotherLibrary:
    """An array that has DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_other_libraries():
    M = bj.BlockJacobi(random_matrix(12), 4)
    r, out = random_numbers(12, "float64", 1), np.zeros(24)
    M.apply(OfAnotherLibrary(r), OfAnotherLibrary(out[:12]))
    np.testing.assert_array_equal(out[:12], M @ r)
    out[:] = 0
    for array, words in ((out[::2], r"out has the strides \(2,\)"), (out[:12].astype("float32"), "out is of float32")):
        with pytest.raises(bj.InvalidArgument, match=words):
            M.apply(r, OfAnotherLibrary(array))
    with pytest.raises(TypeError, match="OfAnotherLibrary"):  # whose result would be no array of theirs
        M.apply(OfAnotherLibrary(r))
    assert not out.any()


def test_empty_matrix():
    M = bj.BlockJacobi(sp.csr_array((0, 0)), 4)
    assert (M @ np.empty(0)).shape == (0,) and len(M.partition) == 0


def test_l1_makes_the_iteration_converge():
    A = elasticity_like(8, 2)
    plain, l1 = bj.BlockJacobi(A, 2), bj.BlockJacobi(A, 2, l1=True)
    dense = A.toarray()
    radius = [np.abs(np.linalg.eigvals(np.eye(128) - (M @ dense))).max() for M in (plain, l1)]
    assert radius[1] < 1
    assert radius[0] != radius[1]


@pytest.mark.parametrize("storage", ["packed", "fp32", "bf16", "fp16", "adaptive"])
def test_storage(storage):
    A = elasticity_like(8, 3)
    r = random_numbers(A.shape[0], "float64", 1)
    full = bj.BlockJacobi(A, 12)
    narrow = bj.BlockJacobi(A, 12, storage=storage)
    bound = {"packed": 1e-13, "fp32": 1e-6, "bf16": 2e-2, "fp16": 2e-3, "adaptive": 0.2}[storage]
    difference = np.linalg.norm(narrow @ r - full @ r) / np.linalg.norm(full @ r)
    assert difference <= bound
    report = narrow.report()
    assert report.storage == storage and sum(report.formats.values()) == len(narrow.partition)
    assert report.inverse_bytes < full.report().inverse_bytes
