#include "kernels/krylov/columns.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/dependent.cuh"

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

/// q = A p and the dot.
template <class C>
__global__ void __launch_bounds__(columns_policy.threads, columns_product_policy.per_multiprocessor)
    cg_columns_product_kernel(const CsrRows<C> matrix, const BundleVectors<C> v, detail::CgState<C>* states,
                              const ReductionWorkspace workspace) {
  using Products = BundleProducts<C>;
  using Piece = RowPiece<C>;
  constexpr int width = sum_width<C>;
  __shared__ ColumnsScratch<width> scratch;
  __shared__ typename Products::Scratch entries;
  await_previous();
  const OwnColumn own(v.shape);
  if (!ColumnScalars<C>(states[own.column]).any_is_busy()) return;
  const offset_t bundle = v.shape.first(own.bundle * bundle_width);
  const C* const p = v.p + bundle;
  C* const q = v.q + bundle;
  double sums[Piece::width][width] = {};
  Products::run(
      matrix, own, p, entries, [&](offset_t place) { return Products::piece_of(p, place); },
      [&](offset_t, offset_t place, const Piece& product, const Piece& direction) {
        *reinterpret_cast<Piece*>(q + place) = product;
#pragma unroll
        for (int c = 0; c < Piece::width; ++c) accumulate_dot(sums[c], direction.element[c], product.element[c]);
      });
  double pq[width], total;
  spread_over_columns<C>(sums, pq);
  if (!own.sum(pq, total, workspace, scratch)) return;
  step_columns<width>(total, states + own.bundle * bundle_width,
                      [](detail::CgState<C>& state, const double* of_column) {
                        state.pq = to_accumulator<C>(of_column);
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
__global__ void __launch_bounds__(columns_policy.threads, columns_policy.per_multiprocessor)
    cg_columns_direction_kernel(const BundleVectors<C> v, bool turns, const detail::CgState<C>* states) {
  struct Own {
    C p, z, x;
  };
  await_previous();
  const OwnColumn own(v.shape);
  const ColumnScalars<C> scalars(states[own.column]);
  const bool turns_own = turns && scalars.runs;
  if (!scalars.steps && !turns_own) return;
  own.for_each_row(
      v.shape.n,
      [&](offset_t i) {
        return Own{v.p[i], turns_own ? v.z[i] : C{}, scalars.steps ? v.x[i] : C{}};
      },
      [&](offset_t i, const Own& loaded) {
        if (scalars.steps) v.x[i] = loaded.x + scalars.alpha * loaded.p;
        if (turns_own) v.p[i] = scalars.turn(loaded.z, loaded.p);
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
void cg_columns_product(const CsrView<C, std::int32_t>& matrix, const BundleVectors<C>& v, detail::CgState<C>* states,
                        const ReductionWorkspace& workspace, CUstream_st* stream) {
  launch_dependent(cg_columns_product_kernel<C>, "cg_columns_product_kernel",
                   {columns_product_ctas(v.shape), columns_policy.threads}, stream,
                   rows_of(matrix, static_cast<const C*>(v.p)), v, states, workspace);
}

template <class C>
void cg_columns_direction(const BundleVectors<C>& v, bool turns, const detail::CgState<C>* states,
                          CUstream_st* stream) {
  launch_dependent(cg_columns_direction_kernel<C>, "cg_columns_direction_kernel",
                   {columns_ctas(v.shape), columns_policy.threads}, stream, v, turns, states);
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
