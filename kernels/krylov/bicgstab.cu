#include "core/shared/bicgstab_recurrence.hpp"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/scalar_step.cuh"
#include "kernels/launch/check.hpp"

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
  if (state->stop != 0) return;
  sum_and_step<sum_width<C>>(
      v.n, state, workspace, [&](offset_t i, double* rv) { accumulate_dot(rv, v.shadow[i], v.v[i]); },
      [](detail::BicgstabState<C>& own, const double* rv) {
        own.rv = to_accumulator<C>(rv);
        detail::bicgstab_first_step(own);
      });
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
  if (state->stop != 0) return;
  sum_and_step<width + 2>(
      v.n, state, workspace,
      [&](offset_t i, double* sums) {  // t^H s, ||t||^2, ||s||^2
        const C s = v.r[i], t = v.t[i];
        accumulate_dot(sums, t, s);
        accumulate_square(sums[width], t);
        accumulate_square(sums[width + 1], s);
      },
      [](detail::BicgstabState<C>& own, const double* sums) {
        own.ts = to_accumulator<C>(sums);
        own.tt = sums[width];
        own.ss = sums[width + 1];
        detail::bicgstab_second_step(own);
      });
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_update_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                           const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  if (state->stop != 0) return;
  const C alpha = state->alpha, omega = state->omega;
  const bool second = !detail::is_zero(omega);
  sum_and_step<width + 1>(
      v.n, state, workspace,
      [&](offset_t i, double* sums) {  // r~^H r, then ||r||^2
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
      },
      [](detail::BicgstabState<C>& own, const double* sums) {
        own.rho_new = to_accumulator<C>(sums);
        own.rr = sums[width];
        detail::bicgstab_direction_factor(own);
      });
}

}  // namespace

template <class C>
void bicgstab_direction(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  bicgstab_direction_kernel<<<elementwise_ctas(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("bicgstab_direction_kernel");
}

template <class C>
void bicgstab_first_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream) {
  bicgstab_first_step_kernel<<<reduction_ctas(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("bicgstab_first_step_kernel");
}

template <class C>
void bicgstab_half(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  bicgstab_half_kernel<<<elementwise_ctas(v.n), vector_policy.threads, 0, stream>>>(v, state);
  check_launch("bicgstab_half_kernel");
}

template <class C>
void bicgstab_second_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                          const ReductionWorkspace& workspace, CUstream_st* stream) {
  bicgstab_second_step_kernel<<<reduction_ctas(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
  check_launch("bicgstab_second_step_kernel");
}

template <class C>
void bicgstab_update(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  bicgstab_update_kernel<<<reduction_ctas(v.n), vector_policy.threads, 0, stream>>>(v, state, workspace);
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
