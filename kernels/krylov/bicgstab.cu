#include "core/shared/bicgstab_recurrence.hpp"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/over_blocks.cuh"
#include "kernels/krylov/product_step.cuh"
#include "kernels/launch/dependent.cuh"

namespace blockjacobi::kernels {

namespace {

template <class C>
__device__ C new_direction(const BicgstabVectors<C>& v, offset_t i, C beta, C omega) {
  return v.r[i] + beta * (v.p[i] - omega * v.v[i]);
}

/// The step with r~^H v.
template <class C>
struct FirstStep {
  static constexpr int width = sum_width<C>;
  __device__ static void add(double* rv, C shadow, C v) { accumulate_dot(rv, shadow, v); }
  __device__ void operator()(detail::BicgstabState<C>& own, const double* rv) const {
    own.rv = to_accumulator<C>(rv);
    detail::bicgstab_first_step(own);
  }
};

/// The step with t^H s, ||t||^2, ||s||^2.
template <class C>
struct SecondStep {
  static constexpr int dot = sum_width<C>;
  static constexpr int width = dot + 2;
  __device__ static void add(double* sums, C t, C s) {
    accumulate_dot(sums, t, s);
    accumulate_square(sums[dot], t);
    accumulate_square(sums[dot + 1], s);
  }
  __device__ void operator()(detail::BicgstabState<C>& own, const double* sums) const {
    own.ts = to_accumulator<C>(sums);
    own.tt = sums[dot];
    own.ss = sums[dot + 1];
    detail::bicgstab_second_step(own);
  }
};

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_direction_kernel(const BicgstabVectors<C> v, const detail::BicgstabState<C>* state) {
  const offset_t i = own_element();
  await_previous();
  if (i < v.n && state->stop == 0) v.p[i] = new_direction(v, i, state->beta, state->omega);
}

/// p, and y = M^-1 p for M of blocks that fit a warp.
template <class C>
__global__ void __launch_bounds__(over_blocks_policy.threads, over_blocks_policy.per_multiprocessor)
    bicgstab_direction_and_blocks_kernel(const BlockTasks<C> tasks, const BicgstabVectors<C> v,
                                         const detail::BicgstabState<C>* state) {
  C beta{}, omega{};
  const auto begin = [&] {
    await_previous();
    beta = state->beta;
    omega = state->omega;
    return state->stop == 0;
  };
  visit_blocks(
      FullRows<C>{tasks}, begin, [&](offset_t i) { return new_direction(v, i, beta, omega); },
      [&](offset_t i, C p, C y) {
        v.p[i] = p;
        v.y[i] = y;
      });
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_first_step_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                               const ReductionWorkspace workspace) {
  using Step = FirstStep<C>;
  await_previous();
  if (state->stop != 0) return;
  sum_and_step<Step::width>(
      v.n, state, workspace, [&](offset_t i, double* rv) { Step::add(rv, v.shadow[i], v.v[i]); }, Step{});
}

/// v = A y and the dot.
template <class Shape, class C>
__global__ void __launch_bounds__(csr_policy.threads, csr_policy.per_multiprocessor)
    bicgstab_first_product_kernel(const CsrRows<C> matrix, const C* shadow, C* v, detail::BicgstabState<C>* state,
                                  const ReductionWorkspace workspace) {
  using Step = FirstStep<C>;
  product_and_step<Shape, Step::width>(
      matrix, state, workspace,
      [&](offset_t i, C product, double* rv) {
        Step::add(rv, shadow[i], product);
        v[i] = product;
      },
      Step{});
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_half_kernel(const BicgstabVectors<C> v, const detail::BicgstabState<C>* state) {
  const offset_t i = own_element();
  await_previous();
  if (i < v.n && state->stop == 0) v.r[i] -= state->alpha * v.v[i];
}

/// s, and z = M^-1 s for M of blocks that fit a warp.
template <class C>
__global__ void __launch_bounds__(over_blocks_policy.threads, over_blocks_policy.per_multiprocessor)
    bicgstab_half_and_blocks_kernel(const BlockTasks<C> tasks, const BicgstabVectors<C> v,
                                    const detail::BicgstabState<C>* state) {
  C alpha{};
  const auto begin = [&] {
    await_previous();
    alpha = state->alpha;
    return state->stop == 0;
  };
  visit_blocks(
      FullRows<C>{tasks}, begin, [&](offset_t i) { return v.r[i] - alpha * v.v[i]; },
      [&](offset_t i, C s, C z) {
        v.r[i] = s;
        v.z[i] = z;
      });
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_second_step_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                                const ReductionWorkspace workspace) {
  using Step = SecondStep<C>;
  await_previous();
  if (state->stop != 0) return;
  sum_and_step<Step::width>(
      v.n, state, workspace, [&](offset_t i, double* sums) { Step::add(sums, v.t[i], v.r[i]); }, Step{});
}

/// t = A z and the dots.
template <class Shape, class C>
__global__ void __launch_bounds__(csr_policy.threads, csr_policy.per_multiprocessor)
    bicgstab_second_product_kernel(const CsrRows<C> matrix, const C* s, C* t, detail::BicgstabState<C>* state,
                                   const ReductionWorkspace workspace) {
  using Step = SecondStep<C>;
  product_and_step<Shape, Step::width>(
      matrix, state, workspace,
      [&](offset_t i, C product, double* sums) {
        Step::add(sums, product, s[i]);
        t[i] = product;
      },
      Step{});
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    bicgstab_update_kernel(const BicgstabVectors<C> v, detail::BicgstabState<C>* state,
                           const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  await_previous();
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
  launch_dependent(bicgstab_direction_kernel<C>, "bicgstab_direction_kernel",
                   {elementwise_ctas(v.n), vector_policy.threads}, stream, v, state);
}

template <class C>
void bicgstab_direction(const BlockBatchView<const C>& inverse, const BicgstabVectors<C>& v,
                        const detail::BicgstabState<C>* state, CUstream_st* stream) {
  const BlockTasks<C> tasks = tasks_of(inverse);
  launch_dependent(bicgstab_direction_and_blocks_kernel<C>, "bicgstab_direction_and_blocks_kernel",
                   {over_blocks_ctas(tasks.warps), over_blocks_policy.threads}, stream, tasks, v, state);
}

template <class C>
void bicgstab_first_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream) {
  launch_dependent(bicgstab_first_step_kernel<C>, "bicgstab_first_step_kernel",
                   {reduction_ctas(v.n), vector_policy.threads}, stream, v, state, workspace);
}

template <class C>
void bicgstab_first_product(const CsrView<C, std::int32_t>& matrix, const BicgstabVectors<C>& v,
                            detail::BicgstabState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream) {
  const CsrRows<C> rows = rows_of(matrix, static_cast<const C*>(v.y));
  with_csr_shape(matrix, [&](auto shape) {
    using Shape = decltype(shape);
    launch_dependent(bicgstab_first_product_kernel<Shape, C>, "bicgstab_first_product_kernel",
                     {csr_ctas<Shape>(matrix.rows), csr_policy.threads}, stream, rows, v.shadow, v.v, state, workspace);
  });
}

template <class C>
void bicgstab_half(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  launch_dependent(bicgstab_half_kernel<C>, "bicgstab_half_kernel", {elementwise_ctas(v.n), vector_policy.threads},
                   stream, v, state);
}

template <class C>
void bicgstab_half(const BlockBatchView<const C>& inverse, const BicgstabVectors<C>& v,
                   const detail::BicgstabState<C>* state, CUstream_st* stream) {
  const BlockTasks<C> tasks = tasks_of(inverse);
  launch_dependent(bicgstab_half_and_blocks_kernel<C>, "bicgstab_half_and_blocks_kernel",
                   {over_blocks_ctas(tasks.warps), over_blocks_policy.threads}, stream, tasks, v, state);
}

template <class C>
void bicgstab_second_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                          const ReductionWorkspace& workspace, CUstream_st* stream) {
  launch_dependent(bicgstab_second_step_kernel<C>, "bicgstab_second_step_kernel",
                   {reduction_ctas(v.n), vector_policy.threads}, stream, v, state, workspace);
}

template <class C>
void bicgstab_second_product(const CsrView<C, std::int32_t>& matrix, const BicgstabVectors<C>& v,
                             detail::BicgstabState<C>* state, const ReductionWorkspace& workspace,
                             CUstream_st* stream) {
  const CsrRows<C> rows = rows_of(matrix, static_cast<const C*>(v.z));
  with_csr_shape(matrix, [&](auto shape) {
    using Shape = decltype(shape);
    launch_dependent(bicgstab_second_product_kernel<Shape, C>, "bicgstab_second_product_kernel",
                     {csr_ctas<Shape>(matrix.rows), csr_policy.threads}, stream, rows, v.r, v.t, state, workspace);
  });
}

template <class C>
void bicgstab_update(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  launch_dependent(bicgstab_update_kernel<C>, "bicgstab_update_kernel", {reduction_ctas(v.n), vector_policy.threads},
                   stream, v, state, workspace);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template void bicgstab_direction(const BicgstabVectors<C>&, const detail::BicgstabState<C>*, CUstream_st*);         \
  template void bicgstab_direction(const BlockBatchView<const C>&, const BicgstabVectors<C>&,                         \
                                   const detail::BicgstabState<C>*, CUstream_st*);                                    \
  template void bicgstab_first_step(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&,  \
                                    CUstream_st*);                                                                    \
  template void bicgstab_first_product(const CsrView<C, std::int32_t>&, const BicgstabVectors<C>&,                    \
                                       detail::BicgstabState<C>*, const ReductionWorkspace&, CUstream_st*);           \
  template void bicgstab_half(const BicgstabVectors<C>&, const detail::BicgstabState<C>*, CUstream_st*);              \
  template void bicgstab_half(const BlockBatchView<const C>&, const BicgstabVectors<C>&,                              \
                              const detail::BicgstabState<C>*, CUstream_st*);                                         \
  template void bicgstab_second_step(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&, \
                                     CUstream_st*);                                                                   \
  template void bicgstab_second_product(const CsrView<C, std::int32_t>&, const BicgstabVectors<C>&,                   \
                                        detail::BicgstabState<C>*, const ReductionWorkspace&, CUstream_st*);          \
  template void bicgstab_update(const BicgstabVectors<C>&, detail::BicgstabState<C>*, const ReductionWorkspace&,      \
                                CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
