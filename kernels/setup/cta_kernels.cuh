#pragma once

#include "kernels/inverse/cta.cuh"
#include "kernels/launch/cta.cuh"
#include "kernels/setup/cta_block.cuh"
#include "kernels/setup/store_outcome.cuh"

namespace blockjacobi::kernels {

/// Whether the exponents of a block equilibrated by rows, then columns serve, once it is known in which row the pivot
/// of each step was. A function of its own to keep registers for the elimination.
template <class C, class State>
__device__ __noinline__ bool scales_serve(CtaBlock<C> block, const State* state, const C* values,
                                          const detail::PositionMapView map, offset_t slot) {
  using R = detail::arithmetic_real_t<C>;
  const int* const row = block.row_exponent;
  const int* const column = block.column_exponent;
  int* const misleading = block.elimination.pivots;  // which has none in this kernel
  int widest_row = 0, largest_column = 0;
  block.for_each_row([&](int k) {
    const int i = state[k].pivot_row;
    widest_row = max(widest_row, abs(row[k]));
    largest_column = max(largest_column, column[k]);
    misleading[k] = detail::exchanges_unlike_rows<R>(row[i], column[i], row[k], column[k]) ? 1 : 0;
  });
  const ThreadBlockGroup group{block.scratch.integers, 0, 0};
  if (!detail::are_ordinary_scales<R>(group.max(widest_row), group.max(largest_column))) return false;
  const auto any_misleads = [&] {
    int any = 0;
    block.for_each_row([&](int k) { any |= misleading[k]; });
    return __syncthreads_or(any) != 0;
  };
  if (!any_misleads()) return true;
  const MapRange entries = range_of(map, slot);
  const auto look = [&](int k, int j, C element) {
    if (j != state[k].pivot_row || misleading[k] == 0) return;
    const int exponent = detail::magnitude_exponent(detail::abs1(element)) + row[k] + column[j];
    if (detail::has_counterpart<R>(exponent)) misleading[k] = 0;
  };
  if (entries.slot.row_stride != 0) {
    block.for_each_row([&](int k) {
      const int i = state[k].pivot_row;
      look(k, i, values[entries.slot.first_source + k * entries.slot.row_stride + i]);
    });
  } else {
    extract_entries(values, map, entries, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), look);
  }
  __syncthreads();
  return !any_misleads();
}

template <class C, int W>
__global__ void __launch_bounds__(largest_order, 1)
    setup_cta_kernel(const SetupArguments<C> arguments, const index_t first_slot, const GaussJordanPolicy policy) {
  using Real = detail::arithmetic_real_t<C>;
  using Elimination = CtaGaussJordan<C, W>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ CtaBlockScratch<C> scratch;

  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  const BlockSlot slot = arguments.slots[s];
  const int n = slot.size;
  C* stored = arguments.inverse + slot.start;
  const CtaBlock<C> block(stored, n, 0, shared, scratch);

  block.extract(arguments.values, arguments.map, s);
  const int bad = block.first_non_finite();
  Outcome<Real> outcome{detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
  if (bad == INT_MAX) {
    unsigned char* const own = shared + aligned_bytes(cta_block_bytes<C>(n, 0));
    const auto layout = [&] { return Elimination::Layout::of(n, policy); };
    outcome = block.solve(
        [&] {
          const auto result = Elimination{own, n, layout()}.run({stored, n, n, n}, {stored, n, n, n});
          __syncthreads();
          return result;
        },
        [&] {
          const auto* const state = typename Elimination::Panel(own, n, layout()).state;
          return scales_serve(block, state, arguments.values, arguments.map, s);
        });
  }
  if (outcome.info != 0) block.set_diagonal(arguments.fallback);
  if (threadIdx.x == 0) store_outcome(arguments, slot, outcome);
}

}  // namespace blockjacobi::kernels
