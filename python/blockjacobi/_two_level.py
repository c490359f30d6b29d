"""TwoLevel: the preconditioner with a coarse level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _core
from ._coarse import Coarse

if TYPE_CHECKING:
    from ._core import Backend, TwoLevelReport
    from ._preconditioner import BlockJacobi, Blocks


class TwoLevel(Coarse):
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

    _name = "TwoLevel"

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
        self._set_up(A, M, blocks, vectors, backend, 0.0, _core.TwoLevelOptions(size, relaxed, mode))

    def correct(self, r: Any, out: Any = None) -> Any:
        """:math:`Q r`, as :meth:`apply`. Conjugate gradients with ``mode="adef2"`` begin at ``x0 + Q (b - A x0)``."""
        u = _arrays.empty_like(r, "TwoLevel.correct: r, without out,") if out is None else out
        self._held.correct(r, u)
        return u

    def report(self) -> TwoLevelReport:
        """What the last set-up found on the coarse level. Waits."""
        return self._held.report()

    def __repr__(self) -> str:
        return (f"<blockjacobi.TwoLevel: {self.shape[0]} rows in {len(self.partition)} blocks, "
                f"{self.report().size} coarse vectors, {self.dtype}, {self.backend.kind}>")
