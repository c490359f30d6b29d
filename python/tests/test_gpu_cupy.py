"""Arrays and matrices of CuPy, streams and graphs."""

import ctypes
import gc
import inspect
import pathlib
import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from systems import DTYPES, elasticity_like, random_matrix, random_numbers, tolerance

import blockjacobi as bj

cupy = pytest.importorskip("cupy")
cupyx_sparse = pytest.importorskip("cupyx.scipy.sparse")
cupyx_linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not bj.cuda_available(), reason="no CUDA device, or a build without CUDA"),
]


# CuPy 14 took SciPy's name.
RTOL = "rtol" if "rtol" in inspect.signature(cupyx_linalg.cg).parameters else "tol"


def on_device(A):
    return cupyx_sparse.csr_matrix(sp.csr_matrix(A))


def assert_agrees(found, expected, dtype):
    assert isinstance(found, cupy.ndarray) and found.dtype == np.dtype(dtype)
    assert np.abs(found.get() - expected).max() <= 100 * tolerance(dtype) * np.abs(expected).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("blocks", [1, 5, 37, None])
def test_apply_agrees_with_the_host(dtype, blocks):
    A = random_matrix(61, dtype)
    host, device = bj.BlockJacobi(A, blocks), bj.BlockJacobi(on_device(A), blocks)
    assert device.backend.kind == "cuda" and device.partition == host.partition
    r, R = random_numbers(61, dtype, 1), random_numbers((61, 3), dtype, 2)
    for op in ("none", "transpose", "conjugate_transpose"):
        assert_agrees(device.apply(cupy.asarray(r), op=op), host.apply(r, op=op), dtype)
        for order in "CF":
            assert_agrees(device.apply(cupy.asarray(R, order=order), op=op), host.apply(R, op=op), dtype)
    out = cupy.empty(61, dtype)
    assert device.apply(cupy.asarray(r), out=out) is out
    assert_agrees(device @ cupy.asarray(r), host @ r, dtype)
    assert device.info().tolist() == host.info().tolist()
    assert device.report(on_device(A)).captured == pytest.approx(host.report(A).captured)


def test_partitions_are_found_on_the_device():
    A = elasticity_like(12, 3)
    for way in ("supervariables", "detect", "coupled"):
        assert bj.BlockJacobi(on_device(A), way).partition == bj.BlockJacobi(A, way).partition


@pytest.mark.parametrize("nodes", [None, 3, "partition"])
def test_clusters_are_found_on_the_device(nodes):
    A = elasticity_like(12, 3)
    nodes = bj.partition.from_offsets(np.r_[0:433:3][[0, *range(2, 145)]]) if nodes == "partition" else nodes
    found = bj.partition.clusters(on_device(A), 12, nodes=nodes)
    assert found.renumbered and found == bj.partition.clusters(A, 12, nodes=nodes)
    assert bj.BlockJacobi(on_device(A), "clusters").partition == bj.BlockJacobi(A, "clusters").partition


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_with_a_numbering_of_their_own(dtype):
    A = elasticity_like(12, 3, dtype)
    D, blocks, n = on_device(A), bj.partition.clusters(A, 12), A.shape[0]
    host, device = bj.BlockJacobi(A, blocks), bj.BlockJacobi(D, blocks)
    r, R = random_numbers(n, dtype, 1), random_numbers((n, 3), dtype, 2)
    for op in ("none", "transpose", "conjugate_transpose"):
        assert_agrees(device.apply(cupy.asarray(r), op=op), host.apply(r, op=op), dtype)
        assert_agrees(device.apply(cupy.asarray(R, order="F"), op=op), host.apply(R, op=op), dtype)
    with pytest.raises(bj.InvalidArgument, match="contiguous columns"):
        device @ cupy.asarray(R, order="C")
    two = np.dtype(dtype).type(2)
    for change in (lambda: device.update(D.data * two), lambda: device.rebuild(D.data * two),
                   lambda: device.update(D * two)):
        device.update(D.data)
        change()
        assert_agrees(device @ cupy.asarray(r), (host @ r) / two, dtype)
    assert device.report(D).captured == pytest.approx(host.report(A).captured)


@pytest.mark.parametrize("levels", [1, 2])
def test_solves_with_a_numbering_of_their_own(levels):
    A = elasticity_like(12, 3)
    D, n = on_device(A), A.shape[0]
    blocks = bj.partition.clusters(D, 12)
    M, host = ((bj.BlockJacobi(D, blocks), bj.BlockJacobi(A, blocks)) if levels == 1 else
               (bj.TwoLevel(D, blocks=blocks, mode="adef2"), bj.TwoLevel(A, blocks=blocks, mode="adef2")))
    B = A @ random_numbers((n, 2), "float64", 3)
    x, report = bj.solve(D, cupy.asarray(B[:, 0]), M)
    assert report.converged and np.linalg.norm(B[:, 0] - A @ x.get()) <= 1.1e-8 * np.linalg.norm(B[:, 0])
    assert abs(report.iterations - bj.solve(A, B[:, 0].copy(), host).report.iterations) <= 3
    X, reports = bj.solve(D, cupy.asarray(B, order="F"), M)
    assert all(each.converged for each in reports)
    assert (np.linalg.norm(B - A @ X.get(), axis=0) <= 1.1e-8 * np.linalg.norm(B, axis=0)).all()
    if levels == 2:
        r = random_numbers(n, "float64", 4)
        M.update(D.data * 2)
        for ours, theirs in ((M.matvec, host.matvec), (M.correct, host.correct)):
            assert_agrees(ours(cupy.asarray(r)), theirs(r) / 2, "float64")


def test_singular_blocks_with_a_numbering_of_their_own():
    A = sp.csr_array(np.diag([1.0, 0.0, 3.0, 0.0, 5.0, 6.0]))
    with pytest.raises(bj.SingularBlock) as caught:
        bj.BlockJacobi(on_device(A), bj.partition.from_labels(np.array([0, 1, 0, 1, 2, 2])))
    assert caught.value.block == 1 and list(caught.value.rows) == [1, 3]


def test_a_host_matrix_for_device_vectors():
    A = random_matrix(40)
    M = bj.BlockJacobi(A, 8, backend=bj.Backend.cuda())
    r = random_numbers(40, "float64", 1)
    assert_agrees(M @ cupy.asarray(r), bj.BlockJacobi(A, 8) @ r, "float64")


def test_cg_of_cupy():
    A = elasticity_like(20, 3)
    D = on_device(A)
    b = cupy.asarray(A @ random_numbers(A.shape[0], "float64", 9))
    counts = []
    for blocks in (1, 3):
        M, count = bj.BlockJacobi(D, blocks), [0]

        def counts_one(_, count=count):
            count[0] += 1

        x, status = cupyx_linalg.cg(D, b, M=M, callback=counts_one, **{RTOL: 1e-8})
        assert status == 0 and float(cupy.linalg.norm(b - D @ x) / cupy.linalg.norm(b)) <= 1.1e-8
        counts.append(count[0])
        x, report = bj.solve(D, b, M)
        assert isinstance(x, cupy.ndarray) and report.converged
        assert abs(report.iterations - count[0]) <= max(2, 0.03 * count[0])
    assert counts[1] < counts[0]


@pytest.mark.parametrize("mode", ["additive", "adef1", "adef2"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_level_agrees_with_the_host(dtype, mode):
    A = elasticity_like(12, 3, dtype)
    host = bj.TwoLevel(A, blocks=6, size=24, mode=mode)
    device = bj.TwoLevel(on_device(A), bj.BlockJacobi(on_device(A), 6), size=24, mode=mode)
    assert device.backend.kind == "cuda" and device.report().size == host.report().size
    r = random_numbers(A.shape[0], dtype, 1)
    for factor in (1, 2):
        device.update(cupy.asarray(A.data * np.array(factor, dtype)))
        for ours, theirs in ((device.matvec, host.matvec), (device.correct, host.correct)):
            assert_agrees(ours(cupy.asarray(r)), theirs(r) / np.array(factor, dtype), dtype)
    out = cupy.empty(A.shape[0], dtype)
    assert device.apply(cupy.asarray(r), out=out) is out


@pytest.mark.parametrize("blocks", [6, "labels"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_multigrid_agrees_with_the_host(dtype, blocks):
    A = elasticity_like(12, 3, dtype)
    blocks = bj.partition.from_labels(np.arange(432) // 6 % 24) if blocks == "labels" else blocks
    options = {"coarsest": 40, "symmetry_tolerance": 1e-5}
    host = bj.Multigrid(A, blocks=blocks, **options)
    device = bj.Multigrid(on_device(A), bj.BlockJacobi(on_device(A), blocks), **options)
    assert device.backend.kind == "cuda"
    rows = [[level.rows for level in M.report().levels] for M in (device, host)]
    assert rows[0] == rows[1] and len(rows[0]) > 1
    r = random_numbers(432, dtype, 1)
    for factor in (1, 2):
        device.update(cupy.asarray(A.data * np.array(factor, dtype)))
        assert_agrees(device @ cupy.asarray(r), (host @ r) / np.array(factor, dtype), dtype)
    out = cupy.empty(432, dtype)
    assert device.apply(cupy.asarray(r), out=out) is out


def test_coarse_levels_in_cg_of_cupy():
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(48, 48))
    A = sp.csr_array(sp.kronsum(line, line))
    D = on_device(A)
    b = cupy.asarray(A @ random_numbers(A.shape[0], "float64", 9))
    counts = []
    for M in (bj.BlockJacobi(D, 8), bj.TwoLevel(D, blocks=8), bj.Multigrid(D, blocks=8, coarsest=50)):
        count = [0]

        def counts_one(_, count=count):
            count[0] += 1

        x, status = cupyx_linalg.cg(D, b, M=M, callback=counts_one, **{RTOL: 1e-8})
        assert status == 0 and float(cupy.linalg.norm(b - D @ x) / cupy.linalg.norm(b)) <= 1.1e-8
        report = bj.solve(D, b, M).report
        assert report.converged and abs(report.iterations - count[0]) <= max(2, 0.03 * count[0])
        counts.append(count[0])
    assert counts[1] < 0.8 * counts[0] and counts[2] < 0.5 * counts[0]
    deflated = bj.TwoLevel(D, blocks=8, mode="adef2")
    assert bj.solve(D, b, deflated).report.iterations < counts[1]


@pytest.mark.parametrize("method", ["cg", "fcg", "minres", "bicgstab", "gmres", "fgmres"])
def test_solve(method):
    A = elasticity_like(10, 2)
    b = A @ np.ones(A.shape[0])
    seen = []
    x, report = bj.solve(on_device(A), cupy.asarray(b), bj.BlockJacobi(on_device(A), 4), method=method,
                         progress=lambda p: seen.append(p.iteration))
    assert report.converged and seen and np.linalg.norm(b - A @ x.get()) <= 1.1e-8 * np.linalg.norm(b)


def test_suggest():
    D = on_device(elasticity_like(10, 2))
    found = bj.suggest(D)
    assert found.best.name and bj.BlockJacobi(D, found).partition == found.best.blocks


def test_update_and_singular_blocks():
    A = random_matrix(30)
    D = on_device(A)
    M = bj.BlockJacobi(D, 6)
    values = A.data * 2
    M.update(cupy.asarray(values))
    r = random_numbers(30, "float64", 1)
    assert_agrees(M @ cupy.asarray(r), (bj.BlockJacobi(A, 6) @ r) / 2, "float64")
    D.data[...] = cupy.asarray(A.data)
    M.update(D)
    assert_agrees(M @ cupy.asarray(r), bj.BlockJacobi(A, 6) @ r, "float64")
    with pytest.raises(bj.SingularBlock) as caught:
        M.update(cupy.zeros(A.nnz))
    assert caught.value.block == 0 and list(caught.value.rows) == list(range(6))
    with pytest.raises(bj.SingularBlock):
        bj.BlockJacobi(on_device(A * 0.0 if (A * 0.0).nnz else sp.csr_array((np.zeros(A.nnz), A.indices, A.indptr))), 6)


def test_misuse():
    M = bj.BlockJacobi(on_device(random_matrix(12)), 4)
    with pytest.raises(bj.InvalidArgument, match="r lies in host memory"):
        M @ np.ones(12)
    with pytest.raises(bj.InvalidArgument, match=r"r has the strides \(2,\)"):
        M @ cupy.ones(24)[::2]
    with pytest.raises(bj.InvalidArgument, match="r is of float32, must be of float64"):
        M @ cupy.ones(12, "float32")
    host = bj.BlockJacobi(random_matrix(12), 4)
    with pytest.raises(bj.InvalidArgument, match="r lies in device memory"):
        host @ cupy.ones(12)


def spin(array):
    """Work that takes long enough for a call that does not wait for it to read what is not there yet."""
    big = cupy.ones((4096, 4096))
    for _ in range(8):
        big = big @ big / 4096
    return array * 0 + big[0, 0]


@pytest.mark.stream
@pytest.mark.parametrize("non_blocking", [True, False])
def test_the_callers_stream_is_honoured(non_blocking):
    n = 4096
    M = bj.BlockJacobi(on_device(sp.csr_array(sp.eye_array(n) * 2.0)), 8)
    with cupy.cuda.Stream(non_blocking=non_blocking):
        r = spin(cupy.zeros(n))  # ones, once the stream gets there
        z = M @ r
        r[...] = 7  # behind the apply
        after = z * 2
    cupy.cuda.Device().synchronize()
    assert (after.get() == 1).all()


@pytest.mark.stream
@pytest.mark.parametrize("levels", [1, 2])
def test_applications_go_from_stream_to_stream(levels):
    n = 4096
    D = on_device(sp.eye_array(n) * 2.0)
    M = bj.BlockJacobi(D, 8) if levels == 1 else bj.TwoLevel(D, blocks=8, size=64)
    ones, results = cupy.ones(n), []
    expected = (M @ ones).get()
    for k in range(6):
        # The default stream comes between, and each of the others is gone when the next one is used.
        with cupy.cuda.Stream.null if k % 3 == 0 else cupy.cuda.Stream(non_blocking=True):
            results.append((1.0, M @ spin(cupy.zeros(n))))
            if k % 2 == 0:
                values = spin(cupy.zeros(D.nnz)) * 2.0**k * D.data  # there once the stream gets there
                M.update(values, check=False)
                values[...] = cupy.nan  # behind the update
                results.append((2.0**-k, M @ spin(cupy.zeros(n))))
                M.update(D.data, check=False)
    cupy.cuda.Device().synchronize()
    for factor, z in results:
        assert np.abs(z.get() - factor * expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.stream
def test_an_application_between_the_iterations_of_a_solve():
    A = elasticity_like(10, 2)
    D, b = on_device(A), cupy.asarray(A @ np.ones(A.shape[0]))
    M, seen = bj.BlockJacobi(D, 4), []
    alone, _ = bj.solve(D, b, M)
    with cupy.cuda.Stream(non_blocking=True):
        x, report = bj.solve(D, b, M, progress=lambda progress: seen.append(M @ b))
        assert report.converged and seen
        assert (x.get() == alone.get()).all()
        assert all((z == M @ b).all() for z in seen)


class Exporter:
    """An array of a library that offers DLPack alone, of the protocol before version 1."""

    def __init__(self, array, **changes):
        self.array = array
        self.changes = changes

    def __dlpack_device__(self):
        return (2, self.changes.get("device", 0))

    def __dlpack__(self, stream=None):
        capsule = self.array.__dlpack__(stream=stream)
        self.change(capsule, b"dltensor", 12)
        return capsule

    def change(self, capsule, name, device):
        """Writes into the tensor: the number of the device, and the flag that says that it is read-only."""
        address_of = ctypes.pythonapi.PyCapsule_GetPointer
        address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = address_of(capsule, name)
        if "device" in self.changes:
            ctypes.c_int32.from_address(tensor + device).value = self.changes["device"]
        if "read_only" in self.changes:
            ctypes.c_uint64.from_address(tensor + 24).value |= 1


class VersionedExporter(Exporter):
    """Of version 1."""

    def __dlpack__(self, stream=None, max_version=None):
        try:
            capsule = self.array.__dlpack__(stream=stream, max_version=max_version)
        except TypeError:
            pytest.skip("this CuPy knows no versions of DLPack")
        self.change(capsule, b"dltensor_versioned", 44)
        return capsule


@pytest.mark.stream
@pytest.mark.parametrize("exporter", [Exporter, VersionedExporter])
def test_arrays_with_dlpack_alone(exporter):
    n = 4096
    M = bj.BlockJacobi(on_device(sp.csr_array(sp.eye_array(n) * 2.0)), 8)
    with cupy.cuda.Stream(non_blocking=True):
        r, out = spin(cupy.zeros(n)), cupy.zeros(n)
        M.apply(exporter(r), out=exporter(out))
        after = out * 2  # the call has waited
    cupy.cuda.Device().synchronize()
    assert (after.get() == 1).all()


def test_a_read_only_array_with_dlpack_alone():
    M = bj.BlockJacobi(on_device(random_matrix(12)), 4)
    r, out = cupy.ones(12), cupy.empty(12)
    M.apply(VersionedExporter(r, read_only=True), out=VersionedExporter(out))
    assert_agrees(out, bj.BlockJacobi(random_matrix(12), 4) @ np.ones(12), "float64")
    with pytest.raises(bj.InvalidArgument, match="out is read-only, and is to be written"):
        M.apply(r, out=VersionedExporter(out, read_only=True))


def test_an_array_of_another_device():
    M = bj.BlockJacobi(on_device(random_matrix(12)), 4)
    number = cupy.cuda.Device().id
    far = Exporter(cupy.ones(12), device=number + 1)
    message = rf"lies on device {number + 1}, the backend .* works on device {number}"
    with pytest.raises(bj.InvalidArgument, match="r " + message):
        M.apply(far, out=cupy.empty(12))
    with pytest.raises(bj.InvalidArgument, match="out " + message):
        M.apply(cupy.ones(12), out=far)
    with pytest.raises(bj.InvalidArgument, match="values " + message):
        M.update(Exporter(cupy.ones(M.nnz), device=number + 1))


@pytest.mark.stream
def test_a_backend_on_the_users_stream():
    n = 512
    stream = cupy.cuda.Stream(non_blocking=True)
    backend = bj.Backend.cuda(0, stream)
    assert backend.stream == stream.ptr
    M = bj.BlockJacobi(on_device(sp.csr_array(sp.eye_array(n) * 2.0)), 8, backend=backend)
    del stream  # the backend keeps it
    stream = cupy.cuda.ExternalStream(backend.stream)
    with stream:
        z = M @ spin(cupy.zeros(n))
    stream.synchronize()
    assert (z.get() == 0.5).all()


@pytest.mark.stream
def test_a_stream_outlives_what_was_made_on_it():
    D = on_device(random_matrix(60))
    backend = bj.Backend.cuda(0, cupy.cuda.Stream(non_blocking=True))
    M = bj.BlockJacobi(D, 6, backend=backend)
    blocks = bj.partition.detect(D, 7, backend=backend)
    del backend, M
    gc.collect()
    assert blocks.rows == 60
    del blocks
    gc.collect()
    # What was given back left no error behind.
    assert_agrees(bj.BlockJacobi(D, 6) @ cupy.ones(60), bj.BlockJacobi(random_matrix(60), 6) @ np.ones(60), "float64")


@pytest.mark.stream
@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("renumbered", [False, True])
def test_apply_and_update_in_a_graph(levels, renumbered):
    A = random_matrix(60)
    D = on_device(A)
    blocks = bj.partition.from_labels(np.arange(60) % 10) if renumbered else 6
    host = bj.BlockJacobi(A, blocks) if levels == 1 else bj.TwoLevel(A, blocks=blocks, size=5)
    M = bj.BlockJacobi(D, blocks) if levels == 1 else bj.TwoLevel(D, blocks=blocks, size=5)
    values, r, z = D.data.copy(), cupy.ones(60), cupy.empty(60)
    M.update(values, check=False)
    M.apply(r, out=z)
    cupy.cuda.Device().synchronize()  # a graph waits for nothing that was enqueued elsewhere
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        M.update(values, check=False)
        M.apply(r, out=z)
        graph = stream.end_capture()
        for factor in (1.0, 2.0, 4.0):
            values[...] = D.data * factor
            r[...] = factor
            graph.launch(stream)
            stream.synchronize()
            assert_agrees(z, host @ np.ones(60), "float64")


@pytest.mark.stream
def test_threads_take_turns():
    A = elasticity_like(20, 3)
    M = bj.BlockJacobi(on_device(A), 12)
    vectors = [cupy.asarray(random_numbers(A.shape[0], "float64", k)) for k in range(4)]
    expected = [(M @ r).get() for r in vectors]
    wrong = []

    def work(k):
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(50):
                if not np.array_equal((M @ vectors[k]).get(), expected[k]):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.stream
def test_what_a_device_found_is_read_in_its_turn():
    A = elasticity_like(20, 3)
    D = on_device(A)
    M, r = bj.BlockJacobi(D, 12), cupy.ones(A.shape[0])
    expected = bj.partition.detect(A, 12)
    wrong, done = [], threading.Event()

    def applies():
        with cupy.cuda.Stream(non_blocking=True):
            while not done.is_set():
                M @ r

    def reads():
        try:
            for _ in range(50):
                found = bj.partition.detect(D, 12)
                if found != expected or list(found.rows_of(3)) != list(expected.rows_of(3)):
                    wrong.append(found)
        finally:
            done.set()

    threads = [threading.Thread(target=work) for work in (applies, reads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_batched(dtype, order):
    a = random_numbers((5, 7, 7), dtype, 1) + 3 * np.eye(7, dtype=dtype)
    b = random_numbers((5, 7, 2), dtype, 2)
    d = cupy.asarray(a)
    if order == "columns":
        d = cupy.ascontiguousarray(d.swapaxes(1, 2)).swapaxes(1, 2)
    assert_agrees(bj.batched.inverse(d).x, np.linalg.inv(a), dtype)
    factors = bj.batched.lu(d)
    for op, turned in (("none", a), ("transpose", a.swapaxes(1, 2)), ("conjugate_transpose", a.conj().swapaxes(1, 2))):
        assert_agrees(factors.solve(cupy.asarray(b), op), np.linalg.solve(turned, b), dtype)
    s = a @ a.conj().swapaxes(1, 2)
    found = bj.batched.solve(cupy.asarray(s), cupy.asarray(b), definite=True)
    assert_agrees(found.x, np.linalg.solve(s, b), dtype)
    assert_agrees(bj.batched.pseudo_inverse(d).x, np.linalg.pinv(a), dtype)
    assert np.abs(np.abs(bj.batched.qr(d).r().get()) - np.abs(np.linalg.qr(a).R)).max() <= 1000 * tolerance(dtype)


def test_batched_inverse_into_an_output():
    a = random_numbers((5, 7, 7), "float64", 1) + 3 * np.eye(7)
    d = cupy.asarray(a)
    for out in (cupy.empty_like(d), d):
        address = out.data.ptr
        found = bj.batched.inverse(d, out=out)
        assert found.x is out and found.x.data.ptr == address
        assert_agrees(out, np.linalg.inv(a), "float64")


def test_the_snippet_of_the_manual():
    """The script of the page, with the piece for CuPy in its place."""
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
    pieces = re.findall(r"<!-- snippet: (python|cupy) -->\n```python\n(.*?)^```$", page.read_text(encoding="utf-8"),
                        re.MULTILINE | re.DOTALL)
    assert [role for role, _ in pieces].count("cupy") == 1
    exec(compile("".join(piece for _, piece in pieces), str(page), "exec"), {"__name__": "__main__"})
