"""What differs between NumPy, CuPy and PyTorch. The latter two are imported only where an array is theirs."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy

from . import _core

# Solvers ask in every iteration, of the same types.
_LIBRARIES: dict[type, Any] = {numpy.ndarray: numpy}
_MADE_OF_SHAPE_AND_TYPE: set[type] = set()  # the ndarray of NumPy and of CuPy


def library(array: Any) -> Any:
    """The module that the array comes from: numpy, cupy or torch; None for another."""
    found = _LIBRARIES.get(type(array))
    if found is not None:
        return found
    if isinstance(array, numpy.ndarray):
        return numpy
    root = type(array).__module__.partition(".")[0]
    if root not in ("cupy", "torch"):
        return None
    return _LIBRARIES.setdefault(type(array), sys.modules.get(root))


def known_library(array: Any, what: str) -> Any:
    found = library(array)
    if found is None:
        raise TypeError(f"{what} must be an array of NumPy, CuPy or PyTorch, it is of the type {type(array)}")
    return found


def empty_like(array: Any, what: str) -> Any:
    """Of the same shape, type, order and place."""
    kind = type(array)
    if kind in _MADE_OF_SHAPE_AND_TYPE:
        shape = array.shape
        # What solvers pass, without the microseconds that empty_like takes to think of the rest.
        if len(shape) == 1:
            return kind(shape, array.dtype)
    module = known_library(array, what)
    if kind is getattr(module, "ndarray", None):
        _MADE_OF_SHAPE_AND_TYPE.add(kind)
    return module.empty_like(array)


def empty(like: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """In C order, in the place of `like`; a dtype is a name that all three libraries know."""
    module = known_library(like, "the array")
    dtype = like.dtype if dtype is None else getattr(module, dtype)
    if module.__name__ == "torch":
        return module.empty(shape, dtype=dtype, device=like.device)
    if module is numpy:
        return numpy.empty(shape, dtype)
    with module.cuda.Device(like.device.id):
        return module.empty(shape, dtype)


def dtype_name(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


def is_single(array: Any) -> bool:
    """Whether its numbers are of single precision, real or complex."""
    return dtype_name(array) in ("float32", "complex64")


def device_of(array: Any) -> int | None:
    """Number of the CUDA device that holds the array; None for host memory."""
    module = library(array)
    if module is numpy:
        return None
    if module is not None and module.__name__ == "torch":
        return array.device.index if array.is_cuda else None
    if module is not None:
        return array.device.id
    interface = getattr(array, "__cuda_array_interface__", None)
    return None if interface is None else _core.device_of(interface["data"][0])


@functools.cache
def _host() -> _core.Backend:
    return _core.Backend.host()


@functools.cache
def _cuda(device: int) -> _core.Backend:
    return _core.Backend.cuda(device)


def backend_for(array: Any, backend: _core.Backend | None) -> _core.Backend:
    """The backend that the user gave, or one where the array lies: all CPU threads, or its device."""
    if backend is not None:
        return backend
    device = device_of(array)
    return _host() if device is None else _cuda(device)
