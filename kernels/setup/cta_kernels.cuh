#pragma once

#include "kernels/inverse/cta.cuh"
#include "kernels/inverse/fill_matrix.cuh"
#include "kernels/launch/cta.cuh"
#include "kernels/setup/cta_scales.cuh"
#include "kernels/setup/row_tiles.cuh"
#include "kernels/setup/store_outcome.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// What a block with NaN or Inf gets.
template <class C>
__device__ void store_fallback(const SteppedRef<const C>& a, const detail::MatrixRef<C>& x, detail::Fallback fallback) {
  const int thread = static_cast<int>(threadIdx.x), n = x.rows;
  const C diagonal = thread < n ? detail::fallback_diagonal(fallback, a(thread, thread)) : C{};
  __syncthreads();
  for (int j = thread / 32; j < n; j += static_cast<int>(blockDim.x) / 32)
    for (int i = thread % 32; i < n; i += 32)
      if (i != j) x(i, j) = C{};
  if (thread < n) x(thread, thread) = diagonal;
}

/// Replaces a block that has NaN or Inf: i + j n of the first of them in column-major order, INT_MAX if there is none.
/// A function of its own for what hardly any block needs.
template <class C>
__device__ __noinline__ int replace_non_finite(const CtaScales<C> scales, const C* values,
                                               const detail::PositionMapView map, offset_t slot,
                                               const detail::MatrixRef<C> inverse, detail::Fallback fallback) {
  const MappedBlock<C> block(values, map, slot);
  if (!block.is_stepped()) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    fill_matrix(inverse, C{});
    __syncthreads();
    extract_entries(values, map, block.range, thread, threads, [&](int i, int j, C value) { inverse(i, j) = value; });
    __syncthreads();
  }
  const SteppedRef<const C> elements = block.elements(inverse);
  const int bad = scales.first_non_finite(elements);
  if (bad != INT_MAX) store_fallback(elements, inverse, fallback);
  return bad;
}

/// Whether the scales of a block serve, once it is known in which row the pivot of each step was. A function of its own
/// to keep registers for the elimination.
template <class C, class State>
__device__ __noinline__ bool scales_serve(const CtaScales<C> scales, const State* state, const C* values,
                                          const detail::PositionMapView map, offset_t slot) {
  using R = detail::arithmetic_real_t<C>;
  const int k = static_cast<int>(threadIdx.x);
  int* const misleading = reinterpret_cast<int*>(scales.row_sum);  // of which the norm has been taken
  const auto is_misleading = [&](int step) {
    const int i = state[step].pivot_row;
    return detail::exchanges_unlike_rows<R>(scales.row[i], scales.column[i], scales.row[step], scales.column[step]);
  };
  const bool misleads = k < scales.n && is_misleading(k);
  if (k < scales.n) misleading[k] = misleads ? 1 : 0;
  if (__syncthreads_or(misleads) == 0) return true;
  const auto look = [&](int step, int j, C element) {
    if (j != state[step].pivot_row || misleading[step] == 0) return;
    const int exponent = detail::magnitude_exponent(detail::abs1(element)) + scales.row[step] + scales.column[j];
    if (detail::has_counterpart<R>(exponent)) misleading[step] = 0;
  };
  const MapRange entries = range_of(map, slot);
  if (entries.slot.row_stride != 0) {
    if (k < scales.n) {
      const int i = state[k].pivot_row;
      look(k, i, values[entries.slot.first_source + k * entries.slot.row_stride + i]);
    }
  } else {
    extract_entries(values, map, entries, k, static_cast<int>(blockDim.x), look);
  }
  __syncthreads();
  return __syncthreads_or(k < scales.n && misleading[k] != 0) == 0;
}

/// Whether an elimination lends memory to the scales, and what they have beside it.
__host__ __device__ constexpr bool lends_memory(GaussJordanPlace place) { return place != GaussJordanPlace::streamed; }
template <class C>
__host__ __device__ constexpr std::size_t scales_bytes(GaussJordanPlace place, int n) {
  return lends_memory(place) ? CtaScales<C>::kept_bytes(n) : CtaScales<C>::bytes(n);
}

/// A block a thread block, as inverse_cta_kernel(). Blocks that it refuses, whose info is positive, are left to
/// setup_careful_kernel().
template <class C, int W, GaussJordanPlace Place, int Threads, int Ctas>
__global__ void __launch_bounds__(Threads, Ctas)
    setup_cta_kernel(const SetupArguments<C> arguments, const index_t first_slot, const GaussJordanPolicy policy) {
  using Real = detail::arithmetic_real_t<C>;
  using Elimination = CtaGaussJordan<C, W, Threads / 32>;
  using Panel = typename Elimination::Panel;
  extern __shared__ __align__(16) unsigned char shared[];

  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  if (arguments.is_decided(s)) return;
  const int n = arguments.slots[s].size;
  const detail::MatrixRef<C> inverse{arguments.inverse + arguments.slots[s].start, n, n, n};
  const MappedBlock<C> block(arguments.values, arguments.map, s);
  unsigned char* const own = shared + scales_bytes<C>(Place, n);
  const CtaScales<C> scales = [&] {
    if constexpr (lends_memory(Place)) {
      const Panel panel(own, n, Elimination::Layout::of(n, policy));
      return CtaScales<C>(shared, reinterpret_cast<unsigned char*>(panel.staged), n);
    } else {
      return CtaScales<C>(shared, n);
    }
  }();
  const auto layout = Elimination::Layout::of(n, policy);
  const Elimination elimination{own, n, layout};
  const Panel panel(own, n, layout);

  typename Elimination::Outcome result{0, false};
  if constexpr (Place == GaussJordanPlace::whole)
    result = elimination.template run_in<Place>(block, inverse, scales);
  else if (scales.find(RowTiles<C>{block, inverse, panel.panel, layout.panel / layout.ld, layout.ld}))
    result = elimination.template run_in<Place>(block.elements(inverse), inverse, scales);

  Outcome<Real> outcome{detail::info_ill_conditioned(n), 0};
  if (result.info != 0) {
    outcome = {result.info, 0};
  } else if (result.regular) {
    if constexpr (!lends_memory(Place)) scales.arrived();
    outcome.rcond = reciprocal_condition(scales.norm(), scales.norm_of_inverse());
    if (outcome.rcond >= detail::singular_threshold<Real>(n) &&
        scales_serve(scales, panel.state, arguments.values, arguments.map, s))
      outcome.info = 0;
  } else if (scales.has_row_out_of_range()) {
    const int bad = replace_non_finite(scales, arguments.values, arguments.map, s, inverse, arguments.fallback);
    if (bad != INT_MAX) outcome = {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
  }
  if (threadIdx.x == 0) store_outcome(arguments, arguments.slots[s], outcome);
}

}  // namespace blockjacobi::kernels
