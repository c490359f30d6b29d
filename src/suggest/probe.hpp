#pragma once

#include <blockjacobi/solver.hpp>
#include <blockjacobi/suggest.hpp>

namespace blockjacobi::detail {

/// What a few iterations tell about a whole solve.
struct ProbeResult {
  bool failed = false;
  index_t iterations = 0;
  double reduction = 1.0;  ///< smallest ||r|| / ||b||
  double predicted = 0.0;  ///< iterations to rtol
};

/// p of suggest() after `iterations` that reduced ||r|| / ||b|| to `reduction`; infinity if nothing was gained.
double predicted_iterations(index_t iterations, double reduction, double rtol);

/// Solves A x = b with the candidate's blocks until ||r|| / ||b|| is below rtol^share (at least one iteration).
template <Scalar T>
ProbeResult probe(const LinearOperator<T>& A, const CsrMatrix<T>& matrix, const BlockPartition& blocks,
                  const Array<T>& b, const SuggestOptions& options, double share);

}  // namespace blockjacobi::detail
