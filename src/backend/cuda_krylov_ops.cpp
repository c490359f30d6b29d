#include "backend/cuda_krylov_ops.hpp"

#include "backend/cuda_coarse_ops.hpp"
#include "backend/cuda_csr.hpp"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/launch_products.hpp"

#include <optional>

namespace blockjacobi::detail {

namespace {

/// The matrix, if its products are those of our own kernels.
template <Scalar T>
const RowsCsr<T>* own_rows(const OperatorImpl<T>& A) {
  return dynamic_cast<const RowsCsr<T>*>(&A);
}

/// The blocks in full, if they are there and a warp takes each of them.
template <Scalar T>
std::optional<BlockBatchView<const compute_t<T>>> tiny(const PreconditionerImpl<T>& M) {
  const auto inverse = M.inverse();
  if (!inverse || !inverse->full || !kernels::are_tiny(inverse->full->groups)) return std::nullopt;
  return inverse->full;
}

/// How CG's update goes with M.
template <Scalar T>
kernels::CgUpdatePolicy cg_update_policy(const PreconditionerImpl<T>* M) {
  constexpr ScalarType scalar = kernels::scalar_of<compute_t<T>>;
  kernels::CgUpdateCase given{.preconditioned = M != nullptr};
  index_t largest = 0;
  if (M != nullptr) {
    const auto coarse = M->coarse_correction();
    const auto inverse = (coarse ? coarse->first : *M).inverse();
    given.coarse = coarse.has_value();
    given.known = inverse && inverse->is_full();
    if (given.known && !inverse->full->groups.empty()) largest = inverse->full->groups.back().size;
    if (!coarse && inverse && !inverse->is_full()) return kernels::cg_update_policy(scalar, inverse->stored->groups);
  }
  return kernels::cg_update_policy(scalar, largest, given);
}

/// The blocks of M, if the kernel before may take them along as CG's update does.
template <Scalar T>
std::optional<BlockBatchView<const compute_t<T>>> blocks_taken_along(const PreconditionerImpl<T>* M) {
  if (cg_update_policy(M).design != kernels::CgUpdateDesign::blocks) return std::nullopt;
  return tiny(*M);
}

}  // namespace

template <Scalar T>
std::unique_ptr<OperatorImpl<T>> CudaKrylovOps<T>::make_csr(const CsrView<T, std::int32_t>& matrix) {
  return make_cuda_csr(context_, matrix);
}
template <Scalar T>
std::unique_ptr<OperatorImpl<T>> CudaKrylovOps<T>::make_csr(const CsrView<T, std::int64_t>& matrix) {
  return make_cuda_csr(context_, matrix);
}

template <Scalar T>
void CudaKrylovOps<T>::bsr_product(const BsrView<C>& matrix, const C* x, C* y) {
  const DeviceGuard guard(context_.device());
  kernels::bsr_product(matrix, x, y, context_.stream());
}

template <Scalar T>
bool CudaKrylovOps<T>::bsr_residual(const BsrView<C>& matrix, const C* b, const C* x, C* r) {
  const DeviceGuard guard(context_.device());
  kernels::bsr_residual(matrix, b, x, r, context_.stream());
  return true;
}

template <Scalar T>
void CudaKrylovOps<T>::bsr_fill(const BsrSources& sources, const T* values, T* elements) {
  const DeviceGuard guard(context_.device());
  kernels::bsr_fill(sources, compute_cast(values), compute_cast(elements), context_.stream());
}

template <Scalar T>
bool CudaKrylovOps<T>::reads_in_full(std::span<const BlockGroup> groups, index_t rows) const {
  const DeviceGuard guard(context_.device());
  return kernels::iteration_policy(kernels::scalar_of<C>, groups, {.rows = rows}).design ==
         kernels::IterationDesign::resident;
}

template <Scalar T>
void CudaKrylovOps<T>::residual(const OperatorImpl<T>& A, const C* b, const C* x, C* r) {
  if (A.residual(b, x, r)) return;
  const DeviceGuard guard(context_.device());
  A.apply(x, r);
  kernels::subtract_from(A.rows(), b, r, context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::norm(index_t n, const C* x, double* norm) {
  const DeviceGuard guard(context_.device());
  kernels::norm(n, x, norm, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::random(index_t n, C* x) {
  const DeviceGuard guard(context_.device());
  kernels::random(n, x, context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::add(index_t n, const C* u, C* x, const int* condition) {
  const DeviceGuard guard(context_.device());
  kernels::add(n, u, x, condition, context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::begin_solve(index_t n, const C* b, const C* r, C* x, const StoppingRule& rule,
                                   const int* failure, SolveControl* control) {
  const DeviceGuard guard(context_.device());
  kernels::begin_solve(n, b, r, x, rule, failure, control, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::end_solve(index_t n, const C* r, const SolveControl* control, SolveStatus* status) {
  const DeviceGuard guard(context_.device());
  kernels::end_solve(n, r, control, status, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::pass(const VectorPass<C>& pass, ScalarStep step, SolveControl* state) {
  const DeviceGuard guard(context_.device());
  kernels::pass(pass, step, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  if (const auto* rows = own_rows(A))
    return kernels::cg_product(rows->matrix(), v, state, context_.reductions(), context_.stream());
  A.apply(v.p, v.q);
  kernels::cg_step_length(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) {
  using Design = kernels::CgUpdateDesign;
  const DeviceGuard guard(context_.device());
  const kernels::CgUpdatePolicy policy = cg_update_policy(M);
  switch (policy.design) {
    case Design::unpreconditioned: return kernels::cg_plain_update(v, state, context_.reductions(), context_.stream());
    case Design::blocks: return kernels::cg_update(*tiny(*M), v, state, context_.reductions(), context_.stream());
    case Design::pieces:
    case Design::elements:
      return kernels::cg_update(*M->inverse()->stored, policy.piece, v, state, context_.reductions(),
                                context_.stream());
    case Design::apart: break;
    case Design::coarse_blocks:
    case Design::coarse_apart: return coarse_update(*M->coarse_correction(), policy.design, v, state);
  }
  kernels::cg_residual(v, state, context_.stream());
  M->apply(v.r, v.z);
  kernels::cg_direction_factor(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::coarse_update(const CoarseCorrection<T>& M, kernels::CgUpdateDesign design,
                                     const CgVectors<C>& v, CgState<C>* state) {
  if (design == kernels::CgUpdateDesign::coarse_blocks) {
    kernels::cg_residual_and_blocks(*tiny(M.first), v, state, context_.stream());
  } else {
    kernels::cg_residual(v, state, context_.stream());
    M.first.apply(v.r, v.z);
  }
  const CoarseView<T>& coarse = M.coarse;
  solve_coarse(context_, coarse, v.r, coarse.left_product.rows > 0 ? v.z : nullptr, &state->stop);
  kernels::cg_prolong(coarse.basis, static_cast<const C*>(coarse.correction), v, state, context_.reductions(),
                      context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_direction(const CgVectors<C>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::cg_direction(v, state, context_.stream());
}

template <Scalar T>
bool CudaKrylovOps<T>::can_reside(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M) {
  return resident_order(A, M, kernels::ResidentSolver::bicgstab).has_value();
}

template <Scalar T>
std::optional<index_t> CudaKrylovOps<T>::resident_order(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                                        kernels::ResidentSolver solver, int restart) {
  const auto* const rows = own_rows(A);
  if (rows == nullptr || M == nullptr) return std::nullopt;
  const auto coarse = M->coarse_correction();
  const auto inverse = (coarse ? coarse->first : *M).inverse();
  if (!inverse || !inverse->full) return std::nullopt;
  const index_t order = coarse ? coarse->coarse.inverse.order : 0;
  const DeviceGuard guard(context_.device());
  const kernels::IterationPolicy policy = kernels::iteration_policy(
      kernels::scalar_of<C>, inverse->full->groups, {solver, restart, rows->rows(), rows->matrix().nnz, order});
  if (policy.design == kernels::IterationDesign::phases) return std::nullopt;
  std::call_once(asked_, [this] { resident_fits_ = kernels::resident_fits(context_.stream()); });
  return resident_fits_ ? std::optional(order) : std::nullopt;
}

template <Scalar T>
std::size_t CudaKrylovOps<T>::cg_message_elements(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M) {
  const auto order = resident_order(A, M, kernels::ResidentSolver::cg);
  return order ? kernels::cg_message_elements(A.rows(), *order) : 0;
}

template <Scalar T>
void CudaKrylovOps<T>::cg_iterations(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const CgVectors<C>& v,
                                     C* messages, int count, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  const auto& matrix = own_rows(A)->matrix();
  const auto correction = M->coarse_correction();
  if (!correction)
    return kernels::cg_resident(matrix, *tiny(*M), v, messages, count, state, context_.reductions(), context_.stream());
  kernels::cg_resident(matrix, *tiny(correction->first), correction->coarse, v, messages, count, state,
                       context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::fcg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  A.apply(v.p, v.q);
  kernels::fcg_step_length(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::fcg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::cg_residual(v, state, context_.stream());
  if (M != nullptr) M->apply(v.r, v.z);
  kernels::fcg_direction_factor(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::bicgstab_first(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                      const BicgstabVectors<C>& v, BicgstabState<C>* state) {
  const DeviceGuard guard(context_.device());
  if (const auto blocks = blocks_taken_along(M)) {
    kernels::bicgstab_direction(*blocks, v, state, context_.stream());
  } else {
    kernels::bicgstab_direction(v, state, context_.stream());
    if (M != nullptr) M->apply(v.p, v.y);
  }
  if (const auto* rows = own_rows(A))
    return kernels::bicgstab_first_product(rows->matrix(), v, state, context_.reductions(), context_.stream());
  A.apply(v.y, v.v);
  kernels::bicgstab_first_step(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::bicgstab_second(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                       const BicgstabVectors<C>& v, BicgstabState<C>* state) {
  const DeviceGuard guard(context_.device());
  if (const auto blocks = blocks_taken_along(M)) {
    kernels::bicgstab_half(*blocks, v, state, context_.stream());
  } else {
    kernels::bicgstab_half(v, state, context_.stream());
    if (M != nullptr) M->apply(v.r, v.z);
  }
  if (const auto* rows = own_rows(A))
    return kernels::bicgstab_second_product(rows->matrix(), v, state, context_.reductions(), context_.stream());
  A.apply(v.z, v.t);
  kernels::bicgstab_second_step(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::bicgstab_update(const BicgstabVectors<C>& v, BicgstabState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::bicgstab_update(v, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::bicgstab_iterations(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                           const BicgstabVectors<C>& v, C* messages, int count,
                                           BicgstabState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::bicgstab_resident(own_rows(A)->matrix(), *tiny(*M), v, messages, count, state, context_.reductions(),
                             context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_begin(v, small, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j,
                                           GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_orthogonalize(v, small, j, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_combine(v, small, state, context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_check(index_t n, const C* u, GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_check(n, u, state, context_.reductions(), context_.stream());
}

template <Scalar T>
std::size_t CudaKrylovOps<T>::gmres_message_bytes(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                                  int restart) {
  const auto order = resident_order(A, M, kernels::ResidentSolver::gmres, restart);
  const DeviceGuard guard(context_.device());
  return order ? kernels::gmres_message_bytes<C>(A.rows(), restart, *order) : 0;
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_cycles(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, C* basis, int restart,
                                    const C* b, C* x, std::byte* messages, int cycles, GmresState* state) {
  const DeviceGuard guard(context_.device());
  const auto& matrix = own_rows(A)->matrix();
  const auto correction = M->coarse_correction();
  if (!correction)
    return kernels::gmres_resident(matrix, *tiny(*M), basis, restart, b, x, messages, cycles, state, context_.stream());
  kernels::gmres_resident(matrix, *tiny(correction->first), correction->coarse, basis, restart, b, x, messages, cycles,
                          state, context_.stream());
}

template class CudaKrylovOps<float>;
template class CudaKrylovOps<double>;
template class CudaKrylovOps<std::complex<float>>;
template class CudaKrylovOps<std::complex<double>>;

}  // namespace blockjacobi::detail
