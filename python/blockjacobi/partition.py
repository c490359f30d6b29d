"""Ways to split the rows of a matrix into diagonal blocks.

Each function gives a :class:`Partition` for ``BlockJacobi(A, blocks=...)``. Which one serves: the unknowns of a node
where there are several (a ``bsr_array`` or :func:`supervariables`, what ``BlockJacobi(A)`` takes), larger blocks where
these capture much of the matrix (:func:`clusters`, :func:`coupled`), the user's own knowledge (:func:`from_labels`,
:func:`from_offsets`); :func:`blockjacobi.suggest` compares some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _core, _matrix

if TYPE_CHECKING:
    from ._core import Backend

__all__ = ["Partition", "clusters", "coupled", "detect", "from_labels", "from_offsets", "metis", "metis_available",
           "supervariables", "uniform"]

Partition = _core.Partition


def uniform(rows: int, block_size: int) -> Partition:
    """Blocks of one size, the last one shorter if it does not divide ``rows``.

    Raises
    ------
    InvalidArgument
        Unless ``rows >= 0`` and ``1 <= block_size <= 512``.
    """
    return _core.partition_uniform(rows, block_size)


def from_offsets(offsets: Any) -> Partition:
    """Block ``b`` has the rows ``offsets[b]`` to ``offsets[b + 1] - 1``.

    Parameters
    ----------
    offsets : array of int32 or int64
        Contiguous, on the host.

    Raises
    ------
    InvalidArgument
        Naming the block and its rows, unless offsets start at 0, increase strictly, and no block exceeds 512 rows; for
        offsets of another type or place, or that are not contiguous.
    """
    return _core.partition_from_offsets(offsets)


def from_labels(labels: Any) -> Partition:
    """The rows with equal labels make one block, wherever they stand. Blocks follow each other as their first rows do.

    Parameters
    ----------
    labels : array of int32 or int64
        One a row, any numbers of 32 bits serve. Contiguous, on the host.

    Raises
    ------
    InvalidArgument
        Naming the label that has more than 512 rows, or that does not fit in 32 bits; for labels of another type or
        place, or that are not contiguous.
    """
    return _core.partition_from_labels(labels)


def detect(A: Any, max_size: int = 32, *, tolerance: float = 0.0,
           merge: Literal["none", "greedy", "coupled"] = "greedy", coupling: float = 0.01,
           backend: Backend | None = None) -> Partition:
    r"""Supervariables, that is consecutive rows with the same set of columns, and how they are merged.

    A row joins the supervariable of the row before it, if that has fewer than ``max_size`` rows, when their column sets
    :math:`P` and :math:`Q` satisfy :math:`|P \triangle Q| \le t\,|P \cup Q|`, ``t`` being the tolerance.

    Parameters
    ----------
    A : sparse matrix
        Square; as :class:`BlockJacobi` takes it. Its rows need not be sorted.
    max_size : int
        Rows of a block, 1 to 512.
    tolerance : float
        In [0, 1).
    merge : str
        ``"none"``: blocks are supervariables. ``"greedy"``: all neighbours are merged as long as they fit (the block
        pointers of Ginkgo's Jacobi). ``"coupled"``: as :func:`coupled`.
    coupling : float
        Of ``"coupled"`` alone.
    backend : Backend, optional
        Where to look; by default where the matrix lies.

    Raises
    ------
    InvalidArgument
        For a matrix that is not square or whose arrays do not fit, and for numbers out of range.
    """
    matrix = _matrix.read(A)
    backend = _arrays.backend_for(matrix.values, backend)
    return _core.partition_detect(backend, matrix.view(backend), max_size, tolerance, merge, coupling)


def supervariables(A: Any, max_size: int = 32, *, tolerance: float = 0.0, backend: Backend | None = None) -> Partition:
    """Consecutive rows with the same set of columns, not merged: the unknowns of a node of a finite element system."""
    return detect(A, max_size, tolerance=tolerance, merge="none", backend=backend)


def coupled(A: Any, max_size: int = 32, *, coupling: float = 0.01, backend: Backend | None = None) -> Partition:
    r"""Supervariables, merged with their neighbours only where the values couple them.

    Supervariable :math:`J` joins the block that is being filled if it fits and some :math:`I` of that block has

    .. math:: \max(|A_{IJ}|, |A_{JI}|) \ge \theta \sqrt{|A_{II}| |A_{JJ}|},

    :math:`|.|` being the largest magnitude in a block of the matrix and :math:`\theta` the ``coupling``.
    """
    return detect(A, max_size, merge="coupled", coupling=coupling, backend=backend)


def clusters(A: Any, max_size: int = 32, *, nodes: Partition | int | None = None,
             backend: Backend | None = None) -> Partition:
    r"""Blocks of strongly coupled rows wherever they stand, by repeated matching.

    Each pass pairs the nodes, then the clusters, :math:`I` and :math:`J` that ask for each other, each for the one with
    the greatest :math:`w_{IJ}^3 / (n_I n_J)`, with

    .. math:: w_{IJ} = \sum_{i \in I, j \in J} \min(1, |a_{ij}| / \sqrt{s_i s_j}) + \min(1, |a_{ji}| / \sqrt{s_i s_j}),

    :math:`s_i` being :math:`|a_{ii}|` or, if that is zero, the largest magnitude in the row, and :math:`n_I` the rows
    of :math:`I`; rounds of moves follow (multilevel scheme of Karypis and Kumar, 1998). The package renumbers the
    system on its way; ``order`` of the result says how. The same input gives the same blocks.

    Parameters
    ----------
    A : sparse matrix
        As of :func:`detect`.
    max_size : int
        Rows of a block, 1 to 512.
    nodes : Partition or int, optional
        Rows that stay together: consecutive ones, or their number (3 for three unknowns a node). None takes the
        supervariables of at most 8 rows.
    backend : Backend, optional
        Where to look; by default where the matrix lies. On CUDA that takes about 36 bytes an entry and 144 bytes a row
        of the device's memory meanwhile; for nodes of several sizes the matrix is copied to the host, and they are
        found there.

    Raises
    ------
    InvalidArgument
        As :func:`detect`, and for nodes of other rows than the matrix or of more than ``max_size``.
    """
    matrix = _matrix.read(A)
    backend = _arrays.backend_for(matrix.values, backend)
    if nodes is not None and not isinstance(nodes, Partition):
        nodes = uniform(matrix.rows, nodes)
    return _core.partition_clusters(backend, matrix.view(backend), nodes, max_size)


def metis(A: Any, max_size: int = 32, *, backend: Backend | None = None) -> Partition:
    """Blocks of strongly coupled rows wherever they stand, found by METIS on the host (Karypis and Kumar, 1998).

    As good as :func:`clusters` and slower. A matrix in device memory is copied to the host; ``backend`` may name the one
    that it lies on. The same input gives the same blocks.

    Raises
    ------
    InvalidArgument
        As :func:`detect`.
    Unavailable
        If the package was built without METIS: see :func:`metis_available`.
    """
    matrix = _matrix.read(A)
    backend = _arrays.backend_for(matrix.values, backend)
    return _core.partition_metis(backend, matrix.view(backend), max_size)


def metis_available() -> bool:
    """Whether the package was built with METIS."""
    return _core.metis_available
