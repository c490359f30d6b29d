"""TwoLevel: the preconditioner with a coarse level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy

from . import _arrays, _core, _matrix
from ._preconditioner import BlockJacobi, Operator, partition_of
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._core import Backend, Partition, Report, TwoLevelReport
    from ._preconditioner import Blocks


class TwoLevel(Operator):
    r"""Block-Jacobi :math:`M` with a coarse level :math:`Q = Z E^{-1} Z^H`, :math:`E = Z^H A Z`.

    What is smooth over many blocks, which these reduce slowly however good their inverses are, is solved for in the
    space of Z: vectors that live on aggregates, unions of neighbouring blocks. Give it as ``M=`` to the solvers of
    ``scipy.sparse.linalg`` and ``cupyx.scipy.sparse.linalg``, or to :func:`blockjacobi.solve`.

    Parameters
    ----------
    A : sparse matrix
        As :class:`BlockJacobi` takes it. It is copied into the backend's memory, since applications multiply with it.
    M : BlockJacobi, optional
        Its blocks, options and backend are taken, and set up anew: M itself may go or get other values.
    blocks : optional
        In place of M, what :class:`BlockJacobi` takes.
    vectors : array, (n,) or (n, k), optional
        Of A's type, on the host, 1 <= k <= 512: vectors that A nearly maps to zero, such as the rigid body modes of
        elasticity. Not referred to afterwards. None takes ones, of BSR one vector for each unknown of a node.
    size : int
        Order of E at most, k to 4096; 0 takes the square root of the number of entries of A, at most 512 on the host and
        2048 on CUDA.
    relaxed : int
        In place of ones so many relaxed vectors an aggregate, at most 512: what 15 iterations with the blocks leave of
        the error, for where nobody knows what A nearly maps to zero. None beside ``vectors``.
    mode : str
        ``"additive"``: :math:`z = M^{-1} r + Q r`, for every solver. ``"adef2"``: :math:`y = M^{-1} r`,
        :math:`z = y + Q (r - A y)`, fewer iterations for a product with A more; for ``"cg"``, ``"fcg"`` and
        ``"richardson"`` of :func:`solve`, and for other conjugate gradients that begin at ``x0=M.correct(b)``.
        ``"adef1"``: :math:`z = M^{-1} (r - A Q r) + Q r`, for GMRES and BiCGSTAB (Tang, Nabben, Vuik, Erlangga, 2009).
        ``"automatic"``: ``"adef2"`` if A is Hermitian, else ``"adef1"``.
    backend : Backend, optional
        As of :class:`BlockJacobi`; M's where that is given.

    Raises
    ------
    TypeError
        For a matrix, blocks or vectors of a type that is not known, and for an M that is no :class:`BlockJacobi`.
    InvalidArgument
        As :class:`BlockJacobi`; for M and blocks at once; for an M of another number of rows or another type; for
        vectors of another shape, type or place, or with NaN or Inf; for a size out of range.
    SingularBlock
        As :class:`BlockJacobi`; without M under ``singular="fail"``.

    Notes
    -----
    If E is singular, as that of a floating body, its pseudo-inverse is there, above order 512 the inverse of a matrix
    with a larger diagonal, kept in single precision; ``report()`` tells.

    Thread safety: every call waits for the others, since applications share vectors. Streams, the GIL, types and
    places of vectors are as with :class:`BlockJacobi`; there is no adjoint. Copying and pickling are refused.
    """

    def __init__(
        self,
        A: Any,
        M: BlockJacobi | None = None,
        *,
        blocks: Blocks = None,
        vectors: Any = None,
        size: int = 0,
        relaxed: int = 0,
        mode: Literal["additive", "adef1", "adef2", "automatic"] = "additive",
        backend: Backend | None = None,
    ):
        matrix = _matrix.read(A)
        if M is not None and not isinstance(M, BlockJacobi):
            raise TypeError(f"M must be a BlockJacobi or None, it is of the type {type(M)}")
        if M is not None and (blocks is not None or backend not in (None, M.backend)):
            raise InvalidArgument("TwoLevel: M has blocks and a backend: give none beside it")
        backend = _arrays.backend_for(matrix.values, backend) if M is None else M.backend
        chosen = partition_of(A, matrix, blocks, backend) if M is None else M.partition
        matrix = _matrix.placed_for(chosen, A, matrix)
        view = matrix.view(backend)
        if getattr(vectors, "ndim", None) == 1:
            vectors = vectors[:, None]
        coarse = (vectors, matrix.block or 1, size, relaxed, mode)
        if M is None:
            self._held = _core.TwoLevel(backend, view, chosen, *coarse)
        else:
            self._held = _core.TwoLevel(view, M._held, *coarse)
        self._block_data = matrix.block_data
        super().__init__(numpy.dtype(self._held.dtype), (matrix.rows, matrix.cols))

    def matvec(self, x: Any) -> Any:
        r""":math:`z` as the mode has it, a new array; x has n elements, or the shape (n, 1)."""
        z = _arrays.empty_like(x, "TwoLevel.matvec: x")
        if x.ndim == 2 and x.shape[1] == 1:
            self._held.apply(x[:, 0], z[:, 0])
        else:
            self._held.apply(x, z)
        return z

    def matmat(self, X: Any) -> Any:
        """One column after the other."""
        Z = _arrays.empty_like(X, "TwoLevel.matmat: X")
        column = _arrays.empty(X, (X.shape[0],))
        for j in range(X.shape[1]):
            column[...] = X[:, j]
            Z[:, j] = self.matvec(column)
        return Z

    _matvec = matvec
    _matmat = matmat

    def __matmul__(self, x: Any) -> Any:
        if type(x) is numpy.ndarray or _arrays.library(x) is not None:
            return self.matvec(x) if x.ndim == 1 else self.matmat(x)
        return super().__matmul__(x)

    def apply(self, r: Any, out: Any = None) -> Any:
        """As :meth:`matvec`.

        Parameters
        ----------
        r : array
            n elements, contiguous, of the matrix's type, in the backend's memory.
        out : array, optional
            The same, apart from r in memory; receives z. A new array of r's library if None.

        Returns
        -------
        array
            z, which is ``out`` if that was given.
        """
        z = _arrays.empty_like(r, "TwoLevel.apply: r, without out,") if out is None else out
        self._held.apply(r, z)
        return z

    def correct(self, r: Any, out: Any = None) -> Any:
        """:math:`Q r`, as :meth:`apply`. Conjugate gradients with ``mode="adef2"`` begin at ``x0 + Q (b - A x0)``."""
        u = _arrays.empty_like(r, "TwoLevel.correct: r, without out,") if out is None else out
        self._held.correct(r, u)
        return u

    def update(self, values: Any, *, check: bool = True) -> None:
        """Set up blocks and E anew for new values of the same pattern; aggregates and Z stay.

        Parameters
        ----------
        values : array
            The stored entries in the order of the matrix given at construction (``A.data``, of BSR in its shape), in
            the backend's memory.
        check : bool
            As of :meth:`BlockJacobi.update`.

        Raises
        ------
        TypeError
            For a matrix.
        InvalidArgument
            For another number of values, of BSR another shape than that of its data, or another type.
        """
        if _matrix.is_matrix(values):
            raise TypeError("TwoLevel.update takes the values of a matrix of the same pattern: give A.data")
        values = _matrix.values_in_csr_order(values, self._block_data, "TwoLevel.update: values")
        self._held.refresh(values, check)

    def report(self) -> TwoLevelReport:
        """What the last set-up found on the coarse level. Waits."""
        return self._held.report()

    def block_report(self) -> Report:
        """What the last set-up found of the blocks. Waits."""
        return self._held.block_report()

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
        """Bytes held in the backend's memory, those of the matrix too."""
        return self._held.bytes

    def __repr__(self) -> str:
        return (f"<blockjacobi.TwoLevel: {self.shape[0]} rows in {len(self.partition)} blocks, "
                f"{self.report().size} coarse vectors, {self.dtype}, {self.backend.kind}>")

    def __reduce__(self) -> Any:
        raise TypeError("a TwoLevel holds memory of its backend and can be neither copied nor pickled: make a new one "
                        "of the matrix, with blocks=M.partition")
