"""BlockJacobi: the preconditioner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Union

import numpy

from . import _arrays, _core, _matrix, partition
from .errors import InvalidArgument

try:
    # As a subclass with matvec of its own, an application passes by SciPy's checks, which take longer than a small one.
    from scipy.sparse.linalg import LinearOperator as Operator
except ImportError:

    class Operator:
        def __init__(self, dtype: numpy.dtype, shape: tuple[int, int]):
            self.dtype = dtype
            self.shape = shape

if TYPE_CHECKING:
    from ._core import Backend, Partition, Report, Suggestion

    Blocks = Union[Partition, Suggestion, int, Literal["supervariables", "detect", "coupled", "clusters", "metis"],
                   None]
    Op = Literal["none", "transpose", "conjugate_transpose"]

_WAYS = {
    "supervariables": partition.supervariables,
    "detect": partition.detect,
    "coupled": partition.coupled,
    "clusters": partition.clusters,
    "metis": partition.metis,
}


class BlockJacobi(Operator):
    r"""Block-Jacobi preconditioner :math:`M = \mathrm{diag}(A_{11}, \ldots, A_{kk})` of a sparse matrix.

    Inverts the diagonal blocks once and applies :math:`z = M^{-1} r` as products with the inverses. Give it as ``M=``
    to the solvers of ``scipy.sparse.linalg`` and ``cupyx.scipy.sparse.linalg``, or to :func:`blockjacobi.solve`.

    Parameters
    ----------
    A : sparse matrix
        Square, of float32, float64, complex64 or complex128: CSR or BSR of ``scipy.sparse`` (arrays or matrices, any
        width of indices), CSR of ``cupyx.scipy.sparse``, or ``torch.sparse_csr``. Rows may be unsorted, duplicates are
        summed. Not referred to afterwards. CSR is used in place but for column numbers of 64 bits, which are narrowed;
        BSR is expanded.
    blocks : Partition, Suggestion, int or str, optional
        A :class:`Partition`; a :class:`Suggestion`, of which the best is taken if it has neither a coarse level nor a
        multigrid (:func:`preconditioner` makes them all); the number of rows of every block; or the name of a function of
        :mod:`blockjacobi.partition` with its defaults: ``"supervariables"``, ``"detect"``, ``"coupled"``,
        ``"clusters"``, ``"metis"``. None takes the blocks of BSR, of other matrices the supervariables.
        For blocks with a numbering of their own a matrix in device memory is copied to the host, which renumbers it.
    singular : str
        What takes the place of the inverse of a block that is singular or has NaN or Inf: ``"fail"`` raises
        :class:`SingularBlock`, ``"identity"``, ``"scalar_jacobi"`` (the reciprocal diagonal), ``"shift"`` (the inverse
        of the block with a shifted diagonal), ``"pseudo_inverse"``. A block is singular if a pivot is exactly zero, the
        reciprocal condition number of the equilibrated block is below :math:`10 N \epsilon`, or its inverse overflows.
    storage : str
        How the inverses are stored: ``"full"``, ``"packed"`` (triangles, for real symmetric or Hermitian matrices),
        ``"fp32"``, ``"bf16"``, ``"fp16"``, or ``"adaptive"``: for each block the cheapest with
        :math:`\|I - A X\|_\infty <` ``accuracy``.
    accuracy : float
        Of ``"adaptive"`` alone.
    l1 : bool
        l1 block-Jacobi, a smoother (Baker, Falgout, Kolev, Yang, 2011): :math:`|a_{ij}|` of the entries outside of the
        blocks are added to the diagonal.
    check_pattern : bool
        Keep a fingerprint of the pattern, which ``update(matrix)`` needs.
    profile : bool
        Take the times of the phases for the report.
    backend : Backend, optional
        Where to compute: by default where the matrix lies, with all CPU threads or on its device. A matrix on the host
        may be given to a CUDA backend, whose vectors then lie on the device.

    Raises
    ------
    TypeError
        For a matrix or blocks of a type that is not known.
    InvalidArgument
        For a matrix that is not square, arrays that do not fit, blocks of another number of rows, a name that is none, a
        suggestion with a coarse level or a multigrid;
        for a block that is not Hermitian under ``"packed"``.
    SingularBlock
        Under ``"fail"``, with the block and its rows.

    Notes
    -----
    Thread safety: several threads may apply one object at once; ``update`` and ``rebuild`` wait for the others. The GIL
    is released while the library computes.

    On CUDA the work goes to the backend's stream, behind what the caller's current stream (CuPy's, PyTorch's, or that
    of ``__cuda_array_interface__``) holds and before what it gets next, by events; applications to arrays of CuPy go to
    CuPy's current stream itself, unless the backend is on a stream of the user's. ``apply`` with ``out=`` and
    ``update(values, check=False)`` neither wait nor allocate and can be captured in a graph. Arrays that name no stream
    make the call wait.

    Where the blocks have a numbering of their own, vectors are brought into it and back; on CUDA several columns must be
    contiguous then.

    Vectors are never converted: another type, length, stride or place is an :class:`InvalidArgument` with the numbers.

    Copying and pickling are refused.
    """

    def __init__(
        self,
        A: Any,
        blocks: Blocks = None,
        *,
        singular: Literal["fail", "identity", "scalar_jacobi", "shift", "pseudo_inverse"] = "fail",
        storage: Literal["full", "packed", "fp32", "bf16", "fp16", "adaptive"] = "full",
        accuracy: float = 0.1,
        l1: bool = False,
        check_pattern: bool = True,
        profile: bool = False,
        backend: Backend | None = None,
    ):
        matrix = _matrix.read(A)
        backend = _arrays.backend_for(matrix.values, backend)
        chosen = partition_of(A, matrix, blocks, backend)
        matrix = _matrix.placed_for(chosen, A, matrix)
        self._held = _core.BlockJacobi(backend, matrix.view(backend), chosen, singular, storage, accuracy, l1,
                                       check_pattern, profile)
        self._block_data = matrix.block_data
        super().__init__(numpy.dtype(self._held.dtype), (matrix.rows, matrix.cols))

    def matvec(self, x: Any) -> Any:
        r""":math:`M^{-1} x`, a new array; x has n elements, or the shape (n, k)."""
        if type(x) is not numpy.ndarray and (z := self._held.applied(x)) is not None:
            return z
        z = _arrays.empty_like(x, "BlockJacobi.matvec: x")
        self._held.apply(x, z, "none")
        return z

    def rmatvec(self, x: Any) -> Any:
        r""":math:`M^{-H} x`, a new array."""
        z = _arrays.empty_like(x, "BlockJacobi.rmatvec: x")
        self._held.apply(x, z, "conjugate_transpose")
        return z

    matmat = _matvec = _matmat = matvec
    rmatmat = _rmatvec = _rmatmat = rmatvec

    def __matmul__(self, x: Any) -> Any:
        if type(x) is numpy.ndarray or _arrays.library(x) is not None:
            return self.matvec(x)
        return super().__matmul__(x)

    def apply(self, r: Any, out: Any = None, op: Op = "none") -> Any:
        r"""Apply :math:`z = \mathrm{op}(M^{-1})\, r`.

        Parameters
        ----------
        r : array
            n elements, contiguous, or the shape (n, k) with contiguous rows or columns; of the matrix's type, in the
            backend's memory.
        out : array, optional
            Of the shape of r, apart from it in memory; receives z. A new array of r's library if None.
        op : str
            ``"none"``, ``"transpose"`` or ``"conjugate_transpose"``.

        Returns
        -------
        array
            z, which is ``out`` if that was given.

        Raises
        ------
        TypeError
            For what is no array.
        InvalidArgument
            For r or out of another type, length, stride or place, an out that is read-only or shares memory with r, and
            an op of no such name.
        """
        z = _arrays.empty_like(r, "BlockJacobi.apply: r, without out,") if out is None else out
        self._held.apply(r, z, op)
        return z

    def update(self, values: Any, *, check: bool = True) -> None:
        """Set up anew for new values of the same pattern, without its analysis.

        Parameters
        ----------
        values : array or sparse matrix
            The stored entries in the order of the matrix given at construction (``A.data``, of BSR in its shape; in the
            backend's memory), or a matrix, whose pattern is then compared with that one's.
        check : bool
            Wait, and under ``singular="fail"`` raise :class:`SingularBlock`; the inverse of that block is the identity
            then. Without it nothing waits (on CUDA the call can be captured, if ``values`` is an array): ``report()``
            tells, and :func:`solve` ends with ``"singular_block"``.

        Raises
        ------
        InvalidArgument
            For another number of values, of BSR another shape than that of its data, another type, another pattern, or
            with a matrix if the object was made without ``check_pattern``.
        """
        if _matrix.is_matrix(values):
            matrix = _matrix.placed_for(self.partition, values, _matrix.read(values))
            self._held.refresh_matrix(matrix.view(self.backend), check)
        else:
            values = _matrix.values_in_csr_order(values, self._block_data, "BlockJacobi.update: values")
            self._held.refresh(values, check)

    def rebuild(self, values: Any) -> None:
        """As a new construction with these values, without the analysis of the pattern: chooses the formats of
        ``storage="adaptive"`` anew, where :meth:`update` keeps them. Waits; raises as the constructor."""
        self._held.rebuild(_matrix.values_in_csr_order(values, self._block_data, "BlockJacobi.rebuild: values"))

    def report(self, A: Any = None) -> Report:
        """What the last set-up found. Waits.

        Parameters
        ----------
        A : sparse matrix, optional
            The matrix of the last set-up: adds the captured weight and the largest pivot growth, which need it.
        """
        if A is None:
            return self._held.report()
        return self._held.report_of(_matrix.placed_for(self.partition, A, _matrix.read(A)).view(self.backend))

    def info(self) -> numpy.ndarray:
        """One number a block, int32: 0 inverted; k in 1..N pivot k is exactly zero; N + 1 the reciprocal condition is
        below the threshold or the inverse overflows; negative: -(1 + i + j N), element (i, j) is NaN or Inf. Waits."""
        return self._held.info()

    def rcond(self) -> numpy.ndarray:
        """Reciprocal condition number of each equilibrated block; 0 after a zero pivot, NaN for NaN or Inf. Waits."""
        return self._held.rcond()

    def inverse_block(self, block: int) -> numpy.ndarray:
        """A copy of the inverse of one block as ``apply`` uses it, N x N. Waits."""
        rows = self.partition.rows_of(block).size
        return self._held.inverse_block(block).reshape(rows, rows, order="F")

    @property
    def partition(self) -> Partition:
        """The blocks."""
        return self._held.partition

    @property
    def backend(self) -> Backend:
        """Where it computes."""
        return self._held.backend

    @property
    def nnz(self) -> int:
        """Stored entries of the matrix, as many as ``update`` expects."""
        return self._held.nnz

    @property
    def nbytes(self) -> int:
        """Bytes held in the backend's memory."""
        return self._held.bytes

    def __repr__(self) -> str:
        return (f"<blockjacobi.BlockJacobi: {self.shape[0]} rows in {len(self.partition)} blocks, {self.dtype}, "
                f"{self.backend.kind}>")

    def __reduce__(self) -> Any:
        raise TypeError("a BlockJacobi holds memory of its backend and can be neither copied nor pickled: make a new "
                        "one of the matrix, with blocks=M.partition")


def partition_of(A: Any, matrix: _matrix.Matrix, blocks: Any, backend: Backend) -> Partition:
    """What the argument ``blocks`` of a preconditioner says."""
    if isinstance(blocks, partition.Partition):
        return blocks
    if isinstance(blocks, _core.Suggestion):
        best = blocks.best
        if best.coarse is not None or best.multigrid is not None:
            above = "coarse level" if best.multigrid is None else "multigrid"
            raise InvalidArgument(f"the best of the suggestion, {best.name}, has a {above}: "
                                  "preconditioner(A, suggestion) makes both, its blocks are suggestion.best.blocks")
        return best.blocks
    if isinstance(blocks, (int, numpy.integer)) and not isinstance(blocks, bool):
        return partition.uniform(matrix.rows, int(blocks))
    if blocks is None:
        if matrix.block is not None:
            return partition.uniform(matrix.rows, matrix.block)
        return partition.supervariables(A, backend=backend)
    if isinstance(blocks, str):
        if blocks not in _WAYS:
            raise InvalidArgument(f'BlockJacobi: blocks is "{blocks}", must be one of {", ".join(_WAYS)}')
        return _WAYS[blocks](A, backend=backend)
    raise TypeError(f"blocks must be a Partition, a Suggestion, a number of rows or a name, it is of the type "
                    f"{type(blocks)}; partition.from_offsets and from_labels take arrays")
