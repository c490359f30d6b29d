#pragma once

#include "core/shared/scalar.hpp"
#include "kernels/coarse/policy.hpp"

namespace blockjacobi::kernels {

/// Lanes that go through a row together: rows of stencils and of prolongators have about as many entries.
inline constexpr int row_lanes = 8;

__device__ inline offset_t thread_index() { return static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x; }
__device__ inline int row_lane() { return static_cast<int>(threadIdx.x % row_lanes); }

/// Lanes that have a row together: a power of two of a warp, or all of a thread block, each of whose warps then has
/// entries of its own.
struct RowLanes {
  int lanes, rank;
  int width, lane;  ///< of the lanes that share an entry, and which of them this one is
  int warps, warp;
  unsigned mask;

  __device__ explicit RowLanes(int count)
      : lanes(count),
        rank(static_cast<int>(threadIdx.x) & (count - 1)),
        width(count < 32 ? count : 32),
        lane(rank & (width - 1)),
        warps((count + 31) / 32),
        warp(rank / 32),
        mask((width == 32 ? ~0u : (1u << width) - 1) << (threadIdx.x % 32 & ~(width - 1u))) {}
  __device__ offset_t row() const { return thread_index() >> (31 - __clz(lanes)); }
  /// Orders accesses to memory of all lanes.
  __device__ void sync() const {
    if (warps > 1)
      __syncthreads();
    else
      __syncwarp(mask);
  }
  /// Of those that share an entry.
  __device__ void sync_width() const { __syncwarp(mask); }
  template <class V>
  __device__ V broadcast(V v, int source) const {
    return __shfl_sync(mask, v, source, width);
  }
  template <class R>
  __device__ detail::Complex<R> broadcast(detail::Complex<R> v, int source) const {
    return {broadcast(v.re, source), broadcast(v.im, source)};
  }
};

/// A hash table of columns in shared memory, of the lanes of a row.
struct ColumnSlots {
  static constexpr index_t empty = -1;

  index_t* columns;
  int last;

  __device__ ColumnSlots(index_t* of_cta, const RowLanes& members)
      : columns(of_cta + product_slots * (static_cast<int>(threadIdx.x) - members.rank)),
        last(product_slots * members.lanes - 1) {}
  __device__ void clear(const RowLanes& members) const {
#pragma unroll
    for (int s = 0; s < product_slots; ++s) columns[s * members.lanes + members.rank] = empty;
  }
  __device__ int most() const { return (last + 1) / product_slots * product_columns; }
  __device__ int first(index_t column) const {
    return static_cast<int>(static_cast<unsigned>(column) * 0x9e3779b1u >> 16) & last;
  }
  __device__ int next(int slot) const { return (slot + 1) & last; }
};

}  // namespace blockjacobi::kernels
