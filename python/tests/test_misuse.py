"""Every error of the preconditioner, with its numbers."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from systems import elasticity_like, random_matrix

import blockjacobi as bj

A = random_matrix(12)
M = bj.BlockJacobi(A, 4)
R = np.ones(12)
BIG_ENDIAN = R.astype(">f8")
BIG_ENDIAN_MATRIX = A.copy()
BIG_ENDIAN_MATRIX.data = A.data.astype(">f8")
ONE_DIMENSION = sp.csr_array(R)
BSR = sp.bsr_array((np.stack(3 * [np.eye(4)]), [0, 1, 2], [0, 1, 2, 3]))
BSR_M = bj.BlockJacobi(BSR)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: M @ R.astype("float32"), "r is of float32, must be of float64"),
        (lambda: M @ R.astype(complex), "r is of complex128, must be of float64"),
        (lambda: M @ np.ones(12, dtype=int), "r is of int64, must be of float64"),
        (lambda: M @ np.ones(11), "r has 11 elements, must have 12"),
        (lambda: M @ np.ones((11, 2)), r"r has the shape \(11, 2\), must have 12 rows"),
        (lambda: M @ np.ones((12, 2, 2)), "r has 3 dimensions"),
        (lambda: M @ np.ones(24)[::2], r"r has the strides \(2,\) \(in elements\), must be contiguous"),
        (lambda: M @ np.ones(12)[::-1], r"r has the strides \(-1,\)"),
        (lambda: M @ np.ones((24, 4))[::2, ::2], r"strides \(8, 2\).*its rows or its columns must be contiguous"),
        (lambda: M.apply(R, np.empty(24)[::2]), r"out has the strides \(2,\)"),
        (lambda: M.apply(R, np.empty(12, "float32")), "out is of float32, must be of float64"),
        (lambda: M.apply(R, np.empty(13)), "out has 13 elements, must have 12"),
        (lambda: M.apply(R, np.empty((12, 1))), "out has 2 dimensions"),
        (lambda: M.apply(R, R), "overlap"),
        (lambda: M.apply(R, np.broadcast_to(0.0, 12)), "out is read-only"),
        (lambda: M.apply(np.ones((12, 2)), np.ones((12, 3))), "3"),
        (lambda: M.apply(R, op="adjoint"), 'op is "adjoint", must be one of none, transpose, conjugate_transpose'),
        (lambda: M.inverse_block(3), "block is 3, must be in 0..2"),
        (lambda: bj.BlockJacobi(A, "fancy"), 'blocks is "fancy", must be one of supervariables, detect'),
        (lambda: bj.BlockJacobi(A, 0), "0"),
        (lambda: bj.BlockJacobi(A, 513), "513"),
        (lambda: bj.BlockJacobi(A, bj.partition.uniform(13, 4)), "13"),
        (lambda: bj.BlockJacobi(A, 4, singular="ignore"), 'singular is "ignore", must be one of fail, identity'),
        (lambda: bj.BlockJacobi(A, 4, storage="fp8"), 'storage is "fp8", must be one of full, packed'),
        (lambda: bj.BlockJacobi(A, 4, storage="adaptive", accuracy=0), "accuracy"),
        (lambda: bj.BlockJacobi(A, 4, storage="packed"), "block"),
        (lambda: bj.BlockJacobi(A[:11], 4), "11"),
        (lambda: bj.BlockJacobi(A.astype(int), 4), "values is of int64, must be of float32"),
        (lambda: M.update(np.ones(3)), f"values has 3 elements, must have {A.nnz}"),
        (lambda: M.update(np.ones(A.nnz, "float32")), "values is of float32, must be of float64"),
        (lambda: M.rebuild(np.ones(3)), f"values has 3 elements, must have {A.nnz}"),
        (lambda: M.update(random_matrix(12, seed=8)), "pattern|entries"),
        (lambda: M.update(A.astype("float32")), "the matrix is of float32, must be of float64"),
        (lambda: bj.BlockJacobi(A, 4, check_pattern=False).update(A), "check_pattern"),
        (lambda: M.report(A.astype("float32")), "the matrix is of float32, must be of float64"),
        (lambda: M.report(random_matrix(13)), "13"),
        (lambda: bj.BlockJacobi(ONE_DIMENSION), r"A has the shape \(12,\), must be a matrix, of two dimensions"),
        (lambda: M @ BIG_ENDIAN, r"r is of >f8, which is not of this machine's byte order: give array.astype\("),
        (lambda: M.apply(R, BIG_ENDIAN.copy()), "out is of >f8, which is not of this machine's byte order"),
        (lambda: M.update(A.data.astype(">f8")), "values is of >f8, which is not of this machine's byte order"),
        (lambda: bj.BlockJacobi(BIG_ENDIAN_MATRIX, 4), "the matrix's values is of >f8, which is not of this machine's"),
        (lambda: BSR_M.update(BSR.data.ravel()), r"BlockJacobi.update: values has the shape \(48,\), must have that of "
         r"the BSR matrix's data, \(3, 4, 4\)"),
        (lambda: BSR_M.rebuild(BSR.tocsr().data), r"BlockJacobi.rebuild: values has the shape \(48,\), must have that"),
        (lambda: bj.TwoLevel(BSR, size=4).update(BSR.data.ravel()), r"TwoLevel.update: values has the shape \(48,\)"),
        (lambda: bj.Backend.host(-1), "-1"),
    ],
)
def test_invalid_arguments(call, words):
    with pytest.raises(bj.InvalidArgument, match=words) as caught:
        call()
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, bj.Error)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bj.BlockJacobi(A.tocsc(), 4), r"convert it, A.tocsr\(\), its format is csc"),
        (lambda: bj.BlockJacobi(A.toarray(), 4), "CSR or BSR"),
        (lambda: bj.BlockJacobi(A, [4, 8, 12]), "from_offsets"),
        (lambda: bj.BlockJacobi(A, True), "bool"),
        (lambda: bj.BlockJacobi(A.astype(np.longdouble), 4), f"values is of {np.dtype(np.longdouble)}, which is no"),
        (lambda: M @ R.astype(object), "r is of object, which is no type of numbers that the package takes"),
        (lambda: M.matvec([1.0] * 12), "list"),
        (lambda: M.apply([1.0] * 12, np.empty(12)), "no array"),
        (lambda: M.apply(R, [0.0] * 12), "no array"),
        (lambda: M.update([1.0] * A.nnz), "values is no array.*list"),
        (lambda: BSR_M.update([1.0] * BSR.nnz), "values must be an array of NumPy, CuPy or PyTorch.*list"),
    ],
)
def test_types_that_are_not_known(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_nothing_is_written_by_a_call_that_fails():
    out = np.zeros(24)
    with pytest.raises(bj.InvalidArgument):
        M.apply(R, out[::2])
    assert not out.any()


@pytest.mark.parametrize("blocks", [4, bj.partition.from_labels(np.arange(12) % 3)])
def test_an_out_with_more_columns(blocks):
    M = bj.BlockJacobi(random_matrix(12), blocks)
    with pytest.raises(bj.InvalidArgument, match="columns"):
        M.apply(np.ones((12, 2)), out=np.zeros((12, 3)))


def test_columns_out_of_range():
    for width, column in (("int32", 12), ("int64", 2**32), ("int64", -1)):
        B = random_matrix(12)
        B.indptr, B.indices = B.indptr.astype(width), B.indices.astype(width)
        B.indices[5] = column
        with pytest.raises(bj.InvalidArgument, match=str(column) if width == "int64" else "column"):
            bj.BlockJacobi(B, 4)


def test_offsets_that_decrease():
    B = random_matrix(12)
    B.indptr[3] = B.indptr[2] - 1
    with pytest.raises(bj.InvalidArgument, match="row"):
        bj.BlockJacobi(B, 4)


def test_copies_and_pickles_are_refused():
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="can be neither copied nor pickled"):
            refuse(M)
        with pytest.raises(TypeError):
            refuse(M.backend)


def test_a_build_without_cuda_says_so():
    if bj.cuda_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(bj.BackendUnavailable):
        bj.Backend.cuda()
    with pytest.raises(bj.InvalidArgument, match="number of its device"):
        bj.Backend.cuda(stream=1)


class OnDevice:
    """What says that it lies in device memory."""

    __cuda_array_interface__ = {"shape": (12,), "typestr": "<f8", "data": (4096, False), "version": 3, "stream": 1}


def test_device_arrays_are_refused_by_the_host():
    with pytest.raises(bj.InvalidArgument, match=r"out lies in device memory, the backend \(host, .*\) works in host"):
        M.apply(R, OnDevice())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": (4096, True)}, "read-only"),
        ({"typestr": ">f8"}, "byte order"),
        ({"typestr": "<f4"}, "float32, must be of float64"),
        ({"shape": (11,)}, "11 elements"),
        ({"strides": (16,)}, r"strides \(2,\)"),
        ({"strides": (12,)}, "12 bytes"),
        ({"mask": object()}, "masked"),
    ],
)
def test_the_array_interface_is_read_with_care(change, words):
    array = OnDevice()
    array.__cuda_array_interface__ = {**OnDevice.__cuda_array_interface__, **change}
    with pytest.raises(bj.InvalidArgument, match=words):
        M.apply(R, array)


def test_an_error_of_the_array_is_its_own():
    class Refuses:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("requires grad")

    with pytest.raises(RuntimeError, match="requires grad"):
        M.apply(R, Refuses())


def test_not_enough_memory():
    program = """
import resource
import blockjacobi
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    blockjacobi.partition.uniform(2**31 - 1, 1).offsets  # 8 GiB
except blockjacobi.OutOfMemory as error:
    print(isinstance(error, MemoryError), error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True there is not enough memory\n"


def test_permuted_packed_names_the_elements():
    B = elasticity_like(4, 2)
    labels = np.arange(32) // 2 % 5
    B.data[1] += 1
    with pytest.raises(bj.InvalidArgument, match="block"):
        bj.BlockJacobi(B, bj.partition.from_labels(labels), storage="packed")
