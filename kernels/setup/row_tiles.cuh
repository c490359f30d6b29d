#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/setup/mapped_block.cuh"

namespace blockjacobi::kernels {

/// A block that is not one panel, by tiles of rows through shared memory, each read once: the largest magnitudes of its
/// rows and columns as from PanelMaxima, and on the way the elements to `place` if they do not all stand in the matrix.
/// Several thread blocks may share what is stored.
template <class C>
struct RowTiles {
  const MappedBlock<C>& block;
  detail::MatrixRef<C> place;
  C* tile;
  int rows, ld;            ///< of the tile, which lies row by row
  int share = 0, all = 1;  ///< this thread block stores every all-th tile, beginning with this one

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int warps() { return static_cast<int>(blockDim.x) / 32; }

  template <class KeepRow, class Word, class KeepColumn>
  __device__ void find(KeepRow keep_row, Word word, KeepColumn keep_column) const {
    const int n = place.rows;
    int next = thread(), turn = 0;
    unsigned largest = 0;
#pragma unroll 1
    for (int first = 0; first < n; first += rows) {
      const int height = min(rows, n - first);
      load(first, height, next);
      for (int i = warp(); i < height; i += warps()) {
        unsigned of_row = 0;
#pragma unroll 4
        for (int j = lane(); j < n; j += 32) of_row = max(of_row, magnitude_word(tile[i * ld + j]));
        of_row = __reduce_max_sync(full_warp, of_row);
        if (lane() == 0) keep_row(first + i, of_row);
      }
      __syncthreads();
      if (thread() < n)
#pragma unroll 8
        for (int i = 0; i < height; ++i) largest = max(largest, word(first + i, tile[i * ld + thread()]));
      if (!block.is_stepped() && turn == share) store(first, height);
      turn = turn + 1 == all ? 0 : turn + 1;
      __syncthreads();
    }
    if (thread() < n) keep_column(thread(), largest);
  }

 private:
  /// Ends with a barrier.
  __device__ void load(int first, int height, int& next) const {
    const int n = place.rows;
    if (block.is_stepped()) {
      const SteppedRef<const C> a = block.stepped();
      for (int i = warp(); i < height; i += warps()) {
        const C* const row = &a(first + i, 0);
#pragma unroll 4
        for (int j = lane(); j < n; j += 32) copy_async(tile + i * ld + j, row + j);
      }
    } else {
      for (int e = thread(); e < height * ld; e += static_cast<int>(blockDim.x)) tile[e] = C{};
      __syncthreads();
      block.copy_rows(next, first + height, [&](int i, int j) { return tile + (i - first) * ld + j; });
    }
    wait_for_copies();
    __syncthreads();
  }

  /// A warp 8 rows of 4 columns at once: whole sectors.
  __device__ void store(int first, int height) const {
    const int n = place.rows;
    for (int j = 4 * warp() + lane() % 4; j < n; j += 4 * warps())
#pragma unroll 4
      for (int i = lane() / 4; i < height; i += 8) place(first + i, j) = tile[i * ld + j];
  }
};

}  // namespace blockjacobi::kernels
