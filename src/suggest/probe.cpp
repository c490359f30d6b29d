#include "suggest/probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace blockjacobi::detail {

namespace {

/// Mean rate of the whole solve against that of its start, over the systems of benchmarks/results/suggest-host.md.
constexpr double slows_down = 16.0;
/// A candidate that gained nothing in so many iterations gains nothing.
constexpr index_t most_iterations = 300;

/// Part of the way to rtol, on a logarithmic scale, in [0, 1]; 0 if nothing was gained.
double depth(double reduction, double rtol) {
  if (!(reduction < 0.999)) return 0.0;
  return reduction > rtol ? std::log(reduction) / std::log(rtol) : 1.0;
}

bool is_failure(StopReason reason) {
  return reason == StopReason::indefinite_matrix || reason == StopReason::indefinite_preconditioner ||
         reason == StopReason::nan_or_inf || reason == StopReason::singular_block || reason == StopReason::breakdown;
}

}  // namespace

double predicted_iterations(index_t iterations, double reduction, double rtol) {
  const double t = depth(reduction, rtol);
  return t > 0.0 ? iterations / t * std::pow(slows_down, 1.0 - t) : std::numeric_limits<double>::infinity();
}

template <Scalar T>
ProbeResult probe(const LinearOperator<T>& A, const CsrMatrix<T>& matrix, const BlockPartition& blocks,
                  const Array<T>& b, const SuggestOptions& options, double share) {
  const BlockJacobi<T> M(A.backend(), matrix, blocks, {options.singular});
  Array<T> x(A.backend(), b.size());
  x.zero();
  ProbeResult result;
  SolveOptions solve;
  solve.rtol = options.rtol;
  solve.restart = options.restart;
  solve.max_iterations = most_iterations;
  solve.progress = [&](const SolveProgress& p) {
    result.iterations = p.iteration;
    result.reduction = std::min(result.reduction, p.residual * options.rtol / p.target);
    return p.iteration < 1 || depth(result.reduction, options.rtol) < share;
  };
  const SolveReport report =
      options.method == Method::cg ? cg(A, M, b.view(), x.view(), solve) : gmres(A, M, b.view(), x.view(), solve);
  result.failed = is_failure(report.reason);
  if (report.converged()) {
    result.iterations = report.iterations;
    result.reduction = std::min(result.reduction, report.relative_residual());
  }
  result.predicted = result.failed ? std::numeric_limits<double>::infinity()
                                   : predicted_iterations(result.iterations, result.reduction, options.rtol);
  return result;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                  \
  template ProbeResult probe(const LinearOperator<T>&, const CsrMatrix<T>&, const BlockPartition&, const Array<T>&, \
                             const SuggestOptions&, double)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
