"""Multigrid: the preconditioner with many coarse levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._coarse import Coarse

if TYPE_CHECKING:
    from ._core import Backend, MultigridReport
    from ._preconditioner import BlockJacobi, Blocks


class Multigrid(Coarse):
    r"""Smoothed aggregation multigrid with block-Jacobi :math:`M` as the smoother of every level.

    For Hermitian positive definite A: iterations hardly grow with the mesh. Aggregates of the nodes of A, which are rows
    or the block rows of BSR, are the nodes of the next level, and so on until a matrix is small enough to be inverted:
    :math:`P = (I - w D^{-1} A) Z` leads to the matrix :math:`P^H A P`, D being the diagonal of A and Z vectors that live
    on the aggregates (Vanek, Mandel, Brezina, 1996). Give it as ``M=`` to the solvers of ``scipy.sparse.linalg`` and
    ``cupyx.scipy.sparse.linalg``, or to :func:`blockjacobi.solve` with any method.

    One application is a cycle on each level, from zero: :math:`x = v M^{-1} r`; :math:`x \leftarrow x + P y`, y being
    what the next level answers to :math:`P^H (r - A x)`; :math:`x \leftarrow x + v M^{-1} (r - A x)`. The relaxations v
    and w are 4/3 over the largest eigenvalues of :math:`M^{-1} A` and :math:`D^{-1} A`, as the power method finds them
    for the values at construction.

    Parameters
    ----------
    A : sparse matrix
        As :class:`BlockJacobi` takes it, and Hermitian but for rounding. It is copied into the backend's memory.
    M : BlockJacobi, optional
        Its blocks, options and backend are taken, and set up anew: M itself may go or get other values.
    blocks : optional
        In place of M, what :class:`BlockJacobi` takes.
    vectors : array, (n,) or (n, k), optional
        Of A's type, on the host, 1 <= k <= 512: vectors that A nearly maps to zero, such as the rigid body modes of
        elasticity. Not referred to afterwards. None takes ones, of BSR one vector for each unknown of a node.
    coarsest : int
        Rows of a coarser level from which on it is inverted, 1 to 512; where A has no more, M is all.
    relaxed : int
        In place of ones so many relaxed vectors, at most 512: what 15 iterations with the blocks leave of the error, for
        where nobody knows what A nearly maps to zero. None beside ``vectors``.
    symmetry_tolerance : float
        A is taken for Hermitian where :math:`|a_{ij} - \bar a_{ji}|` is at most this times the largest of
        :math:`|a_{ij}|`, :math:`|a_{ji}|` and :math:`\sqrt{|a_{ii} a_{jj}|}`, or 1000 epsilons of its type if that is
        more.
    backend : Backend, optional
        As of :class:`BlockJacobi`; M's where that is given.

    Raises
    ------
    TypeError
        For a matrix, blocks or vectors of a type that is not known, and for an M that is no :class:`BlockJacobi`.
    InvalidArgument
        As :class:`BlockJacobi`; for a matrix that is not Hermitian but for rounding; for M and blocks at once; for an M
        of another number of rows or another type; for vectors of another shape, type or place, or with NaN or Inf; for
        an option out of range.
    SingularBlock
        As :class:`BlockJacobi`; without M under ``singular="fail"``.

    Notes
    -----
    If a coarse matrix is singular, as that of a floating body, its pseudo-inverse is there; ``report()`` tells.
    Where blocks have a numbering of their own that parts the block rows of BSR, rows are the nodes.

    Thread safety: every call waits for the others, since cycles share vectors. Streams, the GIL, types and places of
    vectors are as with :class:`BlockJacobi`; there is no adjoint. Copying and pickling are refused.
    """

    _name = "Multigrid"

    def __init__(
        self,
        A: Any,
        M: BlockJacobi | None = None,
        *,
        blocks: Blocks = None,
        vectors: Any = None,
        coarsest: int = 512,
        relaxed: int = 0,
        symmetry_tolerance: float = 0.0,
        backend: Backend | None = None,
    ):
        self._set_up(A, M, blocks, vectors, backend, symmetry_tolerance, _core.MultigridOptions(coarsest, relaxed))

    def report(self) -> MultigridReport:
        """What the last set-up found on the levels. Waits."""
        return self._held.report()

    def __repr__(self) -> str:
        return (f"<blockjacobi.Multigrid: {self.shape[0]} rows in {len(self.partition)} blocks, "
                f"{len(self.report().levels)} levels, {self.dtype}, {self.backend.kind}>")
