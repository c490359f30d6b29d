#include "solver/session.hpp"

#include "backend/require.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
const LinearOperator<T>& checked(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                 const VectorView<const T>& b, const VectorView<T>& x, const SolveOptions& o) {
  const auto name = [solver](const char* argument) { return fmt::format("{}: {}", solver, argument); };
  require_vector(name("b").c_str(), b, A.rows());
  require_vector(name("x").c_str(), x, A.rows());
  if (b.space != MemorySpace::host) require_space(name("b").c_str(), b, A.backend());
  if (x.space != MemorySpace::host) require_space(name("x").c_str(), x, A.backend());
  require_disjoint(solver, b, x);
  if (M.impl() != nullptr && M.impl()->rows() != A.rows())
    throw InvalidArgument(
        fmt::format("{}: the preconditioner has {} rows, the matrix {}", solver, M.impl()->rows(), A.rows()));
  if (M.backend().has_value() && !(*M.backend() == A.backend()))
    throw InvalidArgument(fmt::format("{}: the preconditioner lives on another backend ({}) than the matrix ({})",
                                      solver, M.backend()->description(), A.backend().description()));
  if (!(o.rtol >= 0.0) || !(o.atol >= 0.0))
    throw InvalidArgument(fmt::format("{}: rtol is {}, atol is {}, must be >= 0", solver, o.rtol, o.atol));
  if (o.max_iterations < 0)
    throw InvalidArgument(fmt::format("{}: max_iterations is {}, must be >= 0", solver, o.max_iterations));
  if (!(o.max_seconds >= 0.0))
    throw InvalidArgument(fmt::format("{}: max_seconds is {}, must be >= 0", solver, o.max_seconds));
  return A;
}

/// Squares of norms outside this range, times rtol, would leave the range of double: a sum that underflows to zero
/// would look like convergence.
constexpr double smallest_norm = 1e-140;
constexpr double largest_norm = 1e140;

template <class T>
std::optional<Array<std::remove_const_t<T>>> stage(const Backend& backend, const VectorView<T>& v) {
  if (v.space == backend.memory_space()) return std::nullopt;
  Array<std::remove_const_t<T>> copy(backend, static_cast<std::size_t>(v.size));
  copy.copy_from_host(v.data);
  return copy;
}

}  // namespace

template <Scalar T>
SolveSession<T>::SolveSession(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                              VectorView<const T> b, VectorView<T> x, const SolveOptions& options)
    : backend_(checked(solver, A, M, b, x, options).backend()),
      ops_(krylov_ops<T>(backend_)),
      rows_(A.rows()),
      A_(A.impl()),
      M_(M.impl()),
      options_(options),
      user_x_(x),
      staged_b_(stage(backend_, b)),
      staged_x_(stage(backend_, x)),
      b_(staged_b_ ? staged_b_->data() : b.data),
      x_(staged_x_ ? staged_x_->data() : x.data),
      norm_(backend_, 1),
      start_(std::chrono::steady_clock::now()) {}

template <Scalar T>
double SolveSession<T>::norm(const T* v) {
  ops_.norm(rows_, v, norm_.data());
  return norm_.to_host()[0];
}

template <Scalar T>
double SolveSession<T>::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <Scalar T>
double SolveSession<T>::true_residual(T* r) {
  ops_.residual(A_, b_, x_, r);
  return norm(r);
}

template <Scalar T>
bool SolveSession<T>::is_zero(const T* v) const {
  std::vector<T> host(static_cast<std::size_t>(rows_));
  if (rows_ > 0) backend_.impl().copy_to_host(host.data(), v, host.size() * sizeof(T));
  return std::ranges::all_of(host, [](const T& value) { return value == T(0); });
}

template <Scalar T>
bool SolveSession<T>::begin() {
  report_.rhs_norm = norm(b_);
  target_ = std::max(options_.rtol * report_.rhs_norm, options_.atol);
  const bool zero = report_.rhs_norm < smallest_norm && is_zero(b_);
  if (!zero && !(report_.rhs_norm >= smallest_norm && report_.rhs_norm <= largest_norm)) {
    report_.reason = StopReason::nan_or_inf;
    return false;
  }
  if (M_ != nullptr && M_->failed()) {
    report_.reason = StopReason::singular_block;
    return false;
  }
  if (zero) {  // the solution is known, and no residual is small against ||b|| = 0
    backend_.impl().zero(x_, static_cast<std::size_t>(rows_) * sizeof(T));
    report_.reason = StopReason::converged;
    return false;
  }
  return true;
}

template <Scalar T>
bool SolveSession<T>::look(const double* history, int count, index_t iteration) {
  if (count > 0 && !begun_) report_.initial_residual = history[0];
  begun_ = begun_ || count > 0;
  if (options_.history) report_.history.insert(report_.history.end(), history, history + count);
  if (count > 0) report_.recurrence_residual = history[count - 1];
  report_.iterations = iteration;
  if (options_.progress && count > 0 && !options_.progress({iteration, report_.recurrence_residual, target_})) {
    report_.reason = StopReason::user_stop;
    return false;
  }
  if (options_.max_seconds > 0.0 && elapsed() >= options_.max_seconds) {
    report_.reason = StopReason::time_limit;
    return false;
  }
  return true;
}

template <Scalar T>
SolveReport SolveSession<T>::finish(StopReason reason, T* scratch, std::optional<double> known) {
  report_.reason = reason;
  report_.true_residual = known ? *known : true_residual(scratch);
  if (!std::isfinite(report_.true_residual))
    report_.reason = StopReason::nan_or_inf;
  else if (report_.true_residual <= target_ && reason != StopReason::singular_block && reason != StopReason::nan_or_inf)
    report_.reason = StopReason::converged;
  if (staged_x_) backend_.impl().copy_to_host(user_x_.data, x_, static_cast<std::size_t>(rows_) * sizeof(T));
  backend_.synchronize();
  report_.seconds = elapsed();
  return std::move(report_);
}

template class SolveSession<float>;
template class SolveSession<double>;
template class SolveSession<std::complex<float>>;
template class SolveSession<std::complex<double>>;

}  // namespace blockjacobi::detail
