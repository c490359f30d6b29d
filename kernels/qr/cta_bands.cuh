#pragma once

#include "kernels/collectives/crew.cuh"
#include "kernels/qr/reflector_stages.cuh"
#include "kernels/qr/shared_tensor_tile.cuh"

namespace blockjacobi::kernels {

/// The matrix of a QR factorization by a thread block, of which each warp has a band of 8 R rows, what is in shared
/// memory while a panel of 8 T columns is factorized, and the barriers of the warps. Lanes have columns: tiles are
/// transposed.
template <class C, int T, int R>
class QrBands {
 public:
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int width = 8 * T, band = 8 * R;

  /// Of so many rows.
  __host__ __device__ static constexpr int bands(int rows) { return (rows + band - 1) / band; }

 protected:
  /// What 8 reflectors are multiplied by in an update of the panel, [columns].
  using Factors = SharedTensorPair<Wide>[T / 2];
  struct Common {
    Factors factors[2];  ///< of reflectors that are applied
    Factors own;         ///< of the panel at work, for which the warps above its diagonal do not wait
    C sums[2][16][8];    ///< of a step: [buffer][warp][column]
    C heads[2][8];       ///< its row
    unsigned words[16];  ///< of a step that needs care
  };

  __device__ QrBands(const detail::MatrixRef<C>& a, C* tau, unsigned char* shared)
      : a_(a), steps_(min(a.rows, a.cols)), tau_(tau), common_(*reinterpret_cast<Common*>(shared)) {}

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// The matrix's column of the lane in a tile, and its first row.
  __device__ static int lane_column() { return Tile::row(); }
  __device__ static int lane_row() { return opaque(warp() * band + Tile::lane() % 4); }
  /// Row of value v in tile r, from lane_row() on.
  __device__ static constexpr int offset(int r, int v) { return 8 * r + 4 * v; }

  /// Waits for all warps; those without rows have left.
  __device__ void synchronize() const {
    if (bands(a_.rows) == 1)
      __syncwarp();
    else
      __syncthreads();
  }
  /// The same for the warps from `top` on, which are at work on a panel.
  __device__ void synchronize(int top) const { sync_crew(bands(a_.rows) - top); }

  /// Brings this warp's rows of a panel to the L2 cache, which other matrices may have displaced.
  __device__ void prefetch(int first) const {
    constexpr int line = 128 / static_cast<int>(sizeof(C)), lines = (band + line - 1) / line;
#pragma unroll
    for (int i = 0; i < width * lines; i += 32) {
      const int place = i + Tile::lane(), column = first + place / lines, row = warp() * band + place % lines * line;
      if (column < a_.cols && row < a_.rows) asm volatile("prefetch.global.L2 [%0];" ::"l"(&a_(row, column)));
    }
  }
  /// This warp's rows of a panel.
  __device__ void load(Tile (&x)[T][R], int first) const {
    const int row = lane_row();
#pragma unroll
    for (int c = 0; c < T; ++c) {
      const int column = first + 8 * c + lane_column();
      const C* const from = a_.column(column) + row;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v)
          x[c][r].set(v, row + offset(r, v) < a_.rows && column < a_.cols ? widened(from[offset(r, v)]) : Wide{});
    }
  }
  /// Tile r of this warp's rows of 8 columns.
  __device__ void store(const Tile& x, int r, int first) const {
    store_values([&](int v) { return narrowed<C>(x.get(v)); }, r, first);
  }
  __device__ void store(const C (&x)[2], int r, int first) const {
    store_values([&](int v) { return x[v]; }, r, first);
  }

  /// This warp's rows of 8 reflectors, with ones on the diagonal and zeros above it.
  __device__ void load_transposed(Tile (&x)[R], int first) const {
    const int row = lane_row(), column = first + lane_column();
    const C* const from = a_.column(column) + row;
    if (is_whole(first)) {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) x[r].set(v, widened_finite(from[offset(r, v)]));
    } else {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) x[r].set(v, reflector_value(from + offset(r, v), row + offset(r, v), column));
    }
  }
  /// The same, conjugate and not transposed.
  __device__ void load_conjugate(Tile (&x)[R], int first) const {
    const int row = opaque(warp() * band + Tile::row()), column = first + Tile::lane() % 4;
    const C* const from = a_.column(column) + row;
    const offset_t next = 4 * static_cast<offset_t>(a_.ld);
    if (is_whole(first)) {
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r) x[r].set(v, detail::conj(widened_finite(from[v * next + 8 * r])));
    } else {
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r)
          x[r].set(v, detail::conj(reflector_value(from + v * next + 8 * r, row + 8 * r, column + 4 * v)));
    }
  }

  detail::MatrixRef<C> a_;
  int steps_;  ///< reflectors
  C* tau_;
  Common& common_;

 private:
  /// get(v) is value v of tile r.
  template <class Get>
  __device__ void store_values(Get get, int r, int first) const {
    const int row = lane_row() + 8 * r, column = first + lane_column();
    C* const to = a_.column(column) + row;
#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (row + 4 * v < a_.rows && column < a_.cols) to[4 * v] = get(v);
  }
  /// Whether the rows of this warp are inside of and below the diagonal in all of 8 reflectors.
  __device__ bool is_whole(int first) const {
    return first + 8 <= min(steps_, warp() * band) && (warp() + 1) * band <= a_.rows;
  }
  /// A value of the reflectors, whose place in the matrix is `from`.
  __device__ Wide reflector_value(const C* from, int row, int column) const {
    const bool exists = column < steps_, stored = exists && row > column && row < a_.rows;
    const Wide value = widened_finite(stored ? *from : C{});
    return exists && row == column ? detail::from_real<Wide>(1) : value;
  }
};

}  // namespace blockjacobi::kernels
