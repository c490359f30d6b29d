#pragma once

/// Block-Jacobi preconditioning of sparse linear systems, on CPU threads and CUDA devices.
///
/// Thread safety: several threads may share the objects of a host backend and call const members and free functions on
/// them at once, as long as no two write the same memory; what changes an object excludes every other use of it. A CUDA
/// backend and all that was made on it belong to one thread at a time. Different backends are independent.

#include <blockjacobi/array.hpp>
#include <blockjacobi/backend.hpp>
#include <blockjacobi/batched.hpp>
#include <blockjacobi/block_batch.hpp>
#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/bsr_matrix.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>
#include <blockjacobi/gather.hpp>
#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/matrix_market.hpp>
#include <blockjacobi/memory.hpp>
#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/near_kernel.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/permuted_matrix.hpp>
#include <blockjacobi/renumbering.hpp>
#include <blockjacobi/solve_status.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/sparse_matrix.hpp>
#include <blockjacobi/stop_reason.hpp>
#include <blockjacobi/suggest.hpp>
#include <blockjacobi/suggested_system.hpp>
#include <blockjacobi/two_level.hpp>
#include <blockjacobi/types.hpp>
#include <blockjacobi/version.hpp>
#include <blockjacobi/views.hpp>
