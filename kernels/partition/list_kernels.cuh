#pragma once

#include "kernels/launch/check.hpp"
#include "kernels/partition/launch_clusters.hpp"
#include "kernels/partition/team_list.cuh"

#include <algorithm>

// An operation does something with each of op.count lists, of op.length(v) entries:
//   op.run(team, v)   by all threads of a team; ends such that the tally may be used again
//   Op::tallies       whether it uses the tally, with no more keys than entries

namespace blockjacobi::kernels {

constexpr unsigned ctas_for(offset_t work, int of_cta) {
  constexpr offset_t most = 64 * compiled_device.multiprocessors;
  return static_cast<unsigned>(std::clamp<offset_t>((work + of_cta - 1) / of_cta, 1, most));
}

/// Lists of up to `limit` entries, W lanes each.
template <int W, class Op>
__global__ void __launch_bounds__(list_threads) short_lists_kernel(const Op op, const offset_t limit) {
  constexpr int teams = list_threads / W, slots = slots_per_thread * W;
  __shared__ double sums[Op::tallies ? slots_per_thread * list_threads : 1];
  __shared__ index_t keys[Op::tallies ? slots_per_thread * list_threads : 1];
  __shared__ int counters[teams];
  const int number = static_cast<int>(threadIdx.x) / W, first_slot = Op::tallies ? number * slots : 0;
  const LaneTeam<W> team{Lanes<W>::current(), {keys + first_slot, sums + first_slot, counters + number}};
  for (offset_t v = offset_t{blockIdx.x} * teams + number; v < op.count; v += offset_t{gridDim.x} * teams)
    if (op.length(static_cast<index_t>(v)) <= limit) op.run(team, static_cast<index_t>(v));
}

/// The longer ones, a thread block each. Neighbours in the numbering go to different thread blocks.
template <class Op>
__global__ void __launch_bounds__(list_threads)
    long_lists_kernel(const Op op, const offset_t limit, const ListTables tables) {
  __shared__ index_t found[list_threads];
  __shared__ int count, counter;
  const auto first_slot = offset_t{blockIdx.x} * tables.slots;
  const CtaTeam team{{tables.keys + first_slot, tables.sums + first_slot, &counter}};
  const offset_t step = offset_t{gridDim.x} * list_threads;
  for (offset_t first = 0; first < op.count; first += step) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const offset_t v = first + offset_t{threadIdx.x} * gridDim.x + blockIdx.x;
    if (v < op.count && op.length(static_cast<index_t>(v)) > limit)
      found[atomicAdd(&count, 1)] = static_cast<index_t>(v);
    __syncthreads();
    for (int k = 0; k < count; ++k) op.run(team, found[k]);
    __syncthreads();
  }
}

template <int W, class Op>
void work_on_short_lists(const Op& op, offset_t limit, const char* name, CUstream_st* stream) {
  short_lists_kernel<W, Op><<<ctas_for(op.count, list_threads / W), list_threads, 0, stream>>>(op, limit);
  check_launch(name);
}

template <class Op>
void work_on_long_lists(const Op& op, offset_t limit, const ListTables& tables, const char* name, CUstream_st* stream) {
  long_lists_kernel<Op><<<tables.ctas, list_threads, 0, stream>>>(op, limit, tables);
  check_launch(name);
}

/// No list is longer than `longest`.
template <class Op>
void work_on_lists(const Op& op, offset_t longest, const ListTables& tables, const char* name, CUstream_st* stream) {
  static_assert(longest_of_warp == 32 * slots_per_thread / 2);
  if (op.count == 0) return;
  constexpr offset_t per_lane = slots_per_thread / 2;
  if (longest <= 4 * per_lane) return work_on_short_lists<4>(op, longest, name, stream);
  if (longest <= 8 * per_lane) return work_on_short_lists<8>(op, longest, name, stream);
  if (longest <= 16 * per_lane) return work_on_short_lists<16>(op, longest, name, stream);
  work_on_short_lists<32>(op, longest_of_warp, name, stream);
  if (longest > longest_of_warp) work_on_long_lists(op, longest_of_warp, tables, name, stream);
}

/// A thread for each index below `count`: for (offset_t i = first_index(); i < count; i += index_step()).
__device__ inline offset_t first_index() { return offset_t{blockIdx.x} * list_threads + threadIdx.x; }
__device__ inline offset_t index_step() { return offset_t{gridDim.x} * list_threads; }

/// *most = max(*most, values of all threads), by all lanes of a warp together, with few atomic operations: most of what
/// comes later is below what is there.
template <class Count>
__device__ void raise_by_warps(Count* most, offset_t value) {
  const LaneTeam<32> warp{Lanes<32>::current(), {}};
  value = warp.reduce(value, [](offset_t a, offset_t b) { return max(a, b); });
  const auto own = static_cast<Count>(value);
  if (warp.rank() == 0 && own > *static_cast<volatile Count*>(most)) atomicMax(most, own);
}

}  // namespace blockjacobi::kernels
