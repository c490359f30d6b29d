#pragma once

#include "kernels/setup/extract.cuh"

namespace blockjacobi::kernels {

/// Whether every element of the block has an entry; for a map with duplicates the answer is no.
__device__ inline bool is_full(const detail::PositionMapView& map, const MapRange& entries, int n) {
  return entries.slot.row_stride != 0 || (!map.duplicates && entries.end - entries.slot.begin == n * n);
}

/// Elements of a block of order N whose leading dimension is odd.
template <int N>
inline constexpr int setup_tile = N*(N | 1);

/// Shared memory of a team for a block of BlockJacobi of order up to N beside the block itself: pivots, and the powers
/// of two that scale columns and rows. Those of the rows come last: a loop over them reads sixteen bytes at once, and
/// what stood behind them would be read while others write it.
template <class Real, int N>
struct SetupScratch {
  static constexpr int bytes = 32 + 2 * (N + N % 2) * static_cast<int>(sizeof(Real));
  unsigned char* pivots;
  Real* column;
  Real* row;

  __device__ explicit SetupScratch(unsigned char* shared)
      : pivots(shared), column(reinterpret_cast<Real*>(shared + 32)), row(column + N) {}
};

/// out[e] = block[e], e < count, by `size` lanes.
template <class C>
__device__ void copy_block(const C* block, C* out, int count, int rank, int size) {
#pragma unroll 8
  for (int e = rank; e < count; e += size) out[e] = block[e];
}

}  // namespace blockjacobi::kernels
