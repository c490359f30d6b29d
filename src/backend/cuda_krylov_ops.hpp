#pragma once

#include "backend/cuda_columns_ops.hpp"
#include "backend/cuda_context.hpp"
#include "backend/krylov_ops.hpp"
#include "kernels/krylov/policy.hpp"

#include <mutex>
#include <optional>

namespace blockjacobi::detail {

/// Solver phases by cuSPARSE and kernels/krylov. Operators and preconditioners that no phase takes along run on every
/// call, also once the state has stopped; what they write is not used then.
template <Scalar T>
class CudaKrylovOps final : public KrylovOps<T> {
  using C = compute_t<T>;

 public:
  explicit CudaKrylovOps(CudaContext& context) : context_(context), columns_(context, *this) {}

  ColumnsOps<T>& columns() override { return columns_; }

  std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int32_t>& matrix) override;
  std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int64_t>& matrix) override;
  void bsr_product(const BsrView<C>& matrix, const C* x, C* y) override;
  bool bsr_residual(const BsrView<C>& matrix, const C* b, const C* x, C* r) override;
  void bsr_fill(const BsrSources& sources, const T* values, T* elements) override;
  /// A snapshot costs about as much as two small kernels; iterations after the stop are wasted.
  int batch() const override { return 16; }
  bool reads_in_full(std::span<const BlockGroup> groups, index_t rows) const override;

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
  std::size_t cg_message_elements(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M) override;
  void cg_iterations(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const CgVectors<C>& v, C* messages,
                     int count, CgState<C>* state) override;
  void fcg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) override;
  void fcg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) override;

  void bicgstab_first(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                      BicgstabState<C>* state) override;
  void bicgstab_second(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                       BicgstabState<C>* state) override;
  void bicgstab_update(const BicgstabVectors<C>& v, BicgstabState<C>* state) override;
  bool can_reside(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M) override;
  void bicgstab_iterations(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                           C* messages, int count, BicgstabState<C>* state) override;

  void gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) override;
  void gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j, GmresState* state) override;
  void gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) override;
  void gmres_check(index_t n, const C* u, GmresState* state) override;
  std::size_t gmres_message_bytes(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, int restart) override;
  void gmres_cycles(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, C* basis, int restart, const C* b, C* x,
                    std::byte* messages, int cycles, GmresState* state) override;

 private:
  /// If the resident kernel of the solver takes the matrix and M: the order of M's coarse level, 0 without one.
  std::optional<index_t> resident_order(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                        kernels::ResidentSolver solver, int restart = 0);
  void coarse_update(const CoarseCorrection<T>& M, kernels::CgUpdateDesign design, const CgVectors<C>& v,
                     CgState<C>* state);

  CudaContext& context_;
  CudaColumnsOps<T> columns_;
  std::once_flag asked_;
  bool resident_fits_ = false;  ///< on the stream, once that was asked
};

}  // namespace blockjacobi::detail
