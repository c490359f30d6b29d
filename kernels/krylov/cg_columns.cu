#include "kernels/krylov/columns.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/check.hpp"

// Conjugate gradients for several columns. As with one column, a state is written by the thread block of its bundle
// that arrives last, after every other has read it.

namespace blockjacobi::kernels {

namespace {

/// The scalars of a column that its threads go by. A column that stopped may still owe x its last step.
template <class C>
struct ColumnScalars {
  bool runs, steps;
  C alpha, beta;

  __device__ explicit ColumnScalars(const detail::CgState<C>& state)
      : runs(state.stop == 0), steps(!detail::is_zero(state.alpha)), alpha(state.alpha), beta(state.beta) {}

  /// Whether any column of the bundle has something to do: every warp has all of them.
  __device__ bool any_is_busy() const { return __any_sync(~0u, runs || steps); }
  /// The next direction; without an old one p may be anything.
  __device__ C turn(C z, C p) const { return detail::is_zero(beta) ? z : z + beta * p; }
};

/// q = A p and the dot, where `turns` with the direction made of the old one on the way.
template <bool turns, class C>
__global__ void __launch_bounds__(columns_policy.threads, columns_policy.per_multiprocessor)
    cg_columns_product_kernel(const CsrRows<C> matrix, const BundleVectors<C> v, detail::CgState<C>* states,
                              const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  constexpr int K = turns ? columns_turned_entries<C> : columns_entries<C>;
  __shared__ ColumnsScratch<width> scratch;
  const OwnColumn own(v.shape);
  const ColumnScalars<C> scalars(states[own.column]);
  if (!scalars.any_is_busy()) return;
  const auto direction = [&](offset_t i) {
    const C p = load_again(v.p + i);
    return turns ? scalars.turn(load_again(v.z + i), p) : p;
  };
  double pq[width] = {};
  own.for_each_row(v.shape.n, [&](offset_t row, offset_t i) {
    C p = load_again(v.p + i);
    if constexpr (turns) {
      if (scalars.steps) v.x[i] += scalars.alpha * p;
      if (scalars.runs) p = scalars.turn(load_again(v.z + i), p);
      v.next_p[i] = p;
    }
    if (!scalars.runs) return;
    const C q =
        row_product<K>(matrix, row, [&](index_t j) { return direction(own.first + offset_t{j} * bundle_width); });
    v.q[i] = q;
    accumulate_dot(pq, p, q);
  });
  double total;
  if (!own.sum(pq, total, workspace, scratch)) return;
  step_columns<width>(total, states + own.bundle * bundle_width, [](detail::CgState<C>& state, const double* sums) {
    state.pq = to_accumulator<C>(sums);
    detail::cg_step_length(state);
  });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_step_length_kernel(const BundleVectors<C> v, detail::CgState<C>* states,
                                  const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  __shared__ ColumnsScratch<width> scratch;
  const OwnColumn own(v.shape);
  const ColumnScalars<C> scalars(states[own.column]);
  if (!scalars.any_is_busy()) return;
  double pq[width] = {};
  if (scalars.runs) own.for_each_row(v.shape.n, [&](offset_t, offset_t i) { accumulate_dot(pq, v.p[i], v.q[i]); });
  double total;
  if (!own.sum(pq, total, workspace, scratch)) return;
  step_columns<width>(total, states + own.bundle * bundle_width, [](detail::CgState<C>& state, const double* sums) {
    state.pq = to_accumulator<C>(sums);
    detail::cg_step_length(state);
  });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_direction_kernel(const BundleVectors<C> v, bool turns, const detail::CgState<C>* states) {
  const OwnColumn own(v.shape);
  const ColumnScalars<C> scalars(states[own.column]);
  const bool turns_own = turns && scalars.runs;
  if (!scalars.steps && !turns_own) return;
  own.for_each_row(v.shape.n, [&](offset_t, offset_t i) {
    const C p = v.p[i];
    if (scalars.steps) v.x[i] += scalars.alpha * p;
    if (turns_own) v.p[i] = scalars.turn(v.z[i], p);
  });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_residual_kernel(const BundleVectors<C> v, const detail::CgState<C>* states) {
  const OwnColumn own(v.shape);
  const ColumnScalars<C> scalars(states[own.column]);
  if (!scalars.runs || !scalars.steps) return;
  own.for_each_row(v.shape.n, [&](offset_t, offset_t i) { v.r[i] -= scalars.alpha * v.q[i]; });
}

}  // namespace

template <class C>
void cg_columns_turn_and_product(const CsrView<C, std::int32_t>& matrix, const BundleVectors<C>& v,
                                 detail::CgState<C>* states, const ReductionWorkspace& workspace, CUstream_st* stream) {
  cg_columns_product_kernel<true><<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(
      rows_of(matrix, static_cast<const C*>(v.p)), v, states, workspace);
  check_launch("cg_columns_product_kernel");
}

template <class C>
void cg_columns_product(const CsrView<C, std::int32_t>& matrix, const BundleVectors<C>& v, detail::CgState<C>* states,
                        const ReductionWorkspace& workspace, CUstream_st* stream) {
  cg_columns_product_kernel<false><<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(
      rows_of(matrix, static_cast<const C*>(v.p)), v, states, workspace);
  check_launch("cg_columns_product_kernel");
}

template <class C>
void cg_columns_direction(const BundleVectors<C>& v, bool turns, const detail::CgState<C>* states,
                          CUstream_st* stream) {
  cg_columns_direction_kernel<<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(v, turns, states);
  check_launch("cg_columns_direction_kernel");
}

template <class C>
void cg_columns_step_length(const BundleVectors<C>& v, detail::CgState<C>* states, const ReductionWorkspace& workspace,
                            CUstream_st* stream) {
  cg_columns_step_length_kernel<<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(v, states, workspace);
  check_launch("cg_columns_step_length_kernel");
}

template <class C>
void cg_columns_residual(const BundleVectors<C>& v, const detail::CgState<C>* states, CUstream_st* stream) {
  cg_columns_residual_kernel<<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(v, states);
  check_launch("cg_columns_residual_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                \
  template void cg_columns_turn_and_product(const CsrView<C, std::int32_t>&, const BundleVectors<C>&,             \
                                            detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*);        \
  template void cg_columns_product(const CsrView<C, std::int32_t>&, const BundleVectors<C>&, detail::CgState<C>*, \
                                   const ReductionWorkspace&, CUstream_st*);                                      \
  template void cg_columns_direction(const BundleVectors<C>&, bool, const detail::CgState<C>*, CUstream_st*);     \
  template void cg_columns_step_length(const BundleVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&,   \
                                       CUstream_st*);                                                             \
  template void cg_columns_residual(const BundleVectors<C>&, const detail::CgState<C>*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
