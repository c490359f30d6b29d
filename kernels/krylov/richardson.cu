#include "core/shared/richardson_recurrence.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/vector.cuh"
#include "kernels/launch/check.hpp"

// Richardson iteration. Its state is only written by the thread block that arrives last in a reduction, after every
// other has read it.

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    richardson_check_kernel(index_t n, const C* r, detail::RichardsonState* state, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  if (state->stop != 0) return;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], r[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->rr = sum[0];
  detail::richardson_outcome(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    richardson_step_kernel(index_t n, const C* z, C* x, const detail::RichardsonState* state) {
  const offset_t i = own_element();
  if (i >= n || state->stop != 0) return;
  x[i] += static_cast<detail::arithmetic_real_t<C>>(state->relaxation) * z[i];
}

}  // namespace

template <class C>
void richardson_check(index_t n, const C* r, detail::RichardsonState* state, const ReductionWorkspace& workspace,
                      CUstream_st* stream) {
  richardson_check_kernel<<<reduction_ctas(n), vector_policy.threads, 0, stream>>>(n, r, state, workspace);
  check_launch("richardson_check_kernel");
}

template <class C>
void richardson_step(index_t n, const C* z, C* x, const detail::RichardsonState* state, CUstream_st* stream) {
  if (n == 0) return;
  richardson_step_kernel<<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, z, x, state);
  check_launch("richardson_step_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                       \
  template void richardson_check(index_t, const C*, detail::RichardsonState*, const ReductionWorkspace&, \
                                 CUstream_st*);                                                          \
  template void richardson_step(index_t, const C*, C*, const detail::RichardsonState*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
