#include "suggest/probe.hpp"

#include <blockjacobi/error.hpp>
#include <blockjacobi/suggested_system.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace blockjacobi::detail {

namespace {

/// Iterations of a probe over those that it predicts; with twice as many the predictions are no nearer.
constexpr double probe_length = 0.01;
/// Less than that is no reduction.
constexpr double no_gain = 0.999;
/// Fewer iterations that gained nothing may be those of CG whose residual grows at first.
constexpr index_t enough_to_give_up = 8;

bool is_failure(StopReason reason) {
  return reason == StopReason::indefinite_matrix || reason == StopReason::indefinite_preconditioner ||
         reason == StopReason::nan_or_inf || reason == StopReason::singular_block || reason == StopReason::breakdown;
}

}  // namespace

double depth_of(double reduction, double rtol) {
  if (!(reduction < no_gain)) return 0.0;
  return reduction > rtol ? std::log(reduction) / std::log(rtol) : 1.0;
}

double predicted_iterations(index_t iterations, double depth, double presumed, bool starts_fast) {
  if (depth <= 0.0) return iterations < enough_to_give_up ? presumed : std::numeric_limits<double>::infinity();
  const double pace = iterations / depth;
  const double weight = starts_fast ? depth * depth : depth;
  return std::max(pace, std::pow(pace, weight) * std::pow(presumed, 1.0 - weight));
}

namespace {

/// z = D^-1 r, as scalar Jacobi with SingularPolicy::scalar_jacobi.
template <Scalar T>
Preconditioner<T> diagonal(const SparseMatrix<T>& A) {
  std::vector<T> inverse(static_cast<std::size_t>(A.rows()), T(1));
  std::visit(
      [&](const auto& m) {
        const auto base = static_cast<index_t>(m.base);
        for (index_t i = 0; i < m.rows; ++i) {
          const index_t* const begin = m.columns + (m.row_offsets[i] - base);
          const index_t* const end = m.columns + (m.row_offsets[i + 1] - base);
          const index_t* const found = std::lower_bound(begin, end, i + base);
          if (found == end || *found != i + base) continue;
          const T reciprocal = T(1) / m.values[found - m.columns];
          if (std::isfinite(std::abs(reciprocal))) inverse[static_cast<std::size_t>(i)] = reciprocal;
        }
      },
      A.view());
  return {A.backend(), A.rows(), [inverse = std::move(inverse)](VectorView<const T> r, VectorView<T> z) {
            for (std::size_t i = 0; i < inverse.size(); ++i) z.data[i] = inverse[i] * r.data[i];
          }};
}

template <Scalar T>
ProbeResult run(const LinearOperator<T>& A, const Preconditioner<T>& M, const std::vector<T>& b,
                const SuggestOptions& options, index_t most_iterations, double presumed) {
  std::vector<T> x(b.size());
  const VectorView<const T> b_view{b.data(), A.rows(), MemorySpace::host};
  const VectorView<T> x_view{x.data(), A.rows(), MemorySpace::host};
  ProbeResult result;
  SolveOptions solve;
  solve.rtol = options.rtol;
  solve.restart = options.restart;
  solve.max_iterations = most_iterations;
  solve.progress = [&](const SolveProgress& p) {
    result.iterations = p.iteration;
    result.reduction = std::min(result.reduction, p.residual * options.rtol / p.target);
    const double depth = depth_of(result.reduction, options.rtol);
    return p.iteration < 1 || depth <= 0.0 ||
           p.iteration < probe_length * predicted_iterations(p.iteration, depth, presumed);
  };
  const SolveReport report =
      options.method == Method::cg ? cg(A, M, b_view, x_view, solve) : gmres(A, M, b_view, x_view, solve);
  result.failed = is_failure(report.reason);
  result.iterations = report.iterations;
  if (report.converged()) result.reduction = std::min(result.reduction, report.relative_residual());
  result.depth = depth_of(result.reduction, options.rtol);
  return result;
}

}  // namespace

template <Scalar T>
ProbeResult probe_diagonal(const SparseMatrix<T>& A, const std::vector<T>& b, const SuggestOptions& options,
                           index_t most_iterations, double presumed) {
  return run(LinearOperator<T>(A), diagonal(A), b, options, most_iterations, presumed);
}

template <Scalar T>
ProbeResult probe_candidate(const SparseMatrix<T>& A, const BlockCandidate& candidate, const std::vector<T>& b,
                            const SuggestOptions& options, index_t most_iterations, double presumed) {
  try {
    const SuggestedSystem<T> system(A, candidate, {.singular = options.singular, .check_pattern = false});
    return run(LinearOperator<T>(system.matrix()), system.preconditioner(), system.permutation().to_permuted(b),
               options, most_iterations, presumed);
  } catch (const SingularBlock&) {  // with SingularPolicy::fail
    return {.failed = true};
  }
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                   \
  template ProbeResult probe_diagonal(const SparseMatrix<T>&, const std::vector<T>&, const SuggestOptions&, index_t, \
                                      double);                                                                       \
  template ProbeResult probe_candidate(const SparseMatrix<T>&, const BlockCandidate&, const std::vector<T>&,         \
                                       const SuggestOptions&, index_t, double)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
