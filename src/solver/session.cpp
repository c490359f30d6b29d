#include "solver/session.hpp"

#include "backend/require.hpp"
#include "core/message.hpp"

#include <algorithm>

namespace blockjacobi::detail {

void require_options(const char* solver, const SolveOptions& o) {
  if (!(o.rtol >= 0.0) || !(o.atol >= 0.0))
    throw InvalidArgument(message("{}: rtol is {}, atol is {}, must be >= 0", solver, o.rtol, o.atol));
  if (o.max_iterations < 0)
    throw InvalidArgument(message("{}: max_iterations is {}, must be >= 0", solver, o.max_iterations));
  require_enumerator(solver, "relative_to", o.relative_to, RelativeTo::initial_residual);
  require_enumerator(solver, "basis", o.basis, BasisPrecision::single);
  require_enumerator(solver, "resident", o.resident, Resident::never);
  if (!(o.max_seconds >= 0.0))
    throw InvalidArgument(message("{}: max_seconds is {}, must be >= 0", solver, o.max_seconds));
}

template <Scalar T>
void require_preconditioner(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M) {
  if (M.impl() != nullptr && M.impl()->rows() != A.rows())
    throw InvalidArgument(
        message("{}: the preconditioner has {} rows, the matrix {}", solver, M.impl()->rows(), A.rows()));
  if (M.backend().has_value() && !(*M.backend() == A.backend()))
    throw InvalidArgument(message("{}: the preconditioner lives on another backend ({}) than the matrix ({})", solver,
                                  M.backend()->description(), A.backend().description()));
}

template <Scalar T>
void require_coarse_mode(const char* solver, const Preconditioner<T>& M, std::initializer_list<CoarseMode> allowed) {
  const std::optional<CoarseMode> mode = M.impl() != nullptr ? M.impl()->coarse_mode() : std::nullopt;
  if (!mode || std::ranges::find(allowed, *mode) != allowed.end()) return;
  std::string names;
  for (const CoarseMode one : allowed) names += (names.empty() ? "" : " or ") + std::string(to_string(one));
  throw InvalidArgument(message("{}: the mode of the coarse level is {}, must be {}", solver, to_string(*mode), names));
}

namespace {

template <Scalar T>
const LinearOperator<T>& checked(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                 const VectorView<const T>& b, const VectorView<T>& x, const SolveOptions& o) {
  const auto name = [solver](const char* argument) { return message("{}: {}", solver, argument); };
  require_vector(name("b").c_str(), b, A.rows());
  require_vector(name("x").c_str(), x, A.rows());
  if (b.space != MemorySpace::host) require_space(name("b").c_str(), b, A.backend());
  if (x.space != MemorySpace::host) require_space(name("x").c_str(), x, A.backend());
  require_disjoint(solver, b, x);
  require_preconditioner(solver, A, M);
  require_options(solver, o);
  A.backend().impl().require_no_error(solver);
  return A;
}

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
      b_(compute_cast(staged_b_ ? staged_b_->data() : b.data)),
      x_(compute_cast(staged_x_ ? staged_x_->data() : x.data)),
      norm_(backend_, 1),
      start_(std::chrono::steady_clock::now()) {}

template <Scalar T>
double SolveSession<T>::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <Scalar T>
double SolveSession<T>::norm(const C* v) {
  ops_.norm(rows_, v, norm_.data());
  return norm_.to_host()[0];
}

template <Scalar T>
double SolveSession<T>::true_residual(C* r) {
  ops_.residual(A_, b_, x_, r);
  return norm(r);
}

template <Scalar T>
void SolveSession<T>::begin(C* r, SolveControl* control) {
  ops_.residual(A_, b_, x_, r);
  ops_.begin_solve(rows_, b_, r, x_, stopping_rule(options_), M_ != nullptr ? M_->failure() : nullptr, control);
}

template <Scalar T>
bool SolveSession<T>::begun(const SolveControl& found) {
  target_ = found.goal;
  report_.rhs_norm = found.rhs_norm;
  report_.initial_residual = found.initial_residual;
  report_.recurrence_residual = found.residual;
  const bool ended = found.stop != 0 && found.history_size == 0;  // a phase that runs leaves its norm there
  if (ended) report_.reason = static_cast<StopReason>(found.stop);
  return !ended;
}

template <Scalar T>
void SolveSession<T>::collect(const double* history, int count, index_t iteration) {
  if (options_.history) report_.history.insert(report_.history.end(), history, history + count);
  if (count > 0) report_.recurrence_residual = history[count - 1];
  report_.iterations = iteration;
}

template <Scalar T>
bool SolveSession<T>::look(const double* history, int count, index_t iteration) {
  collect(history, count, iteration);
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
SolveReport SolveSession<T>::finish(StopReason reason, C* scratch, std::optional<double> known) {
  report_.true_residual = known ? *known : true_residual(scratch);
  report_.reason = final_reason(reason, report_.true_residual, target_);
  if (staged_x_) backend_.impl().copy_to_host(user_x_.data, x_, static_cast<std::size_t>(rows_) * sizeof(T));
  backend_.synchronize();
  report_.seconds = elapsed();
  return std::move(report_);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                       \
  template class SolveSession<T>;                                                                        \
  template void require_preconditioner(const char*, const LinearOperator<T>&, const Preconditioner<T>&); \
  template void require_coarse_mode(const char*, const Preconditioner<T>&, std::initializer_list<CoarseMode>)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
