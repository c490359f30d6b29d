"""What the preconditioners with coarse levels, TwoLevel and Multigrid, share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from . import _arrays, _core, _matrix
from ._preconditioner import BlockJacobi, Operator, partition_of
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._core import Backend, Partition, Report
    from ._preconditioner import Blocks


class Coarse(Operator):
    _name: str
    """Of the class, and of what holds it in the compiled part."""

    def _set_up(self, A: Any, M: BlockJacobi | None, blocks: Blocks, vectors: Any, backend: Backend | None,
                symmetry_tolerance: float, options: Any) -> None:
        matrix = _matrix.read(A)
        if M is not None and not isinstance(M, BlockJacobi):
            raise TypeError(f"M must be a BlockJacobi or None, it is of the type {type(M)}")
        if M is not None and (blocks is not None or backend not in (None, M.backend)):
            raise InvalidArgument(f"{self._name}: M has blocks and a backend: give none beside it")
        backend = _arrays.backend_for(matrix.values, backend) if M is None else M.backend
        chosen = partition_of(A, matrix, blocks, backend) if M is None else M.partition
        matrix = _matrix.placed_for(chosen, A, matrix)
        view = matrix.view(backend)
        if getattr(vectors, "ndim", None) == 1:
            vectors = vectors[:, None]
        given = (vectors, matrix.block or 1, symmetry_tolerance, options)
        held = getattr(_core, self._name)
        self._held = held(backend, view, chosen, *given) if M is None else held(view, M._held, *given)
        self._block_data = matrix.block_data
        super().__init__(numpy.dtype(self._held.dtype), (matrix.rows, matrix.cols))

    def matvec(self, x: Any) -> Any:
        """The preconditioned x, a new array; x has n elements, or the shape (n, 1)."""
        z = _arrays.empty_like(x, f"{self._name}.matvec: x")
        if x.ndim == 2 and x.shape[1] == 1:
            self._held.apply(x[:, 0], z[:, 0])
        else:
            self._held.apply(x, z)
        return z

    def matmat(self, X: Any) -> Any:
        """One column after the other."""
        Z = _arrays.empty_like(X, f"{self._name}.matmat: X")
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
        z = _arrays.empty_like(r, f"{self._name}.apply: r, without out,") if out is None else out
        self._held.apply(r, z)
        return z

    def update(self, values: Any, *, check: bool = True) -> None:
        """Set up blocks and coarse matrices anew for new values of the same pattern; aggregates and Z stay.

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
            raise TypeError(f"{self._name}.update takes the values of a matrix of the same pattern: give A.data")
        values = _matrix.values_in_csr_order(values, self._block_data, f"{self._name}.update: values")
        self._held.refresh(values, check)

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

    def __reduce__(self) -> Any:
        raise TypeError(f"a {self._name} holds memory of its backend and can be neither copied nor pickled: make a new "
                        "one of the matrix, with blocks=M.partition")
