#pragma once

#include <blockjacobi/views.hpp>

#include <cstdint>

namespace blockjacobi::kernels {

/// Consecutive blocks of one order and format as the thread blocks of an apply find them.
struct ApplyGroup {
  offset_t start;  ///< first byte
  index_t first_slot;
  index_t first_row;  ///< as in BlockGroup
  index_t count;
  unsigned tiles;  ///< thread blocks
  int order;
  int share;  ///< blocks a thread block; or thread blocks a block
};

/// The work of one thread block.
struct ApplyTile {
  int group;
  unsigned tile;  ///< of the group
};

/// The work of one launch, a kernel parameter: groups of all orders together. They advance side by side, so that the
/// blocks of different orders that are neighbours in the matrix read and write the vectors at about the same time.
struct ApplyPlan {
  static constexpr int most = 90;  // 4 KB of parameters
  /// Thread blocks that are under way at a time, about.
  static constexpr unsigned round_tiles = 1024;

  ApplyGroup groups[most];
  int size = 0;
  unsigned tiles = 0;
  int round_bits = 0;  ///< there are 2^round_bits rounds, of each of which a group has its share

  bool is_full() const { return size == most; }
  void add(const ApplyGroup& group) {
    groups[size++] = group;
    tiles += group.tiles;
    while (tiles >> round_bits > round_tiles) ++round_bits;
  }

#ifdef __CUDACC__
  /// All lanes of a warp, for the same thread block.
  __device__ ApplyTile tile_of(unsigned block) const {
    if (size == 1) return {0, block};
    const int lane = static_cast<int>(threadIdx.x) % 32;
    auto round = static_cast<unsigned>((std::uint64_t{block} << round_bits) / tiles);
    unsigned before = before_round(round, lane);
    for (unsigned next = before_round(round + 1, lane); next <= block; next = before_round(round + 1, lane)) {
      ++round;
      before = next;
    }
    unsigned rest = block - before;
    for (int first = 0;; first += 32) {
      const int own = first + lane;
      const unsigned begin = own < size ? begin_of(own, round) : 0u;
      const unsigned count = own < size ? begin_of(own, round + 1) - begin : 0u;
      unsigned end = count;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned other = __shfl_up_sync(~0u, end, distance);
        if (lane >= distance) end += other;
      }
      const unsigned behind = __ballot_sync(~0u, end > rest);
      if (behind != 0) {
        const int found = __ffs(static_cast<int>(behind)) - 1;
        return {first + found, __shfl_sync(~0u, begin + rest - (end - count), found)};
      }
      rest -= __shfl_sync(~0u, end, 31);
    }
  }

 private:
  /// Tiles of a group that come before a round.
  __device__ unsigned begin_of(int group, unsigned round) const {
    return static_cast<unsigned>(std::uint64_t{groups[group].tiles} * round >> round_bits);
  }
  __device__ unsigned before_round(unsigned round, int lane) const {
    unsigned sum = 0;
    for (int own = lane; own < size; own += 32) sum += begin_of(own, round);
    return __reduce_add_sync(~0u, sum);
  }
#endif
};

}  // namespace blockjacobi::kernels
