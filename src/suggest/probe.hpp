#pragma once

#include <blockjacobi/solver.hpp>
#include <blockjacobi/suggest.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What a few iterations tell about a whole solve.
struct ProbeResult {
  bool failed = false;
  bool says_nothing = false;  ///< too few iterations to tell a slow start from none
  index_t iterations = 0;
  double reduction = 1.0;  ///< smallest ||r|| / ||b||
  double predicted = 0.0;  ///< iterations to rtol
};

/// p of suggest() after `iterations` that reduced ||r|| / ||b|| to `reduction`, of a solve that is at first `slowdown`
/// times as fast as it goes on; infinity if nothing was gained.
double predicted_iterations(index_t iterations, double reduction, double rtol, double slowdown);

/// Solves A x = b with scalar Jacobi for at most so many iterations, and for a hundredth of those that it predicts, but
/// for one at least. A is on the host: the diagonal needs no set-up there.
template <Scalar T>
ProbeResult probe_diagonal(const SparseMatrix<T>& A, const std::vector<T>& b, const SuggestOptions& options,
                           index_t most_iterations);

/// The same with the preconditioner of a candidate, on the backend of the matrix.
template <Scalar T>
ProbeResult probe_candidate(const SparseMatrix<T>& A, const BlockCandidate& candidate, const std::vector<T>& b,
                            const SuggestOptions& options, index_t most_iterations);

}  // namespace blockjacobi::detail
