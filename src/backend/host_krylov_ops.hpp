#pragma once

#include "backend/backend_impl.hpp"
#include "backend/host_columns_ops.hpp"

namespace blockjacobi::detail {

/// Solver phases on CPU threads. Sums run over a fixed division of the rows, so that results do not depend on the
/// number of threads.
template <Scalar T>
class HostKrylovOps final : public KrylovOps<T> {
  using C = compute_t<T>;

 public:
  explicit HostKrylovOps(int threads) : threads_(threads), columns_(threads, *this) {}

  ColumnsOps<T>& columns() override { return columns_; }

  std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int32_t>& matrix) override;
  std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int64_t>& matrix) override;
  void bsr_product(const BsrView<C>& matrix, const C* x, C* y) override;
  bool bsr_residual(const BsrView<C>& matrix, const C* b, const C* x, C* r) override;
  void bsr_fill(const BsrSources& sources, const T* values, T* elements) override;
  int batch() const override { return 1; }

  const SolveControl* visible(const SolveControl* state) const override { return state; }
  void residual(const OperatorImpl<T>& A, const C* b, const C* x, C* r) override;
  void random(index_t n, C* x) override;
  void norm(index_t n, const C* x, double* norm) override;
  void add(index_t n, const C* u, C* x, const int* condition) override;
  void begin_solve(index_t n, const C* b, const C* r, C* x, const StoppingRule& rule, const int* failure,
                   SolveControl* control) override;
  void end_solve(index_t n, const C* r, const SolveControl* control, SolveStatus* status) override;
  void pass(const VectorPass<C>& pass, ScalarStep step, SolveControl* state) override;

  void cg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) override;
  void cg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) override;
  void cg_direction(const CgVectors<C>& v, CgState<C>* state) override;
  void fcg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) override;
  void fcg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) override;

  void bicgstab_first(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                      BicgstabState<C>* state) override;
  void bicgstab_second(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                       BicgstabState<C>* state) override;
  void bicgstab_update(const BicgstabVectors<C>& v, BicgstabState<C>* state) override;

  void gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) override;
  void gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j, GmresState* state) override;
  void gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) override;
  void gmres_check(index_t n, const C* u, GmresState* state) override;

 private:
  int threads_;
  HostColumnsOps<T> columns_;
};

}  // namespace blockjacobi::detail
