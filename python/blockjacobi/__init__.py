"""Block-Jacobi preconditioning of sparse linear systems, on CPU threads and CUDA devices.

>>> import numpy, scipy.sparse.linalg, blockjacobi
>>> A = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100)).tocsr()
>>> M = blockjacobi.BlockJacobi(A, blocks=10)
>>> x, status = scipy.sparse.linalg.cg(A, A @ numpy.ones(100), M=M)
"""

from . import errors  # first: the compiled part refers to it
from ._core import (
    Backend,
    BlockCandidate,
    BlockDefect,
    MultigridLevel,
    MultigridReport,
    Partition,
    Report,
    SetupTimes,
    SolveProgress,
    SolveReport,
    Suggestion,
    TwoLevelReport,
    __version__,
    cuda_available,
)
from . import batched, partition
from ._multigrid import Multigrid
from ._preconditioner import BlockJacobi
from ._solve import Solution, preconditioner, solve, suggest
from ._two_level import TwoLevel
from .errors import (
    BackendUnavailable,
    CudaError,
    Error,
    InvalidArgument,
    OutOfMemory,
    SingularBlock,
    Unavailable,
)

__all__ = [
    "Backend", "BackendUnavailable", "BlockCandidate", "BlockDefect", "BlockJacobi", "CudaError", "Error",
    "InvalidArgument", "Multigrid", "MultigridLevel", "MultigridReport", "OutOfMemory", "Partition", "Report",
    "SetupTimes", "SingularBlock", "Solution", "SolveProgress", "SolveReport", "Suggestion", "TwoLevel",
    "TwoLevelReport", "Unavailable", "__version__", "batched", "cuda_available", "errors", "partition",
    "preconditioner", "solve", "suggest",
]
