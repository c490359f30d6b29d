#pragma once

#include "backend/range.hpp"
#include "solver/recurrence.hpp"
#include "solver/session.hpp"

#include <algorithm>
#include <vector>

namespace blockjacobi::detail {

/// Columns that are solved together; more of them gain nothing and take memory.
inline constexpr index_t columns_together = 64;

/// Throws InvalidArgument, naming `solver`, for arguments that do not fit.
template <Scalar T>
void require_columns(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                     const MultiVectorView<const T>& B, const MultiVectorView<T>& X, const SolveOptions& options);

/// What SolveSession is for one column, for several at once, whose arguments require_columns() has seen: brings B and X
/// to the backend and X back, keeps a report of each column, and watches the clock and the callback.
template <Scalar T>
class ColumnsSession {
  using C = compute_t<T>;

 public:
  ColumnsSession(const LinearOperator<T>& A, const MultiVectorView<const T>& B, const MultiVectorView<T>& X,
                 const SolveOptions& options);

  const Bundles& shape() const { return shape_; }
  /// In backend memory.
  const ColumnsView<const C>& b() const { return b_; }
  const ColumnsView<C>& x() const { return x_; }

  /// How the solve of column c stands as begin_solve() left it.
  void begin(index_t c, const SolveControl& found);
  /// Takes the norms that the state of column c collected since the last call, and forgets them there.
  void collect(index_t c, SolveControl& found);
  /// Whether clock and callback let the solve go on; else columns that run end for the reason. The callback is shown
  /// the column that runs and is furthest from its target. Of `found`, controls of all columns.
  template <class State>
  bool goes_on(const std::vector<State>& found);

  bool has_ended(index_t c) const { return ended_[index(c)]; }
  /// `residual`: ||b - A x||, if it is known.
  void end(index_t c, StopReason reason, std::optional<double> residual = std::nullopt);
  /// Whether finish() needs the residuals.
  bool lacks_residuals() const;
  double goal(index_t c) const { return goals_[index(c)]; }

  /// Decides the reasons, with residuals[c] where ||b_c - A x_c|| is not known yet, and returns X to the user.
  std::vector<SolveReport> finish(const std::vector<double>& residuals);

 private:
  static std::size_t index(index_t c) { return static_cast<std::size_t>(c); }
  bool stop_running(StopReason reason);
  double elapsed() const;

  Backend backend_;
  Bundles shape_;
  SolveOptions options_;
  MultiVectorView<T> user_x_;
  std::optional<Array<T>> staged_b_, staged_x_;
  ColumnsView<const C> b_;
  ColumnsView<C> x_;
  std::chrono::steady_clock::time_point start_;
  std::vector<SolveReport> reports_;
  std::vector<double> goals_;
  std::vector<std::optional<double>> residuals_;
  std::vector<bool> ended_;
};

template <Scalar T>
template <class State>
bool ColumnsSession<T>::goes_on(const std::vector<State>& found) {
  if (options_.progress) {
    const SolveControl* furthest = nullptr;
    for (const SolveControl& control : found)
      if (control.stop == 0 &&
          (furthest == nullptr || control.residual * furthest->target > furthest->residual * control.target))
        furthest = &control;
    if (furthest != nullptr && !options_.progress({furthest->iteration, furthest->residual, furthest->target}))
      return stop_running(StopReason::user_stop);
  }
  if (options_.max_seconds > 0.0 && elapsed() >= options_.max_seconds) return stop_running(StopReason::time_limit);
  return true;
}

/// Columns first .. first + count - 1.
template <class T>
MultiVectorView<T> columns_of(MultiVectorView<T> v, index_t first, index_t count) {
  v.data += first * (v.layout == Layout::column_major ? v.ld : 1);
  v.cols = count;
  return v;
}

/// Checks the arguments and solves columns_together columns at a time by Method<T>; a single column that is contiguous
/// by one(b, x).
template <template <class> class Method, Scalar T, class One>
std::vector<SolveReport> solve_columns(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                       const MultiVectorView<const T>& B, const MultiVectorView<T>& X,
                                       const SolveOptions& options, One one) {
  require_columns(solver, A, M, B, X, options);
  const auto is_contiguous = [](const auto& v) { return v.layout == Layout::column_major || v.ld == 1; };
  std::vector<SolveReport> reports;
  // Of no rows there may be no array, in which a column had its place.
  if (B.rows == 0 || (B.cols == 1 && is_contiguous(B) && is_contiguous(X))) {
    for (index_t c = 0; c < B.cols; ++c)
      reports.push_back(one(VectorView<const T>(B.data, B.rows, B.space), VectorView<T>(X.data, X.rows, X.space)));
    return reports;
  }
  const Range range("solve");
  for (index_t first = 0; first < B.cols; first += columns_together) {
    const index_t count = std::min(columns_together, B.cols - first);
    ColumnsSession<T> session(A, columns_of(B, first, count), columns_of(X, first, count), options);
    const SolverParts<T> parts(A, M, options);
    std::vector<SolveReport> some = Method<T>(session, parts)();
    std::move(some.begin(), some.end(), std::back_inserter(reports));
  }
  return reports;
}

}  // namespace blockjacobi::detail
