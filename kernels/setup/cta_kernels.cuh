#pragma once

#include "kernels/inverse/cta.cuh"
#include "kernels/launch/cta.cuh"
#include "kernels/setup/cta_scales.cuh"
#include "kernels/setup/extract.cuh"
#include "kernels/setup/store_outcome.cuh"

namespace blockjacobi::kernels {

/// The elements of a block: where they stand if all of them do, at one distance from row to row; else at `place`.
template <class C>
__device__ SteppedRef<const C> place_of_block(const C* values, const detail::PositionMapView& map, offset_t slot,
                                              const detail::MatrixRef<C>& place) {
  const detail::MapSlot& own = map.slots[slot];
  if (own.row_stride != 0) return {values + own.first_source, own.row_stride, 1};
  return {place.data, 1, place.ld};
}

/// The same; extracts them to `place` where they stand there, visible to the thread block.
template <class C>
__device__ SteppedRef<const C> bring_block(const C* values, const detail::PositionMapView& map, offset_t slot,
                                           const detail::MatrixRef<C>& place) {
  const MapRange entries = range_of(map, slot);
  const SteppedRef<const C> elements = place_of_block(values, map, slot, place);
  if (entries.slot.row_stride != 0) return elements;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x), size = place.rows;
#pragma unroll 4
  for (int e = thread; e < size * size; e += threads) place.data[e] = C{};
  __syncthreads();
  const auto store = [&](int i, int j, C value) { place(i, j) = value; };
  if (map.duplicates)
    extract_entries(values, map, entries, thread, threads, store);
  else if (map.narrow != nullptr)
    store_singles<8>(values, map.narrow, entries, thread, threads, store);
  else
    store_singles<8>(values, map.wide, entries, thread, threads, store);
  __syncthreads();
  return elements;
}

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
    return detail::exchanges_unlike_rows<R>(scales.row_exponent(i), scales.column_exponent(i),
                                            scales.row_exponent(step), scales.column_exponent(step));
  };
  const bool misleads = k < scales.n && is_misleading(k);
  if (k < scales.n) misleading[k] = misleads ? 1 : 0;
  if (__syncthreads_or(misleads) == 0) return true;
  const auto look = [&](int step, int j, C element) {
    if (j != state[step].pivot_row || misleading[step] == 0) return;
    const int exponent =
        detail::magnitude_exponent(detail::abs1(element)) + scales.row_exponent(step) + scales.column_exponent(j);
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

/// A block a thread block, as inverse_cta_kernel(). Blocks that it refuses, whose info is positive, are left to
/// setup_careful_kernel().
template <class C, int W, GaussJordanPlace Place, int Threads, int Ctas>
__global__ void __launch_bounds__(Threads, Ctas)
    setup_cta_kernel(const SetupArguments<C> arguments, const index_t first_slot, const GaussJordanPolicy policy) {
  using Real = detail::arithmetic_real_t<C>;
  using Elimination = CtaGaussJordan<C, W, Threads / 32>;
  using Found = typename CtaScales<C>::Found;
  extern __shared__ __align__(16) unsigned char shared[];

  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  const int n = arguments.slots[s].size;
  const detail::MatrixRef<C> inverse{arguments.inverse + arguments.slots[s].start, n, n, n};
  const CtaScales<C> scales(shared, n);
  const SteppedRef<const C> block = bring_block(arguments.values, arguments.map, s, inverse);

  Outcome<Real> outcome{detail::info_ill_conditioned(n), 0};
  const Found found = scales.find(block);
  if (found == Found::non_finite) {
    const int bad = scales.first_non_finite(block);
    outcome = {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
    store_fallback(block, inverse, arguments.fallback);
  } else if (found == Found::serve) {
    unsigned char* const own = shared + CtaScales<C>::bytes(n);
    const auto layout = Elimination::Layout::of(n, policy);
    const auto result = Elimination{own, n, layout}.template run_in<Place>(block, inverse, scales);
    if (result.info != 0) {
      outcome = {result.info, 0};
    } else if (result.regular) {
      outcome.rcond = reciprocal_condition(scales.norm(), scales.norm_of_inverse());
      const auto* const state = typename Elimination::Panel(own, n, layout).state;
      if (outcome.rcond >= detail::singular_threshold<Real>(n) &&
          scales_serve(scales, state, arguments.values, arguments.map, s))
        outcome.info = 0;
    }
  }
  if (threadIdx.x == 0) store_outcome(arguments, arguments.slots[s], outcome);
}

}  // namespace blockjacobi::kernels
