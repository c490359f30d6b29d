"""The library's own solvers, and which blocks to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy

from . import _arrays, _core, _matrix
from ._multigrid import Multigrid
from ._preconditioner import BlockJacobi
from ._two_level import TwoLevel
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._core import Backend, BlockCandidate, SolveProgress, SolveReport, Suggestion


class Solution(NamedTuple):
    """What :func:`solve` returns."""

    x: Any
    """An array of b's library and shape."""
    report: SolveReport | Any
    """How the solve ended; look at ``report.converged``. Of a b with columns a list with a report of each, which no type
    of b tells."""


def solve(
    A: Any,
    b: Any,
    M: BlockJacobi | TwoLevel | Multigrid | Suggestion | None = None,
    *,
    method: Literal["cg", "fcg", "minres", "bicgstab", "gmres", "fgmres", "richardson"] = "cg",
    x0: Any = None,
    rtol: float | None = None,
    atol: float = 0.0,
    relative_to: Literal["rhs", "initial_residual"] = "rhs",
    max_iterations: int = 10000,
    restart: int = 30,
    basis: Literal["working", "single"] = "working",
    resident: Literal["automatic", "never"] = "automatic",
    relaxation: float = 1.0,
    max_seconds: float = 0.0,
    history: bool = True,
    progress: Callable[[SolveProgress], bool | None] | None = None,
    backend: Backend | None = None,
) -> Solution:
    r"""Solve :math:`A x = b` by a preconditioned Krylov method, all of it in the library.

    Ends when :math:`\|b - A x\| \le \max(\mathrm{rtol}\,\|b\|, \mathrm{atol})`, with the residual recomputed from x, or
    for one of the reasons that the report states.

    Parameters
    ----------
    A : sparse matrix
        As :class:`BlockJacobi` takes it.
    b : array
        Right-hand side: n elements, contiguous, of A's type, where A lies or in the memory of M's backend. Or k of
        them, of the shape (n, k) with contiguous rows or columns: ``"cg"`` and ``"gmres"`` solve them at once and read
        matrix and blocks once an iteration for all.
    M : BlockJacobi, TwoLevel, Multigrid or Suggestion, optional
        The preconditioner; none if None; of a suggestion what :func:`preconditioner` makes. Where its blocks have a
        numbering of their own, the system is renumbered on the host for each solve, and A copied there if it lies in
        device memory.
    method : str
        ``"cg"`` for Hermitian positive definite A and M (Hestenes and Stiefel, 1952), ``"fcg"`` its flexible variant
        (Notay, 2000), ``"minres"`` for Hermitian A, definite or not, and definite M (Paige and Saunders, 1975),
        ``"bicgstab"`` (van der Vorst, 1992), ``"gmres"`` restarted (Saad and Schultz, 1986) and ``"fgmres"`` its
        flexible variant (Saad, 1993) for any A, ``"richardson"`` damped.
    x0 : array, optional
        Initial guess, copied; zero if None.
    rtol : float, optional
        None takes 1e-8, for float32 and complex64 1.2e-6, ten times their machine epsilon. Rounding leaves about
        :math:`\epsilon \|A\| \|x\| / \|b\|`; a solve that is to go below ends with ``"stagnation"``.
    atol : float
    relative_to : str
        What rtol is relative to: ``"rhs"``, or ``"initial_residual"`` :math:`\|b - A x_0\|`.
    max_iterations : int
        Of BiCGSTAB with two products each, of GMRES inner ones.
    restart : int
        m of GMRES(m).
    basis : str
        ``"single"`` stores the basis of GMRES in single precision.
    resident : str
        On CUDA CG, BiCGSTAB and GMRES of systems that the caches hold take one launch, which waits until every
        multiprocessor is free; ``"never"`` where the device is shared with other work.
    relaxation : float
        Of Richardson iteration.
    max_seconds : float
        Wall time; 0 for no limit.
    history : bool
        Keep the norms of all residuals.
    progress : callable, optional
        Called with a :class:`SolveProgress` after every iteration, on CUDA after every batch of them. Returning
        something false stops the solve, None does not; what it raises is raised. Of several columns it is shown the one
        that is furthest from its target.
    backend : Backend, optional
        M's by default, else where A lies.

    Returns
    -------
    Solution
        ``(x, report)``. That a solve does not converge is no error.

    Raises
    ------
    TypeError
        For a matrix, arrays or an M of a type that is not known.
    InvalidArgument
        For a matrix that is not square, arrays of another length, type, place or that are not contiguous, an option out
        of range, a method that takes one column for several, or an M on another backend.

    Notes
    -----
    Waits. Runs without the GIL; Ctrl-C ends it.
    """
    matrix = _matrix.read(A)
    if isinstance(M, _core.Suggestion):
        M = preconditioner(A, M, backend=backend)
    if M is not None:
        if not isinstance(M, (BlockJacobi, TwoLevel, Multigrid)):
            raise TypeError("M must be a BlockJacobi, a TwoLevel, a Multigrid, a Suggestion or None, it is of the type "
                            f"{type(M)}")
        if backend is not None and backend != M.backend:
            raise InvalidArgument(f"solve: backend is {backend!r}, M's is {M.backend!r}")
        backend = M.backend
        matrix = _matrix.placed_for(M.partition, A, matrix)
    backend = _arrays.backend_for(matrix.values, backend)
    x = _arrays.empty_like(b, "solve: b")
    if x0 is None:
        x[...] = 0
    else:
        _arrays.known_library(x0, "solve: x0")
        if tuple(x0.shape) != tuple(b.shape) or x0.dtype != b.dtype:
            raise InvalidArgument(f"solve: x0 has the shape {tuple(x0.shape)} and is of {_arrays.dtype_name(x0)}, must "
                                  f"have {tuple(b.shape)} and be of {_arrays.dtype_name(b)}")
        x[...] = x0
    report = _core.solve(backend, matrix.view(backend), None if M is None else M._held, b, x, method,
                         _reachable(rtol, matrix), atol, relative_to, max_iterations, restart, basis, resident,
                         relaxation, max_seconds, history, progress)
    return Solution(x, report)


def suggest(
    A: Any,
    *,
    method: Literal["cg", "gmres"] = "cg",
    rtol: float | None = None,
    restart: int = 30,
    probe_share: float = 0.1,
    coarse: bool = True,
    backend: Backend | None = None,
) -> Suggestion:
    """Which blocks to take for A, and whether with a coarse level or a multigrid: predicts set-up, cost of an iteration
    and time for several choices, and tries some.

    Parameters
    ----------
    A : sparse matrix
        As :class:`BlockJacobi` takes it; one in device memory is copied to the host.
    method : str
        The solver: ``"cg"`` or ``"gmres"``.
    rtol : float, optional
        To which the system will be solved; None as of :func:`solve`.
    restart : int
        Of GMRES.
    probe_share : float
        Part of the predicted time to solution that the trials may cost; 0 for none.
    coarse : bool
        Whether a coarse level and a multigrid are weighed too.
    backend : Backend, optional
        Where the system will be solved; by default where the matrix lies.

    Returns
    -------
    Suggestion
        Give it to :func:`preconditioner` or, in place of M, to :func:`solve`; ``str()`` gives a table.

    Raises
    ------
    InvalidArgument
        For a matrix that is not square and options out of range.
    """
    matrix = _matrix.read(A)
    backend = _arrays.backend_for(matrix.values, backend)
    on_host = _matrix.host_copy(A)
    if on_host is not A:
        matrix = _matrix.read(on_host)
    host = _arrays.backend_for(matrix.values, None)
    return _core.suggest(backend, matrix.view(host), method, _reachable(rtol, matrix), restart, probe_share, coarse,
                         matrix.block)


def preconditioner(
    A: Any,
    choice: Suggestion | BlockCandidate,
    *,
    singular: Literal["fail", "identity", "scalar_jacobi", "shift", "pseudo_inverse"] = "scalar_jacobi",
    backend: Backend | None = None,
) -> BlockJacobi | TwoLevel | Multigrid:
    """What :func:`suggest` recommends for A, or one of the candidates that it weighed, set up.

    Parameters
    ----------
    A : sparse matrix
        The one that :func:`suggest` was given.
    choice : Suggestion or BlockCandidate
        Of a suggestion the best.
    singular : str
        As of :class:`BlockJacobi`.
    backend : Backend, optional
        As of :class:`BlockJacobi`.

    Returns
    -------
    BlockJacobi, TwoLevel or Multigrid
        A :class:`TwoLevel` where there is a coarse level, in the mode that suits the method it was suggested for: give
        it to :func:`solve` with that. A :class:`Multigrid` where there is one, for ``"cg"``.

    Raises
    ------
    TypeError
        For a choice that is neither.
    InvalidArgument
        As :class:`BlockJacobi`, :class:`TwoLevel` and :class:`Multigrid`.
    """
    if isinstance(choice, _core.Suggestion):
        choice = choice.best
    if not isinstance(choice, _core.BlockCandidate):
        raise TypeError(f"choice must be a Suggestion or one of its candidates, it is of the type {type(choice)}")
    M = BlockJacobi(A, choice.blocks, singular=singular, backend=backend)
    if choice.multigrid is not None:
        return Multigrid(A, M, **choice.multigrid)
    return M if choice.coarse is None else TwoLevel(A, M, **choice.coarse)


def _reachable(rtol: float | None, matrix: _matrix.Matrix) -> float:
    """For None what the precision of the matrix allows; blockjacobi-solve warns below the same bound."""
    if rtol is not None:
        return rtol
    return 10 * float(numpy.finfo(numpy.float32).eps) if _arrays.is_single(matrix.values) else 1e-8
