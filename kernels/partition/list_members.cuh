#pragma once

#include "kernels/collectives/lanes.cuh"
#include "kernels/partition/policy.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>
#include <cstring>

// The members of a list: who work on it together, some lanes of a warp or a thread block. Both have the same functions,
// so that what is done with a list is written once:
//   rank(), size()     of the thread among the members
//   sync()             orders their memory accesses
//   reduce(v, combine) in every thread, for any order of the values
//   tally              sums by key

namespace blockjacobi::kernels {

inline constexpr int list_threads = lists_policy.threads;
inline constexpr int slots_per_thread = 8;
/// Lanes share lists of no more entries each: half of the slots stay free.
inline constexpr int entries_of_lane = slots_per_thread / 2;

/// Sums of weights by key (0 and above), in a hash table with more slots than there are keys.
struct Tally {
  static constexpr index_t empty = -1;
  index_t* keys;
  double* sums;
  int* counter;  ///< for the members, zero after clear()

  /// Slots for `length` keys, a power of two of which half stay free.
  __device__ static offset_t slots_for(offset_t length, int size) {
    offset_t slots = size;
    while (slots < 2 * length) slots *= 2;
    return slots;
  }
  __device__ void clear(offset_t slots, int rank, int size) const {
    for (offset_t s = rank; s < slots; s += size) {
      keys[s] = empty;
      sums[s] = 0.0;
    }
    if (rank == 0) *counter = 0;
  }
  __device__ void add(index_t key, double weight, offset_t slots) const {
    auto slot = static_cast<offset_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ULL >> 32) & (slots - 1);
    while (true) {
      const index_t found = atomicCAS(keys + slot, empty, key);
      if (found == empty || found == key) break;
      slot = (slot + 1) & (slots - 1);
    }
    atomicAdd(sums + slot, weight);  // exact: in any order
  }
  /// visit(key, sum) in one thread each.
  template <class Visit>
  __device__ void for_each(offset_t slots, int rank, int size, Visit visit) const {
    for (offset_t s = rank; s < slots; s += size)
      if (keys[s] != empty) visit(keys[s], sums[s]);
  }
};

/// The value of another lane of the group, of any size.
template <class V>
__device__ V value_of_lane(unsigned mask, const V& v, int distance, int width) {
  constexpr int words = (sizeof(V) + 3) / 4;
  std::uint32_t own[words] = {};
  memcpy(own, &v, sizeof(V));
  for (int w = 0; w < words; ++w) own[w] = __shfl_xor_sync(mask, own[w], distance, width);
  V other;
  memcpy(&other, own, sizeof(V));
  return other;
}

template <int W>
struct ListLanes {
  Lanes<W> lanes;
  Tally tally;

  __device__ int rank() const { return lanes.rank; }
  __device__ static int size() { return W; }
  __device__ void sync() const { lanes.sync(); }
  template <class V, class Combine>
  __device__ V reduce(V v, Combine combine) const {
#pragma unroll
    for (int distance = W / 2; distance > 0; distance /= 2) v = combine(v, value_of_lane(lanes.mask, v, distance, W));
    return v;
  }
};

/// A thread block of list_threads threads.
struct ListCta {
  Tally tally;

  __device__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ static int size() { return list_threads; }
  __device__ static void sync() { __syncthreads(); }
  template <class V, class Combine>
  __device__ static V reduce(V v, Combine combine) {
    constexpr int warps = list_threads / 32;
    __shared__ alignas(16) unsigned char of_warps[warps * sizeof(V)];
    for (int distance = 16; distance > 0; distance /= 2) v = combine(v, value_of_lane(~0u, v, distance, 32));
    if (rank() % 32 == 0) memcpy(of_warps + static_cast<std::size_t>(rank() / 32) * sizeof(V), &v, sizeof(V));
    __syncthreads();
    V all;
    memcpy(&all, of_warps, sizeof(V));
    for (int warp = 1; warp < warps; ++warp) {
      V other;
      memcpy(&other, of_warps + static_cast<std::size_t>(warp) * sizeof(V), sizeof(V));
      all = combine(all, other);
    }
    __syncthreads();
    return all;
  }
};

}  // namespace blockjacobi::kernels
