#pragma once

/// Block-Jacobi preconditioning of sparse linear systems, on CPU threads and CUDA devices.

#include <blockjacobi/array.hpp>
#include <blockjacobi/backend.hpp>
#include <blockjacobi/batched.hpp>
#include <blockjacobi/block_batch.hpp>
#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>
#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/matrix_market.hpp>
#include <blockjacobi/memory.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/stop_reason.hpp>
#include <blockjacobi/types.hpp>
#include <blockjacobi/version.hpp>
#include <blockjacobi/views.hpp>
