#pragma once

#include "backend/columns_ops.hpp"
#include "backend/cuda_context.hpp"

namespace blockjacobi::detail {

/// Phases for several columns by kernels/krylov. Operators and preconditioners that take one column at a time run for
/// all columns on every call; what they write for one that has stopped is not used.
template <Scalar T>
class CudaColumnsOps final : public ColumnsOps<T> {
  using C = compute_t<T>;

 public:
  using State = typename ColumnsOps<T>::State;

  CudaColumnsOps(CudaContext& context, KrylovOps<T>& of_one) : ColumnsOps<T>(of_one), context_(context) {}

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
  template <class Operator>
  void apply(const Operator& A, const Bundles& shape, const C* x, C* y, C* spare);

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
