#include "backend/cuda_krylov_ops.hpp"

#include "backend/cuda_csr.hpp"

namespace blockjacobi::detail {

namespace {

template <Scalar T>
kernels::CgVectors<compute_t<T>> compute_vectors(const CgVectors<T>& v) {
  return {v.n, compute_cast(v.x), compute_cast(v.r), compute_cast(v.z), compute_cast(v.p), compute_cast(v.q)};
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
void CudaKrylovOps<T>::residual(const OperatorImpl<T>& A, const T* b, const T* x, T* r) {
  const DeviceGuard guard(context_.device());
  A.apply(x, r);
  kernels::subtract_from(A.rows(), compute_cast(b), compute_cast(r), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::norm(index_t n, const T* x, double* norm) {
  const DeviceGuard guard(context_.device());
  kernels::norm(n, compute_cast(x), norm, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::add(index_t n, const T* u, T* x) {
  const DeviceGuard guard(context_.device());
  kernels::add(n, compute_cast(u), compute_cast(x), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_product(const OperatorImpl<T>& A, const CgVectors<T>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  A.apply(v.p, v.q);
  kernels::cg_step_length(compute_vectors(v), state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_update(const PreconditionerImpl<T>* M, const CgVectors<T>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::cg_step(compute_vectors(v), state, context_.stream());
  if (M != nullptr) M->apply(v.r, v.z);
  kernels::cg_direction_factor(compute_vectors(v), state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::cg_direction(const CgVectors<T>& v, CgState<C>* state) {
  const DeviceGuard guard(context_.device());
  kernels::cg_direction(compute_vectors(v), state, context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_begin(v.n, compute_cast(v.basis), small, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j,
                                           GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_orthogonalize(v.n, compute_cast(v.basis), small, j, state, context_.reductions(), context_.stream());
}

template <Scalar T>
void CudaKrylovOps<T>::gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  const DeviceGuard guard(context_.device());
  kernels::gmres_combine(v.n, compute_cast(static_cast<const T*>(v.basis)), small, state, compute_cast(v.u),
                         context_.stream());
}

template class CudaKrylovOps<float>;
template class CudaKrylovOps<double>;
template class CudaKrylovOps<std::complex<float>>;
template class CudaKrylovOps<std::complex<double>>;

}  // namespace blockjacobi::detail
