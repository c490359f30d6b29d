#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/stop_reason.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace blockjacobi {

/// Shown to the progress callback.
struct SolveProgress {
  index_t iteration = 0;
  double residual = 0.0;  ///< ||r|| of the recurrence, 2-norm
  double target = 0.0;    ///< ||r|| that ends the solve
};

struct SolveOptions {
  double rtol = 1e-8;              ///< relative to ||b||
  double atol = 0.0;               ///< absolute; the larger of rtol ||b|| and atol counts
  index_t max_iterations = 10000;  ///< CG iterations, or inner GMRES iterations
  index_t restart = 30;            ///< GMRES(m)
  double max_seconds = 0.0;        ///< wall time, looked at between batches of iterations; 0 for no limit
  bool history = true;             ///< fill SolveReport::history
  /// Called between batches of iterations (every iteration on the host); return false to stop.
  std::function<bool(const SolveProgress&)> progress;
};

struct SolveReport {
  StopReason reason = StopReason::max_iterations;
  index_t iterations = 0;
  double rhs_norm = 0.0;             ///< ||b||
  double initial_residual = 0.0;     ///< ||b - A x0||
  double recurrence_residual = 0.0;  ///< ||r|| as the recurrence has it at the end
  double true_residual = 0.0;        ///< ||b - A x||, recomputed at the end
  double seconds = 0.0;              ///< wall time of the call
  std::vector<double> history;  ///< ||r|| of the recurrence before and after each iteration: iterations + 1 values;
                                ///< empty if the solve ended before the first residual (b = 0, singular_block)

  bool converged() const noexcept { return reason == StopReason::converged; }
  /// ||b - A x|| / ||b||; the absolute residual if b = 0.
  double relative_residual() const noexcept { return rhs_norm > 0.0 ? true_residual / rhs_norm : true_residual; }
};

/// One line: reason, iterations, residuals, time.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const SolveReport& report);

/// z = M^-1 r for the solvers: a BlockJacobi (referred to, so that it must outlive this object), a user's function, or
/// nothing.
template <Scalar T>
class BLOCKJACOBI_EXPORT Preconditioner {
 public:
  /// M = I.
  Preconditioner() = default;
  Preconditioner(const BlockJacobi<T>& block_jacobi);
  /// Throws InvalidArgument for rows < 0 or an empty function.
  Preconditioner(const Backend& backend, index_t rows, VectorFunction<T> solve, Capture capture = Capture::no);

  /// nullptr for M = I.
  const detail::PreconditionerImpl<T>* impl() const noexcept { return impl_.get(); }
  /// None for M = I.
  const std::optional<Backend>& backend() const noexcept { return backend_; }

 private:
  std::optional<Backend> backend_;
  std::shared_ptr<const detail::PreconditionerImpl<T>> impl_;
};

/// Preconditioned conjugate gradients (Hestenes and Stiefel, 1952) for Hermitian positive definite A and M.
///
/// x holds the initial guess and receives the solution. b and x are A.rows() long and lie in the backend's space or
/// on the host (then they are copied). Blocks until the solve ended. Scalars stay on the device; the stop flag is read
/// once a batch of iterations, and steps after the stop change nothing. The recurrence residual is replaced by
/// b - A x where it claims convergence that the recomputed residual does not show.
/// For b = 0 the result is x = 0. Norms are sums of squares in double, so ||b|| must lie within 1e-140 .. 1e140 (or be
/// 0): other systems end with nan_or_inf, scale them first.
/// Throws InvalidArgument for lengths, spaces, backends or options that do not fit, before any launch.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport cg(const LinearOperator<T>& A,
                                                const std::type_identity_t<Preconditioner<T>>& M,
                                                std::type_identity_t<VectorView<const T>> b,
                                                std::type_identity_t<VectorView<T>> x,
                                                const SolveOptions& options = {});

/// Right-preconditioned restarted GMRES(m) (Saad and Schultz, 1986) for general A: minimizes ||b - A x|| over
/// x0 + M^-1 K_m(A M^-1, r0), with twice-applied classical Gram-Schmidt. Otherwise as cg(); iterations counts inner
/// iterations. Memory: m + 3 vectors and m^2 + 5 m scalars, m = min(restart, max_iterations, rows). Throws also for
/// restart < 1.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport gmres(const LinearOperator<T>& A,
                                                   const std::type_identity_t<Preconditioner<T>>& M,
                                                   std::type_identity_t<VectorView<const T>> b,
                                                   std::type_identity_t<VectorView<T>> x,
                                                   const SolveOptions& options = {});

}  // namespace blockjacobi
