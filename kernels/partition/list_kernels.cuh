#pragma once

#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/launch_clusters.hpp"
#include "kernels/partition/list_members.cuh"

#include <algorithm>

// Memory answers late: a thread asks for all that it needs of some entries before it looks at the first of them.
//
// An operation does something with each of op.count lists, of op.length(v) entries:
//   op.run(members, v)   by all of the list's members; ends such that the tally may be used again
//   Op::tallies          whether it uses the tally, with no more keys than entries
//   Op::picks            whether it has op.wants(v), which one thread asks for each v: false if nothing is to be run
//   op.among, op.to      if it has them: the vertices of which it picks, and where it notes those that it picked

namespace blockjacobi::kernels {

inline unsigned ctas_for(offset_t work, int of_cta) {
  return persistent_ctas(lists_policy, (work + of_cta - 1) / of_cta);
}

template <class Op>
__device__ bool is_wanted(const Op& op, index_t v) {
  if constexpr (Op::picks)
    return op.wants(v);
  else
    return true;
}

template <class Op>
__device__ offset_t candidates(const Op& op) {
  if constexpr (requires { op.among; })
    if (op.among.count != nullptr) return *op.among.count;
  return op.count;
}
template <class Op>
__device__ index_t candidate(const Op& op, offset_t n) {
  if constexpr (requires { op.among; })
    if (op.among.vertices != nullptr) return op.among.vertices[n];
  return static_cast<index_t>(n);
}
/// By all of a thread block together, no more than it has threads: one atomic operation for all of them.
template <class Op>
__device__ void note(const Op& op, const index_t* picked, int count) {
  if constexpr (requires { op.to; }) {
    __shared__ index_t first;
    if (threadIdx.x == 0) first = atomicAdd(op.to.count, count);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < count)
      op.to.vertices[first + static_cast<index_t>(threadIdx.x)] = picked[threadIdx.x];
  }
}

/// Lists of up to `limit` entries, W lanes each; all of them unless it `chooses`. Of an operation that picks a thread
/// block takes `stretch` lists at a time, and its groups of lanes those that are wanted, so that nobody waits beside
/// the others.
template <int W, bool chooses, class Op>
__global__ void __launch_bounds__(list_threads)
    short_lists_kernel(const Op op, const offset_t limit, const int stretch) {
  constexpr int lane_groups = list_threads / W, slots = slots_per_thread * W;
  __shared__ double sums[Op::tallies ? slots_per_thread * list_threads : 1];
  __shared__ index_t keys[Op::tallies ? slots_per_thread * list_threads : 1];
  __shared__ int counters[lane_groups];
  const auto thread = static_cast<int>(threadIdx.x);
  const int number = thread / W, first_slot = Op::tallies ? number * slots : 0;
  const ListLanes<W> members{Lanes<W>::current(), {keys + first_slot, sums + first_slot, counters + number}};
  const auto is_short = [&](offset_t v) { return !chooses || op.length(static_cast<index_t>(v)) <= limit; };
  if constexpr (Op::picks) {
    __shared__ index_t wanted[list_threads];
    __shared__ int count;
    const offset_t all = candidates(op);
    for (offset_t first = offset_t{blockIdx.x} * stretch; first < all; first += offset_t{gridDim.x} * stretch) {
      if (thread == 0) count = 0;
      __syncthreads();
      if (thread < stretch && first + thread < all) {
        const index_t v = candidate(op, first + thread);
        if (is_short(v) && op.wants(v)) wanted[atomicAdd(&count, 1)] = v;
      }
      __syncthreads();
      for (int k = number; k < count; k += lane_groups) op.run(members, wanted[k]);
      note(op, wanted, count);
      __syncthreads();
    }
  } else {
    for (offset_t v = offset_t{blockIdx.x} * lane_groups + number; v < op.count; v += offset_t{gridDim.x} * lane_groups)
      if (is_short(v)) op.run(members, static_cast<index_t>(v));
  }
}

/// The longer ones, a thread block each. Neighbours in the numbering go to different thread blocks.
template <class Op>
__global__ void __launch_bounds__(list_threads)
    long_lists_kernel(const Op op, const offset_t limit, const ListTables tables) {
  __shared__ index_t found[list_threads];
  __shared__ int count, counter;
  const auto first_slot = offset_t{blockIdx.x} * tables.slots;
  const ListCta members{{tables.keys + first_slot, tables.sums + first_slot, &counter}};
  const offset_t all = candidates(op), step = offset_t{gridDim.x} * list_threads;
  for (offset_t first = 0; first < all; first += step) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const offset_t n = first + offset_t{threadIdx.x} * gridDim.x + blockIdx.x;
    if (n < all) {
      const index_t v = candidate(op, n);
      if (op.length(v) > limit && is_wanted(op, v)) found[atomicAdd(&count, 1)] = v;
    }
    __syncthreads();
    for (int k = 0; k < count; ++k) op.run(members, found[k]);
    note(op, found, count);
    __syncthreads();
  }
}

template <int W, bool chooses, class Op>
void work_on_short_lists(const Op& op, const char* name, CUstream_st* stream) {
  constexpr int lane_groups = list_threads / W;
  const int stretch = Op::picks ? list_stretch(current_device(), op.count, lane_groups) : lane_groups;
  short_lists_kernel<W, chooses, Op>
      <<<ctas_for(op.count, stretch), list_threads, 0, stream>>>(op, longest_of_warp, stretch);
  check_launch(name);
}

template <class Op>
void work_on_long_lists(const Op& op, offset_t limit, const ListTables& tables, const char* name, CUstream_st* stream) {
  long_lists_kernel<Op><<<tables.ctas, list_threads, 0, stream>>>(op, limit, tables);
  check_launch(name);
}

/// No list is longer than `longest`, and most have no more than `usual`.
template <class Op>
void work_on_lists(const Op& op, offset_t longest, offset_t usual, const ListTables& tables, const char* name,
                   CUstream_st* stream) {
  static_assert(longest_of_warp == 32 * entries_of_lane);
  if (op.count == 0) return;
  // A tally has room for no more; without one lanes take a few turns.
  const offset_t length = Op::tallies || longest > longest_of_warp ? longest : std::min(longest, usual);
  if (length <= 2 * entries_of_lane) return work_on_short_lists<2, false>(op, name, stream);
  if (length <= 4 * entries_of_lane) return work_on_short_lists<4, false>(op, name, stream);
  if (length <= 8 * entries_of_lane) return work_on_short_lists<8, false>(op, name, stream);
  if (length <= 16 * entries_of_lane) return work_on_short_lists<16, false>(op, name, stream);
  work_on_short_lists<32, true>(op, name, stream);
  if (longest > longest_of_warp) work_on_long_lists(op, longest_of_warp, tables, name, stream);
}

/// The same by W lanes a list, or a thread block where those would not do, without a tally: it keeps the kernels few.
template <int W, class Op>
void work_by_lanes(const Op& op, offset_t longest, const char* name, CUstream_st* stream) {
  static_assert(!Op::tallies);
  if (op.count == 0) return;
  work_on_short_lists<W, true>(op, name, stream);
  if (longest > longest_of_warp)
    work_on_long_lists(op, longest_of_warp, {nullptr, nullptr, 0, list_table_ctas}, name, stream);
}

/// Entries k, k + stride, ... of a list, of those that it has; v itself, which is no neighbour, behind its end.
struct Entries {
  index_t neighbours[entries_of_lane];
  double weights[entries_of_lane];

  /// The entry k lies at place(k).
  template <class Place>
  __device__ Entries(const GraphLists& graph, index_t v, offset_t k, offset_t stride, offset_t size, Place place) {
#pragma unroll
    for (int e = 0; e < entries_of_lane; ++e) {
      neighbours[e] = v;
      weights[e] = 0.0;
      if (k + e * stride >= size) continue;
      neighbours[e] = graph.neighbours[place(k + e * stride)];
      weights[e] = graph.weights[place(k + e * stride)];
    }
  }
};

/// visit(entries) until all of the list of v have been with one of its members.
template <class Members, class Visit>
__device__ void for_each_entries(const Members& members, const GraphLists& graph, index_t v, Visit visit) {
  const offset_t begin = graph.begin[v], size = graph.length[v];
  for (offset_t k = members.rank(); k < size; k += offset_t{entries_of_lane} * members.size())
    visit(Entries(graph, v, k, members.size(), size, [&](offset_t n) { return begin + n; }));
}

/// A thread for each index below `count`: for (offset_t i = first_index(); i < count; i += index_step()).
__device__ inline offset_t first_index() { return offset_t{blockIdx.x} * list_threads + threadIdx.x; }
__device__ inline offset_t index_step() { return offset_t{gridDim.x} * list_threads; }

/// *most = max(*most, value), with few atomic operations: most of what comes later is below what is there, or was when
/// it was last read.
__device__ inline void raise_alone(unsigned long long* most, offset_t value) {
  const auto own = static_cast<unsigned long long>(value);
  if (own > *most) atomicMax(most, own);
}
/// The same by all of a thread block together.
__device__ inline void raise(unsigned long long* most, offset_t value) {
  value = ListCta::reduce(value, [](offset_t a, offset_t b) { return max(a, b); });
  if (threadIdx.x == 0) raise_alone(most, value);
}

}  // namespace blockjacobi::kernels
