r"""Dense linear algebra on batches of small matrices: LU, Cholesky, QR, inverses, pseudo-inverses, solves.

Arrays are those of NumPy, CuPy or PyTorch, of the shape (count, rows, columns) with up to 512 rows, of float32,
float64, complex64 or complex128. The matrices of a batch may stand in either order: in *column order* (LAPACK's; the
strides of ``x.transpose(0, 2, 1)`` of a C-ordered x), or in *row order* (C order). Both are used in place: what stands
in row order is the transpose in LAPACK's order, and its transpose is what is then factored; the functions here turn
solves around accordingly. Leading dimensions and distances between matrices are free, as long as these do not overlap.
Other strides, other types, and outputs in another order than the input are an :class:`~blockjacobi.InvalidArgument`
with the numbers; so are matrices that are not square (but for :func:`qr`) or of a larger order, shapes that do not fit
each other, and an output that shares a part of the input's memory.

Numerical outcomes are values: a singular matrix is told by ``info``, an int32 a matrix, and leaves the others as they
are. Results are new arrays of the input's library; ``overwrite=True`` lets a factorization use the memory of its input.
With ``backend=None`` the work is done where the arrays lie, on CUDA in the order of the caller's current stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _core
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._core import Backend

    Op = Literal["none", "transpose", "conjugate_transpose"]

__all__ = ["Cholesky", "Inverse", "LU", "PseudoInverse", "QR", "Solved", "cholesky", "inverse", "lu",
           "pseudo_inverse", "qr", "solve"]


class Inverse(NamedTuple):
    """What :func:`inverse` returns."""

    x: Any
    """The inverses, in the order of the input; quiet NaN where info is not 0."""
    info: Any
    """0, or the number (1-based) of the first pivot that is exactly zero; with ``definite`` the order of the first
    leading minor that is not positive definite."""


class PseudoInverse(NamedTuple):
    """What :func:`pseudo_inverse` returns."""

    x: Any
    """The pseudo-inverses, in the order of the input."""
    rank: Any
    """The numerical ranks; -1 for a matrix with NaN or Inf."""


class Solved(NamedTuple):
    """What :func:`solve` returns."""

    x: Any
    """The solutions, in column order; Inf or NaN where info is not 0."""
    info: Any
    """As of :class:`LU`."""


class LU:
    r"""LU factorizations with partial pivoting, :math:`P A = L U`; what :func:`lu` returns.

    Attributes
    ----------
    factors : array
        L (unit diagonal, not stored) below the diagonal and U on and above it, in the order of the input. Of matrices
        in row order these are the factors of the transposes: the upper triangle has :math:`L^T`, the lower one
        :math:`U^T`.
    pivots : array of int32, (count, n)
        LAPACK's: in step i, 1-based, row i was interchanged with row ``pivots[k, i - 1]``.
    info : array of int32, (count,)
        0, or the smallest j (1-based) with :math:`u_{jj}` exactly zero.
    transposed : bool
        Whether the factors are those of the transposes.
    """

    def __init__(self, factors: Any, pivots: Any, info: Any, transposed: bool, backend: Backend):
        self.factors = factors
        self.pivots = pivots
        self.info = info
        self.transposed = transposed
        self._backend = backend

    def __repr__(self) -> str:
        return _described(self)

    def solve(self, b: Any, op: Op = "none") -> Any:
        r"""Solve :math:`\mathrm{op}(A) X = B`.

        Parameters
        ----------
        b : array, (count, n) or (count, n, k)
            Any strides: it is copied into the result.
        op : str
            ``"none"``, ``"transpose"`` or ``"conjugate_transpose"``.

        Returns
        -------
        array
            X, of the shape of b and in column order.
        """
        x = _right_hand_sides(self.factors, b, "LU.solve")
        if not self.transposed:
            _core.getrs(self._backend, op, self.factors, self.pivots, x)
        elif op == "conjugate_transpose" and _is_complex(x):
            # The factors are of B = A^T, and A^H x = b is B conj(x) = conj(b).
            _conjugate(x)
            _core.getrs(self._backend, "none", self.factors, self.pivots, x)
            _conjugate(x)
        else:
            turned = {"none": "transpose", "transpose": "none", "conjugate_transpose": "none"}
            _core.getrs(self._backend, turned.get(op, op), self.factors, self.pivots, x)
        return x.reshape(b.shape) if b.ndim == 2 else x

    def inverse(self) -> Inverse:
        """The inverses, in the order of the factors."""
        x = _like(self.factors, "LU.inverse: factors")
        info = _arrays.empty(self.factors, (x.shape[0],), "int32")
        _core.getri(self._backend, self.factors, self.pivots, x, info)
        return Inverse(x, info)


class Cholesky:
    r"""Cholesky factorizations, :math:`A = L L^H` or :math:`A = U^H U`; what :func:`cholesky` returns.

    Attributes
    ----------
    factors : array
        L in the lower triangle, or U in the upper one, in the order of the input; the other triangle is as it was.
    info : array of int32, (count,)
        0, or the order of the first leading minor that is not positive definite.
    lower : bool
    """

    def __init__(self, factors: Any, info: Any, lower: bool, by_rows: bool, backend: Backend):
        self.factors = factors
        self.info = info
        self.lower = lower
        self._by_rows = by_rows
        self._backend = backend

    def __repr__(self) -> str:
        return _described(self)

    def solve(self, b: Any) -> Any:
        """Solve :math:`A X = B`; b and the result are as of :meth:`LU.solve`."""
        x = _right_hand_sides(self.factors, b, "Cholesky.solve")
        # In LAPACK's order the memory of matrices in row order holds conj(A), since A is Hermitian.
        conjugated = self._by_rows and _is_complex(x)
        if conjugated:
            _conjugate(x)
        _core.potrs(self._backend, self.lower, self.factors, x)
        if conjugated:
            _conjugate(x)
        return x.reshape(b.shape) if b.ndim == 2 else x


class QR:
    r"""Householder QR factorizations, :math:`A = Q R`; what :func:`qr` returns.

    Attributes
    ----------
    factors : array, (count, m, n), in column order
        R in the upper triangle, with a real diagonal; below the diagonal of column i stands :math:`v_i` behind its
        leading 1.
    tau : array, (count, min(m, n))
        :math:`Q = H_1 H_2 \cdots H_k` with :math:`H_i = I - \tau_i v_i v_i^H`.
    """

    def __init__(self, factors: Any, tau: Any):
        self.factors = factors
        self.tau = tau

    def __repr__(self) -> str:
        return _described(self)

    def r(self) -> Any:
        """R, (count, min(m, n), n), with zeros below the diagonal: a new array."""
        module = _arrays.known_library(self.factors, "QR.r: factors")
        return module.triu(self.factors)[:, : self.tau.shape[1], :]


def lu(a: Any, *, overwrite: bool = False, backend: Backend | None = None) -> LU:
    r"""LU factorization with partial pivoting, :math:`P A = L U` (Haidar et al., 2015).

    :math:`\|P A - L U\|` is of the order of :math:`N \epsilon \|A\|` unless the elements grow.

    Parameters
    ----------
    a : array, (count, n, n)
        Of either order. Of matrices in row order the transposes are factored: see :class:`LU`.
    overwrite : bool
        Factor in the memory of a; else in a copy in a's order.
    """
    backend = _arrays.backend_for(a, backend)
    factors = _writable(a, overwrite, "batched.lu: a")
    pivots = _arrays.empty(a, tuple(a.shape[:2]), "int32")
    info = _arrays.empty(a, (a.shape[0],), "int32")
    transposed = _core.getrf(backend, factors, pivots, info)
    return LU(factors, pivots, info, transposed, backend)


def inverse(a: Any, *, out: Any = None, definite: bool = False, lower: bool = True,
            backend: Backend | None = None) -> Inverse:
    r"""Inverses in one pass: Gauss-Jordan elimination with partial pivoting, or Cholesky (Abdelfattah et al., 2017).

    :math:`\min(\|I - A X\|, \|I - X A\|) \le 10 N \epsilon \|A\| \|X\|` in the infinity norm unless elements grow or
    underflow.

    Parameters
    ----------
    a : array, (count, n, n)
        Of either order.
    out : array, optional
        In a's order; may be a. A new array if None.
    definite : bool
        The matrices are symmetric (Hermitian) positive definite: no pivoting, and the result is exactly symmetric
        (Hermitian).
    lower : bool
        Which triangle of definite matrices is read.
    """
    backend = _arrays.backend_for(a, backend)
    _require_dimensions(a, "batched.inverse: a", 3)
    x = _like(a, "batched.inverse: a") if out is None else out
    info = _arrays.empty(a, (a.shape[0],), "int32")
    if definite:
        _core.spd_inverse(backend, lower, a, x, info)
    else:
        _core.inverse(backend, a, x, info)
    return Inverse(x, info)


def pseudo_inverse(a: Any, *, rtol: float = 0.0, out: Any = None, backend: Backend | None = None) -> PseudoInverse:
    r"""Moore-Penrose inverses by QR with column pivoting (Businger and Golub, 1965).

    Parameters
    ----------
    a : array, (count, n, n)
        Of either order.
    rtol : float
        The rank counts the :math:`|r_{jj}| > \mathrm{rtol}\,|r_{11}|`; 0 takes :math:`N \epsilon`.
    out : array, optional
        In a's order; may be a. A new array if None.
    """
    backend = _arrays.backend_for(a, backend)
    _require_dimensions(a, "batched.pseudo_inverse: a", 3)
    x = _like(a, "batched.pseudo_inverse: a") if out is None else out
    rank = _arrays.empty(a, (a.shape[0],), "int32")
    _core.pseudo_inverse(backend, a, x, rtol, rank)
    return PseudoInverse(x, rank)


def cholesky(a: Any, *, lower: bool = True, overwrite: bool = False, backend: Backend | None = None) -> Cholesky:
    r"""Cholesky factorization of symmetric (Hermitian) positive definite matrices (Haidar et al., 2015).

    :math:`\|A - L L^H\| \le c(N) \epsilon \|A\|`. Only one triangle is read and written.

    Parameters
    ----------
    a : array, (count, n, n)
        Of either order.
    lower : bool
        The lower triangle, :math:`A = L L^H`; else the upper one, :math:`A = U^H U`.
    overwrite : bool
        Factor in the memory of a; else in a copy in a's order.
    """
    backend = _arrays.backend_for(a, backend)
    factors = _writable(a, overwrite, "batched.cholesky: a")
    info = _arrays.empty(a, (a.shape[0],), "int32")
    by_rows = _core.potrf(backend, lower, factors, info)
    return Cholesky(factors, info, lower, by_rows, backend)


def qr(a: Any, *, overwrite: bool = False, backend: Backend | None = None) -> QR:
    r"""Householder QR factorization, :math:`A = Q R` (Haidar et al., 2015).

    Parameters
    ----------
    a : array, (count, m, n)
        Of any strides: it is copied into column order, since QR of a transpose is another factorization.
    overwrite : bool
        Factor in the memory of a, which must stand in column order.
    """
    backend = _arrays.backend_for(a, backend)
    _require_dimensions(a, "batched.qr: a", 3)
    if overwrite:
        factors = a
    else:
        factors = _in_columns(a, tuple(a.shape))
        factors[...] = a
    tau = _arrays.empty(a, (a.shape[0], min(a.shape[1:])))
    _core.geqrf(backend, factors, tau)
    return QR(factors, tau)


def solve(a: Any, b: Any, *, definite: bool = False, backend: Backend | None = None) -> Solved:
    """Solve :math:`A X = B` by LU, or where ``definite`` by Cholesky of the lower triangle.

    Parameters
    ----------
    a : array, (count, n, n)
        Of either order; kept.
    b : array, (count, n) or (count, n, k)
        Any strides: it is copied into the result.
    definite : bool
        The matrices are symmetric (Hermitian) positive definite.
    """
    factors = cholesky(a, backend=backend) if definite else lu(a, backend=backend)
    return Solved(factors.solve(b), factors.info)


def _described(factorization: LU | Cholesky | QR) -> str:
    """Without the info, which would wait for a device."""
    count, rows, cols = factorization.factors.shape
    return (f"<blockjacobi.batched.{type(factorization).__name__}: {count} of {rows} x {cols}, "
            f"{_arrays.dtype_name(factorization.factors)}>")


def _require_dimensions(a: Any, what: str, *allowed: int) -> None:
    _arrays.known_library(a, what)
    if a.ndim not in allowed:
        raise InvalidArgument(f"{what} has {a.ndim} dimensions, must have {' or '.join(map(str, allowed))}")


def _column_order(a: Any) -> bool:
    strides = a.stride() if hasattr(a, "stride") else tuple(step // a.itemsize for step in a.strides)
    return strides[1] == 1 and strides[2] != 1


def _in_columns(like: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    count, rows, cols = shape
    return _arrays.empty(like, (count, cols, rows), dtype).swapaxes(1, 2)


def _like(a: Any, what: str) -> Any:
    """A new array of a's shape, type and order, without gaps."""
    _require_dimensions(a, what, 3)
    return _in_columns(a, tuple(a.shape)) if _column_order(a) else _arrays.empty(a, tuple(a.shape))


def _writable(a: Any, overwrite: bool, what: str) -> Any:
    if overwrite:
        _require_dimensions(a, what, 3)
        return a
    copy = _like(a, what)
    copy[...] = a
    return copy


def _right_hand_sides(factors: Any, b: Any, what: str) -> Any:
    """b in column order, a copy that a solve overwrites."""
    _require_dimensions(b, f"{what}: b", 2, 3)
    if b.dtype != factors.dtype:
        raise InvalidArgument(f"{what}: b is of {_arrays.dtype_name(b)}, must be of {_arrays.dtype_name(factors)}")
    if b.ndim == 2:
        b = b[:, :, None]
    x = _in_columns(b, tuple(b.shape))
    x[...] = b
    return x


def _is_complex(x: Any) -> bool:
    return _arrays.dtype_name(x).startswith("complex")


def _conjugate(x: Any) -> None:
    if hasattr(x, "conj_physical_"):
        x.conj_physical_()
    else:
        _arrays.library(x).conjugate(x, out=x)
