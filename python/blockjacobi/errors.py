"""What the package raises. Misuse is an :class:`InvalidArgument` with the actual numbers, before anything runs; a
failing environment is a :class:`CudaError`, :class:`OutOfMemory`, :class:`BackendUnavailable` or :class:`Unavailable`;
numerical outcomes are values (``info``, reports) but for :class:`SingularBlock`, which ``singular="fail"`` asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

__all__ = [
    "BackendUnavailable", "CudaError", "Error", "InvalidArgument", "OutOfMemory", "SingularBlock", "Unavailable",
]


class Error(Exception):
    """Base of everything that the package raises itself, but for ``TypeError`` where an object is of no type that it
    knows."""


class InvalidArgument(Error, ValueError):
    """An argument breaks a documented precondition; the message has the actual numbers."""


class BackendUnavailable(Error, RuntimeError):
    """The backend asked for was not compiled in, or its device is absent."""


class Unavailable(Error, RuntimeError):
    """A library that this build does without was asked for (METIS)."""


class CudaError(Error, RuntimeError):
    """A call of CUDA or cuSPARSE failed; the message names the call and the error.

    Attributes
    ----------
    code : int
        The library's status.
    """

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted."""


class SingularBlock(Error, numpy.linalg.LinAlgError):
    """A diagonal block is singular, or holds NaN or Inf, under ``singular="fail"``.

    Attributes
    ----------
    block : int
        Number of the block.
    rows : Sequence[int]
        Its rows, in the numbering of the matrix.
    info : int
        As :meth:`blockjacobi.BlockJacobi.info` has it.
    """

    def __init__(self, message: str, block: int, rows: Sequence[int], info: int):
        super().__init__(message)
        self.block = block
        self.rows = rows
        self.info = info
