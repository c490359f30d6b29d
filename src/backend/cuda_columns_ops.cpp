#include "backend/cuda_columns_ops.hpp"

#include "backend/cuda_csr.hpp"
#include "backend/krylov_ops.hpp"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/launch_columns.hpp"

namespace blockjacobi::detail {

namespace {

/// The matrix, if it has kernels for several columns.
template <Scalar T>
const CsrView<compute_t<T>, std::int32_t>* matrix_of(const OperatorImpl<T>& A) {
  const auto* const rows = dynamic_cast<const RowsCsr<T>*>(&A);
  return rows != nullptr ? &rows->matrix() : nullptr;
}

/// How CG's update goes with M, if there is one, of such blocks if it shows them.
template <Scalar T>
kernels::CgUpdateDesign update_design(bool preconditioned, const std::optional<InverseView<T>>& inverse) {
  kernels::CgUpdateCase given{.preconditioned = preconditioned, .known = false};
  index_t largest = 0;
  if (inverse && inverse->is_full()) {
    given.known = true;
    if (!inverse->full->groups.empty()) largest = inverse->full->groups.back().size;
  }
  return kernels::cg_columns_update_policy(kernels::scalar_of<compute_t<T>>, largest, given).design;
}

}  // namespace

template <Scalar T>
void CudaColumnsOps<T>::to_bundles(const Bundles& shape, const ColumnsView<const C>& from, index_t first, C* to) {
  const DeviceGuard guard(context_.device());
  kernels::to_bundles(shape, from, first, to, context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::from_bundles(const Bundles& shape, const C* from, index_t first, const ColumnsView<C>& to) {
  const DeviceGuard guard(context_.device());
  kernels::from_bundles(shape, from, first, to, context_.stream());
}

template <Scalar T>
template <class Operator>
void CudaColumnsOps<T>::apply(const Operator& A, const Bundles& shape, const C* x, C* y, C* spare) {
  if (A.apply_bundles(shape, x, y)) return;
  for (index_t c = 0; c < shape.columns; ++c) {
    from_bundles(shape, x, c, {spare});
    A.apply(spare, spare + shape.n);
    to_bundles(shape, {spare + shape.n}, c, y);
  }
}

template <Scalar T>
void CudaColumnsOps<T>::product(const OperatorImpl<T>& A, const Bundles& shape, const C* x, C* y, C* spare) {
  apply(A, shape, x, y, spare);
}

template <Scalar T>
void CudaColumnsOps<T>::precondition(const PreconditionerImpl<T>& M, const Bundles& shape, const C* r, C* z, C* spare) {
  apply(M, shape, r, z, spare);
}

template <Scalar T>
void CudaColumnsOps<T>::residual(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const C>& b,
                                 const C* x, C* r, C* spare) {
  if (A.residual_bundles(shape, b, x, r)) return;
  this->residual_of_each(A, shape, b, x, r, spare);
}

template <Scalar T>
void CudaColumnsOps<T>::norms(const Bundles& shape, const C* x, double* norms) {
  const DeviceGuard guard(context_.device());
  kernels::bundles_norms(shape, x, norms, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::begin_solve(const Bundles& shape, const ColumnsView<const C>& b, const C* r, C* x,
                                    const StoppingRule& rule, const int* failure, State* states) {
  const DeviceGuard guard(context_.device());
  kernels::cg_columns_begin(shape, b, r, x, rule, failure, states, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::forget_histories(const Bundles& shape, State* states) {
  const DeviceGuard guard(context_.device());
  kernels::cg_columns_forget(shape, states, context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::cg_product(const OperatorImpl<T>& A, const BundleVectors<C>& v, C* spare, State* states) {
  const DeviceGuard guard(context_.device());
  kernels::cg_columns_direction(v, true, states, context_.stream());
  if (const auto* const matrix = matrix_of(A))
    return kernels::cg_columns_product(*matrix, v, states, context_.reductions(), context_.stream());
  apply(A, v.shape, v.p, v.q, spare);
  kernels::cg_columns_step_length(v, states, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::cg_update(const PreconditionerImpl<T>* M, const BundleVectors<C>& v, C* spare, State* states) {
  const DeviceGuard guard(context_.device());
  const auto inverse = M != nullptr ? M->inverse() : std::nullopt;
  const kernels::CgUpdateDesign design = update_design(M != nullptr, inverse);
  if (design == kernels::CgUpdateDesign::unpreconditioned)
    return kernels::cg_columns_plain_update(v, states, context_.reductions(), context_.stream());
  if (design == kernels::CgUpdateDesign::blocks)
    return kernels::cg_columns_update(*inverse->full, v, states, context_.reductions(), context_.stream());
  kernels::cg_columns_residual(v, states, context_.stream());
  apply(*M, v.shape, v.r, v.z, spare);
  kernels::cg_columns_direction_factor(v, states, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaColumnsOps<T>::cg_settle(const BundleVectors<C>& v, const State* states) {
  const DeviceGuard guard(context_.device());
  kernels::cg_columns_direction(v, false, states, context_.stream());
}

template class CudaColumnsOps<float>;
template class CudaColumnsOps<double>;
template class CudaColumnsOps<std::complex<float>>;
template class CudaColumnsOps<std::complex<double>>;

}  // namespace blockjacobi::detail
