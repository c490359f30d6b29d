#include "kernels/krylov/cg_update.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/product_step.cuh"
#include "kernels/launch/dependent.cuh"

// The state is also written by an idle product, in which no thread reads alpha.

namespace blockjacobi::kernels {

namespace {

/// A product after the stop: x has taken its last step.
template <class C>
__device__ void end_steps(detail::CgState<C>* state) {
  if (blockIdx.x == 0 && threadIdx.x == 0) state->alpha = C{};
}

/// q = A p and the dot.
template <class Shape, class C>
__global__ void __launch_bounds__(csr_policy.threads, csr_policy.per_multiprocessor)
    cg_product_kernel(const CsrRows<C> matrix, C* q, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  const bool goes_on = product_and_step<Shape, sum_width<C>>(
      matrix, state, workspace,
      [&](offset_t i, C product, double* pq) {
        accumulate_dot(pq, matrix.x[i], product);
        q[i] = product;
      },
      [](detail::CgState<C>& own, const double* pq) {
        own.pq = to_accumulator<C>(pq);
        detail::cg_step_length(own);
      });
  if (!goes_on) end_steps(state);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_step_length_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  await_previous();
  if (state->stop != 0) return end_steps(state);
  sum_and_step<sum_width<C>>(
      v.n, state, workspace, [&](offset_t i, double* pq) { accumulate_dot(pq, v.p[i], v.q[i]); },
      [](detail::CgState<C>& own, const double* pq) {
        own.pq = to_accumulator<C>(pq);
        detail::cg_step_length(own);
      });
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_residual_kernel(const CgVectors<C> v, const detail::CgState<C>* state) {
  const offset_t i = own_element();
  await_previous();
  if (i < v.n && state->stop == 0) v.r[i] -= state->alpha * v.q[i];
}

/// r -= alpha q without a preconditioner, and the dots.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_plain_update_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  __shared__ typename UpdateSums<C>::Sum::Scratch scratch;
  await_previous();
  if (state->stop != 0) return;
  UpdateSums<C> sums;
  const C alpha = state->alpha;
  for_each_element(v.n, [&](offset_t i) {
    const C r = v.r[i] - alpha * v.q[i];
    v.r[i] = r;
    sums.add(r, r);
  });
  sums.finish(state, workspace, scratch);
}

/// r -= alpha q, z = M^-1 r and the dots, for M of blocks that fit a warp.
template <class C>
__global__ void __launch_bounds__(over_blocks_policy.threads, over_blocks_policy.per_multiprocessor)
    cg_update_kernel(const BlockTasks<C> tasks, const CgVectors<C> v, detail::CgState<C>* state,
                     const ReductionWorkspace workspace) {
  update_by_blocks(FullRows<C>{tasks}, v, state, workspace);
}

template <class C>
__global__ void __launch_bounds__(over_blocks_policy.threads, over_blocks_policy.per_multiprocessor)
    cg_residual_and_blocks_kernel(const BlockTasks<C> tasks, const CgVectors<C> v, const detail::CgState<C>* state) {
  update_blocks(FullRows<C>{tasks}, v, state, [](C, C) {});
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_prolong_kernel(const detail::CoarseBasisArrays<C> basis, const C* c, const CgVectors<C> v,
                      detail::CgState<C>* state, const ReductionWorkspace workspace) {
  __shared__ typename UpdateSums<C>::Sum::Scratch scratch;
  await_previous();
  if (state->stop != 0) return;
  UpdateSums<C> sums;
  for_each_element(v.n, [&](offset_t i) {
    const C z = v.z[i] + detail::prolonged(basis, i, c);
    v.z[i] = z;
    sums.add(v.r[i], z);
  });
  sums.finish(state, workspace, scratch);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    cg_direction_factor_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  __shared__ typename UpdateSums<C>::Sum::Scratch scratch;
  await_previous();
  if (state->stop != 0) return;
  UpdateSums<C> sums;
  for_each_element(v.n, [&](offset_t i) { sums.add(v.r[i], v.z[i]); });
  sums.finish(state, workspace, scratch);
}

template <class C>
__global__ void __launch_bounds__(cg_direction_ctas.threads, cg_direction_ctas.per_multiprocessor)
    cg_direction_kernel(const CgVectors<C> v, const detail::CgState<C>* state) {
  const offset_t stride = static_cast<offset_t>(gridDim.x) * cg_direction_ctas.threads;
  offset_t i = static_cast<offset_t>(blockIdx.x) * cg_direction_ctas.threads + threadIdx.x;
  C p{}, x{};
  const auto load = [&] {
    if (i >= v.n) return;
    p = load_written(v.p + i);
    if (v.x != nullptr) x = load_written(v.x + i);
  };
  load();
  await_previous();
  const C alpha = state->alpha, beta = state->beta;
  const bool steps = v.x != nullptr && !detail::is_zero(alpha), turns = state->stop == 0;
  if (!steps && !turns) return;
  for (; i < v.n; i += stride, load()) {
    const C z = turns ? v.z[i] : C{};
    if (steps) v.x[i] = x + alpha * p;
    if (turns) v.p[i] = z + beta * p;
  }
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    fcg_step_length_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  await_previous();
  if (state->stop != 0) return end_steps(state);
  sum_and_step<2 * width>(
      v.n, state, workspace,
      [&](offset_t i, double* sums) {  // p^H q, then p^H r
        const C p = v.p[i];
        accumulate_dot(sums, p, v.q[i]);
        accumulate_dot(sums + width, p, v.r[i]);
      },
      [](detail::CgState<C>& own, const double* sums) {
        own.pq = to_accumulator<C>(sums);
        own.pr = to_accumulator<C>(sums + width);
        detail::fcg_step_length(own);
      });
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    fcg_direction_factor_kernel(const CgVectors<C> v, detail::CgState<C>* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  await_previous();
  if (state->stop != 0) return;
  sum_and_step<2 * width + 1>(
      v.n, state, workspace,
      [&](offset_t i, double* sums) {  // r^H z, q^H z, then ||r||^2
        const C r = v.r[i], z = v.z[i];
        accumulate_dot(sums, r, z);
        accumulate_dot(sums + width, v.q[i], z);
        accumulate_square(sums[2 * width], r);
      },
      [](detail::CgState<C>& own, const double* sums) {
        own.rho_new = to_accumulator<C>(sums);
        own.qz = to_accumulator<C>(sums + width);
        own.rr = sums[2 * width];
        detail::fcg_direction_factor(own);
      });
}

}  // namespace

template <class C>
void cg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                    CUstream_st* stream) {
  launch_dependent(cg_step_length_kernel<C>, "cg_step_length_kernel", {reduction_ctas(v.n), vector_policy.threads},
                   stream, v, state, workspace);
}

template <class C>
void cg_residual(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  launch_dependent(cg_residual_kernel<C>, "cg_residual_kernel", {elementwise_ctas(v.n), vector_policy.threads}, stream,
                   v, state);
}

template <class C>
void cg_product(const CsrView<C, std::int32_t>& matrix, const CgVectors<C>& v, detail::CgState<C>* state,
                const ReductionWorkspace& workspace, CUstream_st* stream) {
  const CsrRows<C> rows = rows_of(matrix, static_cast<const C*>(v.p));
  with_csr_shape(matrix, [&](auto shape) {
    using Shape = decltype(shape);
    launch_dependent(cg_product_kernel<Shape, C>, "cg_product_kernel",
                     {csr_ctas<Shape>(matrix.rows), csr_policy.threads}, stream, rows, v.q, state, workspace);
  });
}

template <class C>
void cg_residual_and_blocks(const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                            const detail::CgState<C>* state, CUstream_st* stream) {
  const BlockTasks<C> tasks = tasks_of(inverse);
  launch_dependent(cg_residual_and_blocks_kernel<C>, "cg_residual_and_blocks_kernel",
                   {over_blocks_ctas(tasks.warps), over_blocks_policy.threads}, stream, tasks, v, state);
}

template <class C>
void cg_prolong(const detail::CoarseBasisArrays<C>& basis, const C* c, const CgVectors<C>& v, detail::CgState<C>* state,
                const ReductionWorkspace& workspace, CUstream_st* stream) {
  launch_dependent(cg_prolong_kernel<C>, "cg_prolong_kernel", {reduction_ctas(v.n), vector_policy.threads}, stream,
                   basis, c, v, state, workspace);
}

template <class C>
void cg_plain_update(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  launch_dependent(cg_plain_update_kernel<C>, "cg_plain_update_kernel", {reduction_ctas(v.n), vector_policy.threads},
                   stream, v, state, workspace);
}

template <class C>
void cg_update(const BlockBatchView<const C>& inverse, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream) {
  const BlockTasks<C> tasks = tasks_of(inverse);
  launch_dependent(cg_update_kernel<C>, "cg_update_kernel", {over_blocks_ctas(tasks.warps), over_blocks_policy.threads},
                   stream, tasks, v, state, workspace);
}

template <class C>
void cg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                         CUstream_st* stream) {
  launch_dependent(cg_direction_factor_kernel<C>, "cg_direction_factor_kernel",
                   {reduction_ctas(v.n), vector_policy.threads}, stream, v, state, workspace);
}

template <class C>
void cg_direction(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream) {
  if (v.n == 0) return;
  const offset_t wanted = (offset_t{v.n} + cg_direction_ctas.threads - 1) / cg_direction_ctas.threads;
  launch_dependent(cg_direction_kernel<C>, "cg_direction_kernel",
                   {persistent_ctas(cg_direction_ctas, wanted), cg_direction_ctas.threads}, stream, v, state);
}

template <class C>
void fcg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream) {
  launch_dependent(fcg_step_length_kernel<C>, "fcg_step_length_kernel", {reduction_ctas(v.n), vector_policy.threads},
                   stream, v, state, workspace);
}

template <class C>
void fcg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                          CUstream_st* stream) {
  launch_dependent(fcg_direction_factor_kernel<C>, "fcg_direction_factor_kernel",
                   {reduction_ctas(v.n), vector_policy.threads}, stream, v, state, workspace);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                     \
  template void cg_step_length(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*);     \
  template void cg_residual(const CgVectors<C>&, const detail::CgState<C>*, CUstream_st*);                             \
  template void cg_product(const CsrView<C, std::int32_t>&, const CgVectors<C>&, detail::CgState<C>*,                  \
                           const ReductionWorkspace&, CUstream_st*);                                                   \
  template void cg_plain_update(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*);    \
  template void cg_update(const BlockBatchView<const C>&, const CgVectors<C>&, detail::CgState<C>*,                    \
                          const ReductionWorkspace&, CUstream_st*);                                                    \
  template void cg_residual_and_blocks(const BlockBatchView<const C>&, const CgVectors<C>&, const detail::CgState<C>*, \
                                       CUstream_st*);                                                                  \
  template void cg_prolong(const detail::CoarseBasisArrays<C>&, const C*, const CgVectors<C>&, detail::CgState<C>*,    \
                           const ReductionWorkspace&, CUstream_st*);                                                   \
  template void cg_direction_factor(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&,               \
                                    CUstream_st*);                                                                     \
  template void cg_direction(const CgVectors<C>&, const detail::CgState<C>*, CUstream_st*);                            \
  template void fcg_step_length(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*);    \
  template void fcg_direction_factor(const CgVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
