#include "core/shared/cg_recurrence.hpp"
#include "kernels/block/grid_sum.cuh"
#include "kernels/global/vector.cuh"

// The state is only written by the thread block that arrives last in a reduction, after every other has read `stop`.

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_step_length_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  using Sum = GridSum<sum_width<C>>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double pq[sum_width<C>] = {};
  for_each_element(v.n, [&](offset_t i) { accumulate_dot(pq, v.p[i], v.q[i]); });
  if (!Sum::run(pq, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->pq = to_accumulator<C>(pq);
  detail::cg_step_length(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_step_kernel(const CgVectors<C> v, const detail::CgState<C>* state) {
  const offset_t i = own_element();
  if (i >= v.n || state->stop != 0) return;
  const C alpha = state->alpha;
  v.x[i] += alpha * v.p[i];
  v.r[i] -= alpha * v.q[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_direction_factor_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  using Sum = GridSum<width + 1>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double sums[width + 1] = {};  // r^H z, then ||r||^2
  for_each_element(v.n, [&](offset_t i) {
    const C r = v.r[i];
    accumulate_dot(sums, r, v.z[i]);
    accumulate_square(sums[width], r);
  });
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->rho_new = to_accumulator<C>(sums);
  state->rr = sums[width];
  detail::cg_direction_factor(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_direction_kernel(const CgVectors<C> v, const detail::CgState<C>* state) {
  const offset_t i = own_element();
  if (i >= v.n || state->stop != 0) return;
  v.p[i] = v.z[i] + state->beta * v.p[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    fcg_step_length_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  using Sum = GridSum<2 * width>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double sums[2 * width] = {};  // p^H q, then p^H r
  for_each_element(v.n, [&](offset_t i) {
    const C p = v.p[i];
    accumulate_dot(sums, p, v.q[i]);
    accumulate_dot(sums + width, p, v.r[i]);
  });
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->pq = to_accumulator<C>(sums);
  state->pr = to_accumulator<C>(sums + width);
  detail::fcg_step_length(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    fcg_direction_factor_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  using Sum = GridSum<2 * width + 1>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double sums[2 * width + 1] = {};  // r^H z, q^H z, then ||r||^2
  for_each_element(v.n, [&](offset_t i) {
    const C r = v.r[i], z = v.z[i];
    accumulate_dot(sums, r, z);
    accumulate_dot(sums + width, v.q[i], z);
    accumulate_square(sums[2 * width], r);
  });
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->rho_new = to_accumulator<C>(sums);
  state->qz = to_accumulator<C>(sums + width);
  state->rr = sums[2 * width];
  detail::fcg_direction_factor(*state);
}

}  // namespace

template <class C>
void cg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                    CUstream_st* stream) {
  cg_step_length_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("cg_step_length_kernel");
}

template <class C>
void cg_step(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  cg_step_kernel<<<elementwise_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("cg_step_kernel");
}

template <class C>
void cg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                         CUstream_st* stream) {
  cg_direction_factor_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("cg_direction_factor_kernel");
}

template <class C>
void cg_direction(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  cg_direction_kernel<<<elementwise_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("cg_direction_kernel");
}

template <class C>
void fcg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  fcg_step_length_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("fcg_step_length_kernel");
}

template <class C>
void fcg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                          CUstream_st* stream) {
  fcg_direction_factor_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("fcg_direction_factor_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                  \
  template void cg_step_length(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*);  \
  template void cg_step(const CgVectors<C>&, const detail::CgState<C>*, CUstream_st*);                              \
  template void cg_direction_factor(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&,            \
                                    CUstream_st*);                                                                  \
  template void cg_direction(const CgVectors<C>&, const detail::CgState<C>*, CUstream_st*);                         \
  template void fcg_step_length(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*); \
  template void fcg_direction_factor(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
