"""Sparse matrices of SciPy, CuPy and PyTorch as arrays in CSR."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from . import _arrays, _core
from .errors import InvalidArgument


class BlockData(NamedTuple):
    """How the values of a BSR matrix stand."""

    shape: tuple[int, ...]
    order: numpy.ndarray
    """Entry k in CSR is the element order[k]."""


class Matrix:
    """The arrays of a matrix; copied only where the library cannot use them as they are: 64-bit column numbers, and the
    block rows of BSR."""

    def __init__(self, rows: int, cols: int, offsets: Any, columns: Any, values: Any):
        self.rows = rows
        self.cols = cols
        self.offsets = offsets
        self.columns = _narrowed(columns, cols)
        self.values = values
        self.block: int | None = None
        self.block_data: BlockData | None = None
        """Of BSR alone."""

    def view(self, backend: _core.Backend) -> _core.SparseView:
        return _core.SparseView(self.rows, self.cols, self.offsets, self.columns, self.values, backend)


def is_matrix(A: Any) -> bool:
    return getattr(A, "format", None) in ("csr", "bsr") or _is_torch_csr(A)


def read(A: Any) -> Matrix:
    """Raises TypeError for what is no CSR or BSR matrix of a library that is known, InvalidArgument unless it has two
    dimensions."""
    kind = getattr(A, "format", None)
    is_torch = _is_torch_csr(A)
    if (is_torch or kind == "csr") and len(A.shape) != 2:
        raise InvalidArgument(f"A has the shape {tuple(A.shape)}, must be a matrix, of two dimensions")
    if is_torch:
        return Matrix(*A.shape, A.crow_indices(), A.col_indices(), A.values())
    if kind == "csr":
        return Matrix(*A.shape, A.indptr, A.indices, A.data)
    if kind == "bsr":
        return _read_bsr(A)
    hint = f"; convert it, A.tocsr(), its format is {kind}" if isinstance(kind, str) else ""
    raise TypeError(
        "A must be a CSR or BSR matrix of scipy.sparse, a CSR matrix of cupyx.scipy.sparse or torch.sparse_csr, it is "
        f"of the type {type(A)}{hint}")


def host_copy(A: Any) -> Any:
    """The matrix in host memory; itself if it lies there."""
    if _is_torch_csr(A):
        return A.cpu()
    return A.get() if hasattr(A, "get") and _arrays.device_of(A.data) is not None else A


def placed_for(blocks: _core.Partition, A: Any, matrix: Matrix) -> Matrix:
    """What was read of A; for blocks with a numbering of their own of a copy on the host, where it is renumbered."""
    if not blocks.renumbered or _arrays.device_of(matrix.values) is None:
        return matrix
    return read(host_copy(A))


def values_in_csr_order(values: Any, data: BlockData | None, what: str) -> Any:
    """New values of a BSR matrix, in the shape of its data, as those of its CSR form: a copy. Flat ones are refused,
    since nothing tells whether they stand by blocks or by rows."""
    if data is None:
        return values
    _arrays.known_library(values, what)
    if tuple(values.shape) != data.shape:
        raise InvalidArgument(f"{what} has the shape {tuple(values.shape)}, must have that of the BSR matrix's data, "
                              f"{data.shape}")
    return values.reshape(-1)[data.order]


def _is_torch_csr(A: Any) -> bool:
    module = _arrays.library(A)
    return module is not None and module.__name__ == "torch" and A.layout is module.sparse_csr


def _narrowed(columns: Any, cols: int) -> Any:
    if _arrays.dtype_name(columns) != "int64" or cols > numpy.iinfo(numpy.int32).max:
        return columns
    # A number that only wraps into range would pass the library's own check.
    if columns.shape[0] > 0 and (int(columns.min()) < 0 or int(columns.max()) >= cols):
        raise InvalidArgument(f"the matrix's columns are in {int(columns.min())}..{int(columns.max())}, must be in "
                              f"0..{cols - 1}")
    module = _arrays.known_library(columns, "the matrix's columns")
    return columns.to(module.int32) if module.__name__ == "torch" else columns.astype(module.int32)


def _read_bsr(A: Any) -> Matrix:
    height, width = A.data.shape[1:]
    numbers = numpy.arange(A.data.size, dtype=numpy.int64).reshape(A.data.shape)
    # SciPy's own conversion, of the positions: it keeps their order within a row, duplicates and zeros.
    expanded = type(A)((numbers, A.indices, A.indptr), shape=A.shape).tocsr()
    data = BlockData(A.data.shape, expanded.data)
    matrix = Matrix(*A.shape, expanded.indptr, expanded.indices, values_in_csr_order(A.data, data, "A.data"))
    matrix.block = height if height == width else None
    matrix.block_data = data
    return matrix
