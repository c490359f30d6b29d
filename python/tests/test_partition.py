import numpy as np
import pytest
import scipy.sparse as sp
from systems import blocks_of, dense_inverse, elasticity_like, random_matrix, random_numbers

import blockjacobi as bj
from blockjacobi import partition


def test_uniform():
    blocks = partition.uniform(10, 4)
    assert (len(blocks), blocks.rows, blocks.largest, blocks.order) == (3, 10, 4, None)
    assert blocks.offsets.tolist() == [0, 4, 8, 10] and blocks.offsets.dtype == np.int32
    assert blocks.rows_of(2).tolist() == [8, 9]
    assert repr(blocks) == "<blockjacobi.Partition: 10 rows in 3 blocks of at most 4>"


@pytest.mark.parametrize("width", ["int32", "int64"])
def test_offsets(width):
    blocks = partition.from_offsets(np.array([0, 1, 5, 7], dtype=width))
    assert [rows.tolist() for rows in blocks_of(blocks)] == [[0], [1, 2, 3, 4], [5, 6]]
    assert blocks == partition.from_offsets(np.array([0, 1, 5, 7])) != partition.uniform(7, 3)
    assert hash(blocks) == hash(partition.from_offsets(np.array([0, 1, 5, 7])))
    assert blocks != "blocks"


@pytest.mark.parametrize("width", ["int32", "int64"])
def test_labels(width):
    blocks = partition.from_labels(np.array([5, -1, 5, 7, -1, 5], dtype=width))
    assert [rows.tolist() for rows in blocks_of(blocks)] == [[0, 2, 5], [1, 4], [3]]
    assert blocks.order.tolist() == [0, 2, 5, 1, 4, 3]
    assert "renumbered" in repr(blocks)


def test_ways_to_detect():
    A = elasticity_like(6, 4)
    assert partition.supervariables(A) == partition.uniform(144, 4)
    assert partition.supervariables(A, 3).largest == 3
    assert partition.detect(A, 16) == partition.uniform(144, 16)
    coupled = partition.coupled(A, 16)
    assert coupled.rows == 144 and 4 <= coupled.largest <= 16
    assert partition.coupled(A, 16, coupling=1e9) == partition.uniform(144, 4)
    assert partition.detect(A, merge="none", tolerance=0.99).largest > 4
    for name in ("supervariables", "detect", "coupled"):
        assert bj.BlockJacobi(A, name).partition == getattr(partition, name)(A)


@pytest.mark.parametrize("way", ["clusters", "metis"])
def test_the_users_numbering_is_kept(way):
    if way == "metis" and not partition.metis_available():
        pytest.skip("built without METIS")
    A = elasticity_like(10, 2)
    shuffled = np.random.default_rng(2).permutation(200)
    A = A[shuffled][:, shuffled].tocsr()
    blocks = getattr(partition, way)(A, 24)
    assert sorted(blocks.order.tolist()) == list(range(200)) and 12 < blocks.largest <= 24
    M = bj.BlockJacobi(A, blocks)
    r = random_numbers(200, "float64", 1)
    np.testing.assert_allclose(M @ r, dense_inverse(A, blocks_of(blocks)) @ r, rtol=1e-9, atol=1e-12)
    assert bj.BlockJacobi(A, way).partition == getattr(partition, way)(A)
    b = A @ r
    found, scalar = (bj.solve(A, b, bj.BlockJacobi(A, choice)) for choice in (blocks, 1))
    assert found.report.converged and found.report.iterations < scalar.report.iterations
    np.testing.assert_allclose(found.x, r, rtol=0, atol=1e-5)


def test_clusters_keep_nodes_whole():
    A = elasticity_like(6, 4)
    blocks = partition.clusters(A, 12, nodes=4)
    for rows in blocks_of(blocks):
        assert (rows % 4).tolist() == [0, 1, 2, 3] * (len(rows) // 4)
    assert blocks == partition.clusters(A, 12, nodes=partition.uniform(144, 4))


def test_renumbered():
    assert partition.clusters(elasticity_like(4, 3), 12).renumbered
    assert partition.from_labels(np.arange(6) % 2).renumbered
    assert not partition.uniform(6, 2).renumbered


@pytest.mark.skipif(partition.metis_available(), reason="built with METIS")
def test_without_metis():
    with pytest.raises(bj.Unavailable):
        partition.metis(random_matrix(10))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda A: partition.uniform(-1, 4), "-1"),
        (lambda A: partition.uniform(10, 0), "0"),
        (lambda A: partition.uniform(10, 513), "513"),
        (lambda A: partition.from_offsets(np.array([0, 4, 4])), "block 1"),
        (lambda A: partition.from_offsets(np.array([1, 4])), "1"),
        (lambda A: partition.from_offsets(np.array([0, 513])), "513"),
        (lambda A: partition.from_offsets(np.array([0.0, 4.0])), "offsets is of float64, must be of int32 or int64"),
        (lambda A: partition.from_offsets(np.array([[0, 4]])), "2 dimensions"),
        (lambda A: partition.from_offsets(np.array([0, 9, 4])[::2]), "strides"),
        (lambda A: partition.from_offsets(np.array([0, 2**40])), r"offsets\[1\] is 1099511627776"),
        (lambda A: partition.from_labels(np.zeros(513, np.int32)), "label 0"),
        (lambda A: partition.from_labels(np.array([0, -(2**40)])), r"labels\[1\] is -1099511627776"),
        (lambda A: partition.from_labels(np.zeros(4)), "labels is of float64, must be of int32 or int64"),
        (lambda A: partition.from_labels(np.zeros((2, 2), np.int32)), "2 dimensions"),
        (lambda A: partition.from_labels(np.zeros(8, np.int32)[::2]), "strides"),
        (lambda A: partition.detect(A, 0), "0"),
        (lambda A: partition.detect(A, 513), "513"),
        (lambda A: partition.detect(A, tolerance=1.0), "tolerance"),
        (lambda A: partition.detect(A, merge="all"), 'merge is "all", must be one of none, greedy, coupled'),
        (lambda A: partition.coupled(A, coupling=-1.0), "coupling"),
        (lambda A: partition.detect(A[:5]), "5"),
        (lambda A: partition.metis(A, 0), "0"),
        (lambda A: partition.clusters(A, 0), "0"),
        (lambda A: partition.clusters(A, 4, nodes=6), "6"),
        (lambda A: partition.clusters(A, nodes=partition.uniform(13, 2)), "13"),
        (lambda A: partition.clusters(A, nodes=partition.from_labels(np.arange(12) % 3)), "must be neighbours"),
        (lambda A: partition.uniform(10, 4).rows_of(3), "block is 3, must be in 0..2"),
    ],
)
def test_misuse(call, words):
    if "metis" in call.__code__.co_names and not partition.metis_available():
        pytest.skip("built without METIS")
    with pytest.raises(bj.InvalidArgument, match=words):
        call(random_matrix(12))


def test_types():
    with pytest.raises(TypeError, match="no array"):
        partition.from_labels([1, 2, 1])
    with pytest.raises(TypeError, match="coo"):
        partition.detect(sp.coo_array((4, 4)))
    with pytest.raises(TypeError):
        partition.Partition()
