#include "core/shared/bicgstab_recurrence.hpp"
#include "kernels/block/grid_sum.cuh"
#include "kernels/global/vector.cuh"

// The state is only written by the thread block that arrives last in a reduction, after every other has read it.

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_direction_kernel(const BicgstabVectors<C> v, const detail::BicgstabState<C>* state) {
  const offset_t i = own_element();
  if (i >= v.n || state->stop != 0) return;
  v.p[i] = v.r[i] + state->beta * (v.p[i] - state->omega * v.v[i]);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_first_step_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                               const ReductionWorkspace workspace) {
  using Sum = GridSum<sum_width<C>>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double rv[sum_width<C>] = {};
  for_each_element(v.n, [&](offset_t i) { accumulate_dot(rv, v.shadow[i], v.v[i]); });
  if (!Sum::run(rv, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->rv = to_accumulator<C>(rv);
  detail::bicgstab_first_step(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_half_kernel(const BicgstabVectors<C> v, const detail::BicgstabState<C>* state) {
  const offset_t i = own_element();
  if (i >= v.n || state->stop != 0) return;
  v.r[i] -= state->alpha * v.v[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_second_step_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                                const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  using Sum = GridSum<width + 2>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  double sums[width + 2] = {};  // t^H s, ||t||^2, ||s||^2
  for_each_element(v.n, [&](offset_t i) {
    const C s = v.r[i], t = v.t[i];
    accumulate_dot(sums, t, s);
    accumulate_square(sums[width], t);
    accumulate_square(sums[width + 1], s);
  });
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->ts = to_accumulator<C>(sums);
  state->tt = sums[width];
  state->ss = sums[width + 1];
  detail::bicgstab_second_step(*state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_update_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                           const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  using Sum = GridSum<width + 1>;
  __shared__ typename Sum::Scratch scratch;
  if (state->stop != 0) return;
  const C alpha = state->alpha, omega = state->omega;
  const bool second = !detail::is_zero(omega);
  double sums[width + 1] = {};  // r~^H r, then ||r||^2
  for (offset_t i = own_element(); i < v.n; i += static_cast<offset_t>(gridDim.x) * vector_policy.threads) {
    C x = v.x[i] + alpha * v.y[i];
    C r = v.r[i];
    if (second) {
      x += omega * v.z[i];  // before r, which z may be
      r -= omega * v.t[i];
      v.r[i] = r;
    }
    v.x[i] = x;
    accumulate_dot(sums, v.shadow[i], r);
    accumulate_square(sums[width], r);
  }
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  state->rho_new = to_accumulator<C>(sums);
  state->rr = sums[width];
  detail::bicgstab_direction_factor(*state);
}

}  // namespace

template <class C>
void bicgstab_direction(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  bicgstab_direction_kernel<<<elementwise_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("bicgstab_direction_kernel");
}

template <class C>
void bicgstab_first_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream) {
  bicgstab_first_step_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("bicgstab_first_step_kernel");
}

template <class C>
void bicgstab_half(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  bicgstab_half_kernel<<<elementwise_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("bicgstab_half_kernel");
}

template <class C>
void bicgstab_second_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                          const ReductionWorkspace& workspace, CUstream_st* stream) {
  bicgstab_second_step_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("bicgstab_second_step_kernel");
}

template <class C>
void bicgstab_update(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  bicgstab_update_kernel<<<reduction_blocks(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("bicgstab_update_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template void bicgstab_direction(const BicgstabVectors<C>&, const detail::BicgstabState<C>*, CUstream_st*);         \
  template void bicgstab_first_step(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&,  \
                                    CUstream_st*);                                                                    \
  template void bicgstab_half(const BicgstabVectors<C>&, const detail::BicgstabState<C>*, CUstream_st*);              \
  template void bicgstab_second_step(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&, \
                                     CUstream_st*);                                                                   \
  template void bicgstab_update(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&,      \
                                CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
