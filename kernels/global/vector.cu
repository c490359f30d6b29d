#include "kernels/block/grid_sum.cuh"
#include "kernels/global/vector.cuh"

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(vector_policy.threads) subtract_from_kernel(index_t n, const C* b, C* r) {
  const offset_t i = own_element();
  if (i < n) r[i] = b[i] - r[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads) add_kernel(index_t n, const C* u, C* x) {
  const offset_t i = own_element();
  if (i < n) x[i] += u[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    norm_kernel(index_t n, const C* x, double* norm, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], x[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x == 0) *norm = sqrt(sum[0]);
}

}  // namespace

template <Scalar T>
void subtract_from(index_t n, const T* b, T* r, CUstream_st* stream) {
  if (n == 0) return;
  subtract_from_kernel<<<elementwise_blocks(n), vector_policy.threads, 0, stream>>>(n, detail::compute_cast(b),
                                                                                    detail::compute_cast(r));
  check_launch("subtract_from_kernel");
}

template <Scalar T>
void add(index_t n, const T* u, T* x, CUstream_st* stream) {
  if (n == 0) return;
  add_kernel<<<elementwise_blocks(n), vector_policy.threads, 0, stream>>>(n, detail::compute_cast(u),
                                                                          detail::compute_cast(x));
  check_launch("add_kernel");
}

template <Scalar T>
void norm(index_t n, const T* x, double* norm, const ReductionWorkspace& workspace, CUstream_st* stream) {
  norm_kernel<<<reduction_blocks(n), vector_policy.threads, 0, stream>>>(n, detail::compute_cast(x), norm, workspace);
  check_launch("norm_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(T)                                      \
  template void subtract_from(index_t, const T*, T*, CUstream_st*);     \
  template void add(index_t, const T*, T*, CUstream_st*);               \
  template void norm(index_t, const T*, double*, const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
