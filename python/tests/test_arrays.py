"""How arrays are read that are not NumPy's, without a device: what the messages say of them."""

import subprocess
import sys

import numpy as np
import pytest
from systems import random_matrix, random_numbers

import blockjacobi as bj

LIKE_CUPY = """
import sys, types
import numpy as np
import scipy.sparse as sp
import blockjacobi as bj

cupy, cupy.cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
sys.modules["cupy"], sys.modules["cupy.cuda"] = cupy, cupy.cuda
cupy.cuda.Stream = type("Stream", (), {})
cupy.cuda.get_current_stream = lambda: types.SimpleNamespace(ptr=0)
asked = 0


class ndarray:
    def __init__(self, held):
        self.held = held
        self.shape, self.strides, self.dtype = held.shape, held.strides, held.dtype
        self.data = types.SimpleNamespace(ptr=held.ctypes.data, device_id=0)

    @property
    def __cuda_array_interface__(self):
        global asked
        asked += 1
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False), "version": 3}


ndarray.__module__ = "cupy"
M = bj.BlockJacobi(sp.csr_array(np.eye(12)), 4)


def message(array):
    try:
        M.apply(ndarray(array), out=np.empty(12))
    except bj.InvalidArgument as error:
        return str(error)


for _ in range(2):
    assert "r lies in device memory" in message(np.ones(12))
    assert "r has the strides (2,)" in message(np.ones(24)[::2])
    assert "r has the strides (-1,)" in message(np.ones(12)[::-1])
    assert "r is of float32, must be of float64" in message(np.ones(12, "float32"))
    assert "r is of int64" in message(np.ones(12, "int64"))
    assert "r has 11 elements" in message(np.ones(11))
    assert "r has 0 dimensions" in message(np.ones(()))
    assert "r has 4 dimensions, must have 1" in message(np.ones((12, 1, 1, 1)))
    assert "of 12 bytes, which is no multiple" in message(np.zeros(12, "f8,f4")["f0"])
assert asked == 1, asked
"""


def test_arrays_of_cupy_are_read_by_their_attributes():
    subprocess.run([sys.executable, "-c", LIKE_CUPY], check=True)


def test_a_capsule_of_dlpack_is_read_once():
    M = bj.BlockJacobi(random_matrix(12), 4)
    r, out = random_numbers(12, "float64", 1), np.empty(12)
    M.apply(r.__dlpack__(), out=out.__dlpack__())
    assert np.array_equal(out, M @ r)
    used = r.__dlpack__()
    M.apply(used, out=out)
    with pytest.raises(TypeError, match="PyCapsule"):
        M.apply(used, out=out)


class Exporter:
    """An array of a library that offers DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)


def test_a_library_with_dlpack_alone():
    M = bj.BlockJacobi(random_matrix(12), 4)
    r, out = random_numbers(12, "float64", 1), np.empty(12)
    M.apply(Exporter(r), out=Exporter(out))
    assert np.array_equal(out, M @ r)
    out.flags.writeable = False
    with pytest.raises(bj.InvalidArgument, match="out is read-only, and is to be written"):
        M.apply(Exporter(r), out=Exporter(out))
    r.flags.writeable = False
    M.apply(Exporter(r), out=np.empty(12))
