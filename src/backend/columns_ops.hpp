#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/cg_recurrence.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/krylov_vectors.hpp"

namespace blockjacobi::detail {

template <Scalar T>
class KrylovOps;

/// Elements at the beginning of the `spare` of ColumnsOps: three vectors of one column, for what takes one column at a
/// time. An even number, so that accumulators may follow.
inline std::size_t columns_spare_vectors(const Bundles& shape) {
  return (3 * static_cast<std::size_t>(shape.n) + 1) / 2 * 2;
}

/// The phases of solvers for several columns. Each column has a state of its own in backend memory, one behind the
/// other, as many as shape.padded_columns(); a phase changes nothing of a column whose state has stopped. Every call is
/// enqueued and allocates nothing; sums run in an order that depends on n, the columns and the device alone.
template <Scalar T>
class ColumnsOps {
 public:
  using C = compute_t<T>;
  using State = CgState<C>;

  /// `of_one`: the phases for one column.
  explicit ColumnsOps(KrylovOps<T>& of_one) : of_one_(of_one) {}
  virtual ~ColumnsOps() = default;

  /// Elements of `spare`.
  virtual std::size_t spare_size(const Bundles& shape) const { return columns_spare_vectors(shape); }

  /// Columns `first` .. first + from.count - 1 of the bundles.
  virtual void to_bundles(const Bundles& shape, const ColumnsView<const C>& from, index_t first, C* to) = 0;
  virtual void from_bundles(const Bundles& shape, const C* from, index_t first, const ColumnsView<C>& to) = 0;

  /// Y = A X.
  virtual void product(const OperatorImpl<T>& A, const Bundles& shape, const C* x, C* y, C* spare) = 0;
  /// Z = M^-1 R.
  virtual void precondition(const PreconditionerImpl<T>& M, const Bundles& shape, const C* r, C* z, C* spare) = 0;
  /// R = B - A X, as KrylovOps::residual().
  virtual void residual(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const C>& b, const C* x, C* r,
                        C* spare) = 0;
  /// norms[c] = ||x_c||; padded_columns() of them.
  virtual void norms(const Bundles& shape, const C* x, double* norms) = 0;

  /// KrylovOps::begin_solve() for each column.
  virtual void begin_solve(const Bundles& shape, const ColumnsView<const C>& b, const C* r, C* x,
                           const StoppingRule& rule, const int* failure, State* states) = 0;
  /// history_size = 0 in all states.
  virtual void forget_histories(const Bundles& shape, State* states) = 0;

  /// x += alpha p, p = z + beta p, q = A p, pq = p^H q, cg_step_length. The step of x is also taken by a column that
  /// has stopped, once.
  virtual void cg_product(const OperatorImpl<T>& A, const BundleVectors<C>& v, C* spare, State* states) = 0;
  /// r -= alpha q, z = M^-1 r, rr = ||r||^2, rho_new = r^H z, cg_direction_factor. M may be null.
  virtual void cg_update(const PreconditionerImpl<T>* M, const BundleVectors<C>& v, C* spare, State* states) = 0;
  /// x += alpha p, the step that the next cg_product() would take; alpha stays.
  virtual void cg_settle(const BundleVectors<C>& v, const State* states) = 0;

 protected:
  /// residual() for one column at a time.
  void residual_of_each(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const C>& b, const C* x, C* r,
                        C* spare) {
    C *const left = spare, *const right = left + shape.n, *const found = right + shape.n;
    to_bundles(shape, b, 0, r);
    for (index_t c = 0; c < shape.columns; ++c) {
      from_bundles(shape, x, c, {left});
      from_bundles(shape, r, c, {right});
      of_one_.residual(A, right, left, found);
      to_bundles(shape, {found}, c, r);
    }
  }

 private:
  KrylovOps<T>& of_one_;
};

}  // namespace blockjacobi::detail
