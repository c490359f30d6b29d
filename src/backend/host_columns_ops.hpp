#pragma once

#include "backend/columns_ops.hpp"

namespace blockjacobi::detail {

/// Phases for several columns on CPU threads.
template <Scalar T>
class HostColumnsOps final : public ColumnsOps<T> {
  using C = compute_t<T>;

 public:
  using State = typename ColumnsOps<T>::State;

  HostColumnsOps(int threads, KrylovOps<T>& of_one) : ColumnsOps<T>(of_one), threads_(threads) {}

  /// Behind the vectors, partial sums.
  std::size_t spare_size(const Bundles& shape) const override;
  void to_bundles(const Bundles& shape, const ColumnsView<const C>& from, index_t first, C* to) override;
  void from_bundles(const Bundles& shape, const C* from, index_t first, const ColumnsView<C>& to) override;
  void product(const OperatorImpl<T>& A, const Bundles& shape, const C* x, C* y, C* spare) override;
  void precondition(const PreconditionerImpl<T>& M, const Bundles& shape, const C* r, C* z, C* spare) override;
  void residual(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const C>& b, const C* x, C* r,
                C* spare) override;
  void norms(const Bundles& shape, const C* x, double* norms) override;
  void begin_solve(const Bundles& shape, const ColumnsView<const C>& b, const C* r, C* x, const StoppingRule& rule,
                   const int* failure, State* states) override;
  void forget_histories(const Bundles& shape, State* states) override;
  void cg_product(const OperatorImpl<T>& A, const BundleVectors<C>& v, C* spare, State* states) override;
  void cg_update(const PreconditionerImpl<T>* M, const BundleVectors<C>& v, C* spare, State* states) override;
  void cg_settle(const BundleVectors<C>& v, const State* states) override;

 private:
  /// x += alpha p and, if `turns`, p = z + beta p.
  void advance(const BundleVectors<C>& v, const State* states, bool turns);
  /// r -= alpha q, and rr and rho_new of the states: with blocks up to order 32 in one pass over r, q and z.
  void update_by_blocks(const BlockBatchView<const C>& inverse, const BundleVectors<C>& v, C* spare, State* states);
  /// apply_bundles() of A or M for the columns whose state has not stopped (of all without states), column by column
  /// where it has none.
  template <class Operator>
  void apply(const Operator& A, const Bundles& shape, const C* x, C* y, C* spare, const State* states);

  int threads_;
};

}  // namespace blockjacobi::detail
