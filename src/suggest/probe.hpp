#pragma once

#include <blockjacobi/solver.hpp>
#include <blockjacobi/suggest.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What a few iterations tell about a whole solve.
struct ProbeResult {
  bool failed = false;
  index_t iterations = 0;
  double reduction = 1.0;  ///< smallest ||r|| / ||b||
  double depth = 0.0;      ///< part of the way to rtol, on a logarithmic scale; 0 if nothing was gained
};

/// t of suggest(): in [0, 1], 0 if nothing was gained.
double depth_of(double reduction, double rtol);

/// Of a solve that was presumed to take so many, after k of them came as far as t: k / t, and no fewer than
/// (k / t)^t presumed^(1 - t). Where a start is faster than the rest, t^2 are the exponents. Where nothing was gained
/// that is infinity, after a few iterations the presumed ones.
double predicted_iterations(index_t iterations, double depth, double presumed, bool starts_fast = false);

/// Solves A x = b with scalar Jacobi for at most so many iterations, and for a hundredth of those that it predicts, but
/// for one at least. A is on the host: the diagonal needs no set-up there.
template <Scalar T>
ProbeResult probe_diagonal(const SparseMatrix<T>& A, const std::vector<T>& b, const SuggestOptions& options,
                           index_t most_iterations, double presumed);

/// The same with the preconditioner of a candidate, on the backend of the matrix.
template <Scalar T>
ProbeResult probe_candidate(const SparseMatrix<T>& A, const BlockCandidate& candidate, const std::vector<T>& b,
                            const SuggestOptions& options, index_t most_iterations, double presumed);

}  // namespace blockjacobi::detail
