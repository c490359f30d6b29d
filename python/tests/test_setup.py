"""Singular blocks, reports, new values, and what lives how long."""

import gc
import json
import sys
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from systems import blocks_of, dense_inverse, elasticity_like, random_matrix, random_numbers, tolerance

import blockjacobi as bj


def with_singular_block(dtype="float64"):
    """Blocks of 4; block 2 has two equal rows."""
    A = random_matrix(16, dtype).toarray()
    A[8:10, 8:12] = [16, 3, 1, 2]
    return sp.csr_array(A)


def test_singular_block_is_named(dtype):
    with pytest.raises(bj.SingularBlock, match="block 2") as caught:
        bj.BlockJacobi(with_singular_block(dtype), 4)
    error = caught.value
    assert error.block == 2 and list(error.rows) == [8, 9, 10, 11] and error.info != 0
    assert isinstance(error, np.linalg.LinAlgError) and isinstance(error, bj.Error)


def test_singular_block_of_a_renumbered_system_has_the_users_rows():
    A = with_singular_block()
    order = np.random.default_rng(1).permutation(16)
    labels = np.empty(16, dtype=np.int64)
    labels[order] = np.arange(16) // 4  # new row order[k] is the old row k
    inverse = np.argsort(order)
    B = A[inverse][:, inverse].tocsr()
    rows = sorted(order[8:12])
    with pytest.raises(bj.SingularBlock) as caught:
        bj.BlockJacobi(B, bj.partition.from_labels(labels))
    assert sorted(caught.value.rows) == rows
    M = bj.BlockJacobi(B, bj.partition.from_labels(labels), singular="identity")
    (defect,) = M.report().defects
    assert sorted(defect.rows) == rows


def test_policies():
    A = with_singular_block()
    r = random_numbers(16, "float64", 2)
    regular = [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15]
    expected = {"identity": r[8:12], "scalar_jacobi": r[8:12] / A.diagonal()[8:12],
                "pseudo_inverse": np.linalg.pinv(A.toarray()[8:12, 8:12]) @ r[8:12], "shift": None}
    results = {}
    for policy, z in expected.items():
        M = bj.BlockJacobi(A, 4, singular=policy)
        results[policy] = M @ r
        report = M.report()
        assert report.singular == policy and report.singular_blocks == 1
        assert [defect.block for defect in report.defects] == [2] and M.info()[2] != 0
        if policy in ("identity", "scalar_jacobi"):
            np.testing.assert_allclose(results[policy][8:12], z, rtol=1e-12)
        assert np.isfinite(results[policy]).all()
    for policy in expected:
        np.testing.assert_array_equal(results[policy][regular], results["identity"][regular])
    assert len({tuple(z[8:12]) for z in results.values()}) == 4


def test_nan_is_named():
    A = random_matrix(16)
    A.data[A.indptr[5]] = np.nan
    A = sp.csr_array(A)
    M = bj.BlockJacobi(A, 16, singular="scalar_jacobi")
    assert M.report().non_finite_blocks == 1 and M.info()[0] < 0 and np.isnan(M.rcond()[0])
    with pytest.raises(bj.SingularBlock):
        bj.BlockJacobi(A, 16)


def test_report():
    A = elasticity_like(5, 3)
    M = bj.BlockJacobi(A, 7, profile=True)
    report = M.report()
    assert (report.rows, report.blocks, report.dtype, report.singular) == (75, 11, "float64", "fail")
    assert report.sizes == {7: 10, 5: 1} and report.bytes == M.nbytes
    stored = 8 * (10 * 49 + 25)
    assert stored <= report.inverse_bytes < stored + 2 * 128  # each order starts aligned
    assert 0 < report.entries_inside < 1 and report.captured is None and report.max_growth is None
    assert report.min_rcond == pytest.approx(M.rcond().min()) and report.min_rcond_block == M.rcond().argmin()
    assert report.times.inversion > 0
    full = M.report(A)
    assert 0 < full.captured < 1 and full.max_growth >= 1
    assert json.dumps(full.to_dict()) and full.to_dict()["captured"] == pytest.approx(full.captured)
    assert "75 rows in 11 blocks" in str(report) and "75 rows" in repr(report)
    assert "75 rows in 11 blocks" in repr(M)


def test_info_rcond_and_inverses(dtype):
    A = random_matrix(20, dtype)
    M = bj.BlockJacobi(A, 6)
    assert M.info().dtype == np.int32 and not M.info().any()
    assert M.rcond().dtype == np.zeros(1, dtype).real.dtype and ((M.rcond() > 0) & (M.rcond() <= 1)).all()
    for block, rows in enumerate(blocks_of(M.partition)):
        expected = np.linalg.inv(A.toarray()[np.ix_(rows, rows)])
        assert np.abs(M.inverse_block(block) - expected).max() <= tolerance(dtype)
    assert M.nnz == A.nnz


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("kind", ["values", "matrix", "rebuild"])
def test_update(dtype, kind, labels):
    A = random_matrix(30, dtype)
    M = bj.BlockJacobi(A, bj.partition.from_labels(np.arange(30) % 4) if labels else 6)
    B = A.copy()
    B.data = (A.data * random_numbers(A.nnz, "float64", 7)).astype(dtype) + A.data
    if kind == "values":
        M.update(B.data)
    elif kind == "matrix":
        M.update(B)
    else:
        M.rebuild(B.data)
    inverse = dense_inverse(B, blocks_of(M.partition))
    r = random_numbers(30, dtype, 5)
    assert np.abs(M @ r - inverse @ r).max() <= tolerance(dtype) * np.abs(inverse @ r).max()


def test_update_of_bsr_takes_its_values():
    A = sp.bsr_array(elasticity_like(5, 3), blocksize=(3, 3))
    M = bj.BlockJacobi(A)
    B = A.copy()
    B.data = A.data * random_numbers(A.data.shape, "float64", 7) + A.data + 4 * np.eye(3)
    M.update(np.asfortranarray(B.data))
    r = random_numbers(75, "float64", 1)
    np.testing.assert_array_equal(M @ r, bj.BlockJacobi(B) @ r)
    M.update(A)
    np.testing.assert_array_equal(M @ r, bj.BlockJacobi(A) @ r)


@pytest.mark.parametrize("labels", [False, True])
def test_update_to_a_singular_block(labels):
    A = with_singular_block()
    regular = A.copy()
    regular[9, 9] = 50.0
    M = bj.BlockJacobi(regular, bj.partition.from_labels(np.arange(16) // 4) if labels else 4)
    with pytest.raises(bj.SingularBlock, match="BlockJacobi.update: block 2") as caught:
        M.update(A.data)
    assert caught.value.block == 2 and list(caught.value.rows) == [8, 9, 10, 11]
    with pytest.raises(bj.SingularBlock):
        M.rebuild(A.data)
    M.update(A.data, check=False)
    assert M.report().singular_blocks == 1
    assert bj.solve(A, np.ones(16), M, method="gmres").report.reason == "singular_block"
    M.update(regular.data)
    assert M.report().singular_blocks == 0


def test_nothing_of_the_matrix_is_kept():
    A = random_matrix(30)
    arrays = [weakref.ref(array) for array in (A.data, A.indices, A.indptr)]
    counts = [sys.getrefcount(array) for array in (A.data, A.indices, A.indptr)]
    M = bj.BlockJacobi(A, 6)
    M.update(A)
    M.report(A)
    assert counts == [sys.getrefcount(array) for array in (A.data, A.indices, A.indptr)]
    expected = M @ np.ones(30)
    del A
    gc.collect()
    assert all(reference() is None for reference in arrays)
    np.testing.assert_array_equal(M @ np.ones(30), expected)


def test_vectors_and_preconditioners_are_freed():
    A = random_matrix(30)
    M = bj.BlockJacobi(A, 6)
    r, z = np.ones(30), np.empty(30)
    before = sys.getrefcount(r), sys.getrefcount(z)
    for _ in range(100):
        M.apply(r, out=z)
        M.update(A.data)
    assert before == (sys.getrefcount(r), sys.getrefcount(z))
    gone = weakref.ref(M)
    result = M @ r
    del M
    gc.collect()
    assert gone() is None and np.isfinite(result).all()


def test_threads_share_a_preconditioner():
    A = elasticity_like(40, 3)
    M = bj.BlockJacobi(A, 12)
    vectors = [random_numbers(A.shape[0], "float64", k) for k in range(4)]
    expected = [M @ r for r in vectors]
    wrong = []

    def work(k):
        for _ in range(30):
            if not np.array_equal(M @ vectors[k], expected[k]):
                wrong.append(k)

    def change():
        for _ in range(10):
            M.update(A.data)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)] + [threading.Thread(target=change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("what", ["construction", "apply", "solve"])
def test_the_gil_is_free_while_it_computes(what):
    A = elasticity_like(80, 3)
    blocks, host = bj.partition.uniform(A.shape[0], 256), bj.Backend.host(1)
    M = bj.BlockJacobi(A, blocks, backend=host)
    b = random_numbers(A.shape[0], "float64", 1)
    R = np.asfortranarray(np.broadcast_to(b[:, None], (b.size, 256)))
    Z = np.empty_like(R)
    calls = {
        "construction": lambda: bj.BlockJacobi(A, blocks, backend=host),
        "apply": lambda: M.apply(R, out=Z),
        "solve": lambda: bj.solve(A, b, M, method="richardson", relaxation=1e-9, rtol=0.0, max_iterations=2**30,
                                  max_seconds=0.2, history=False),
    }
    counted, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    calls[what]()
    after = counted[0]
    done.set()
    thread.join()
    # At most one count falls into the Python code around the call, which takes tens of milliseconds.
    assert after - before > 5


def test_two_host_backends():
    A = random_matrix(30)
    one, two = bj.Backend.host(1), bj.Backend.host(2)
    assert (one.threads, two.threads, one.kind, one.stream) == (1, 2, "host", 0)
    assert one == one and one != two and one not in (None, "host") and hash(one) == hash(bj.BlockJacobi(A, 5, backend=one).backend)
    assert "host, 2 threads" in repr(two)
    two.synchronize()
    r = np.ones(30)
    np.testing.assert_array_equal(bj.BlockJacobi(A, 5, backend=one) @ r, bj.BlockJacobi(A, 5, backend=two) @ r)
    assert bj.BlockJacobi(A, 5).backend == bj.BlockJacobi(A, 3).backend
