#include "solver/columns_session.hpp"

#include "backend/require.hpp"
#include "core/compute_views.hpp"
#include "core/message.hpp"

namespace blockjacobi::detail {

template <Scalar T>
void require_columns(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                     const MultiVectorView<const T>& B, const MultiVectorView<T>& X, const SolveOptions& options) {
  const std::string b = message("{}: B", solver), x = message("{}: X", solver);
  require_rectangle(b.c_str(), B, A.rows());
  require_rectangle(x.c_str(), X, A.rows());
  if (B.cols != X.cols) throw InvalidArgument(message("{}: B has {} columns, X {}", solver, B.cols, X.cols));
  if (B.space != MemorySpace::host) require_multivector(b.c_str(), B, A.rows(), A.backend());
  if (X.space != MemorySpace::host) require_multivector(x.c_str(), X, A.rows(), A.backend());
  require_disjoint(solver, B, X);
  require_preconditioner(solver, A, M);
  require_options(solver, options);
}

namespace {

template <class T>
ColumnsView<T> strided(const MultiVectorView<T>& v) {
  const bool by_columns = v.layout == Layout::column_major;
  return {v.data, by_columns ? 1 : v.ld, by_columns ? v.ld : 1, v.cols};
}

/// The columns of a host view one behind the other, on the backend if that is elsewhere.
template <class T>
std::optional<Array<std::remove_const_t<T>>> stage(const Backend& backend, const MultiVectorView<T>& v) {
  if (v.space == backend.memory_space()) return std::nullopt;
  const ColumnsView<T> from = strided(v);
  std::vector<std::remove_const_t<T>> contiguous;
  contiguous.reserve(static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols));
  for (index_t c = 0; c < v.cols; ++c)
    for (index_t i = 0; i < v.rows; ++i) contiguous.push_back(from.data[i * from.row_stride + c * from.column_stride]);
  return Array<std::remove_const_t<T>>(backend, contiguous);
}

template <class T, class Staged>
ColumnsView<T> view_of(const Staged& staged, const MultiVectorView<T>& v) {
  if (staged) return {staged->data(), 1, v.rows, v.cols};
  return strided(v);
}

}  // namespace

template <Scalar T>
ColumnsSession<T>::ColumnsSession(const LinearOperator<T>& A, const MultiVectorView<const T>& B,
                                  const MultiVectorView<T>& X, const SolveOptions& options)
    : backend_(A.backend()),
      shape_{A.rows(), B.cols},
      options_(options),
      user_x_(X),
      staged_b_(stage(backend_, B)),
      staged_x_(stage(backend_, X)),
      b_(compute_view(view_of(staged_b_, B))),
      x_(compute_view(view_of(staged_x_, X))),
      start_(std::chrono::steady_clock::now()),
      reports_(index(B.cols)),
      goals_(index(B.cols)),
      residuals_(index(B.cols)),
      ended_(index(B.cols)) {}

template <Scalar T>
double ColumnsSession<T>::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <Scalar T>
void ColumnsSession<T>::begin(index_t c, const SolveControl& found) {
  goals_[index(c)] = found.goal;
  SolveReport& report = reports_[index(c)];
  report.rhs_norm = found.rhs_norm;
  report.initial_residual = found.initial_residual;
  report.recurrence_residual = found.residual;
  if (found.stop != 0) end(c, static_cast<StopReason>(found.stop));
}

template <Scalar T>
void ColumnsSession<T>::collect(index_t c, SolveControl& found) {
  SolveReport& report = reports_[index(c)];
  if (options_.history) report.history.insert(report.history.end(), found.history, found.history + found.history_size);
  if (found.history_size > 0) report.recurrence_residual = found.history[found.history_size - 1];
  report.iterations = found.iteration;
  found.history_size = 0;
}

template <Scalar T>
bool ColumnsSession<T>::stop_running(StopReason reason) {
  for (index_t c = 0; c < shape_.columns; ++c)
    if (!has_ended(c)) reports_[index(c)].reason = reason;
  return false;
}

template <Scalar T>
void ColumnsSession<T>::end(index_t c, StopReason reason, std::optional<double> residual) {
  reports_[index(c)].reason = reason;
  residuals_[index(c)] = residual;
  ended_[index(c)] = true;
}

template <Scalar T>
bool ColumnsSession<T>::lacks_residuals() const {
  return std::any_of(residuals_.begin(), residuals_.end(), [](const auto& known) { return !known.has_value(); });
}

template <Scalar T>
std::vector<SolveReport> ColumnsSession<T>::finish(const std::vector<double>& residuals) {
  if (staged_x_) {
    const std::vector<T> contiguous = staged_x_->to_host();
    const ColumnsView<T> to = strided(user_x_);
    auto from = contiguous.begin();
    for (index_t c = 0; c < shape_.columns; ++c)
      for (index_t i = 0; i < shape_.n; ++i) to.data[i * to.row_stride + c * to.column_stride] = *from++;
  }
  backend_.synchronize();
  for (index_t c = 0; c < shape_.columns; ++c) {
    SolveReport& report = reports_[index(c)];
    report.true_residual = residuals_[index(c)] ? *residuals_[index(c)] : residuals.at(index(c));
    report.reason = final_reason(report.reason, report.true_residual, goals_[index(c)]);
    report.seconds = elapsed();
  }
  return std::move(reports_);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                               \
  template class ColumnsSession<T>;                                                              \
  template void require_columns(const char*, const LinearOperator<T>&, const Preconditioner<T>&, \
                                const MultiVectorView<const T>&, const MultiVectorView<T>&, const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
