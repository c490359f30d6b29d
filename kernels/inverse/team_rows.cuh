#pragma once

#include "kernels/collectives/row_tile.cuh"

namespace blockjacobi::kernels {

/// Gauss-Jordan inversion with partial pivoting of a matrix in a RowTile; rows stay where they are. The fast path: it
/// serves matrices whose elements are at most 1 (scaled by a power of two) and neither grow nor vanish in the
/// elimination, and says which it could not serve. Whether the inverse overflows is left to the caller.
///
/// Every step reads register j and writes register j - 1, so the pivot column is always register 0, the loop over the
/// steps stays rolled and the code small. The pivot row takes the same update as the others, row -= f row_p, with
/// f = 1 - 1 / p; that needs |p| not much above 1. The search for the next pivot and its reciprocal run beside the
/// update of the remaining columns: their latency would be half of the time otherwise.
template <class C, int N, int L, int R>
struct RowInverse {
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;
  using Tile = RowTile<C, N, L, R>;

  /// Growth that costs 6 bits is accepted.
  static constexpr int most_growth = 6;

  Tile& tile;
  int rank;
  int step[R];  ///< in which the row was the pivot; the row of the inverse that it holds in the end
  unsigned lowest = ~0u, highest = 0;

  __device__ RowInverse(Tile& tile_, int rank_) : tile(tile_), rank(rank_) {
#pragma unroll
    for (int q = 0; q < R; ++q) step[q] = rank < L && Tile::row(rank, q) < N ? -1 : N;
  }

  /// `order`: N bytes of shared memory; order[k] becomes the row that was the pivot of step k, which is the column of
  /// the inverse that register k holds in the end. Returns whether the matrix could be served.
  __device__ bool run(unsigned char* order) {
    C current[R];
    tile.column(0, current);
    search(current);
#pragma unroll 1
    for (int k = 0; k < N; ++k) {
      lowest = min(lowest, key_);
      highest = max(highest, key_);
      const int p = row_of(key_);
      if (rank == 0) order[k] = static_cast<unsigned char>(p);
      eliminate(k, current, p % L);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) tile.x[q][0] = current[q];
    return static_cast<int>(lowest >> Field::shift) >= least_fast_exponent<C> &&
           static_cast<int>(highest >> Field::shift) <= Field::bias + most_growth;
  }

  /// Writes the leading n x n part of the inverse to `out`, contiguous, column j times power(j).
  template <class Power>
  __device__ void store(C* out, const unsigned char* order, int n, Power power) const {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int column = order[j];
      // n == N: known to the compiler in the kernels of one order
      if (n != N && column >= n) continue;
      const Real factor = power(column);
#pragma unroll
      for (int q = 0; q < R; ++q)
        if ((n == N && L * R == N && 32 % L == 0) || step[q] < n)
          out[column * n + step[q]] = scaled(tile.x[q][j], factor);
    }
  }

 private:
  unsigned key_;  ///< of the pivot
  int slot_;      ///< of the best row of this lane
  C best_;        ///< its element, or the reciprocal of that

  /// Whether the reciprocal is taken before it is known whose is the pivot. It is a short chain in fp32.
  static constexpr bool early = sizeof(Real) == 8 || N > 16;

  __device__ static int row_of(unsigned key) { return 31 - static_cast<int>(key & 31u); }

  /// Magnitude in the upper bits, 31 - row in the lower 5: the largest is the pivot. Rounding the magnitude costs less
  /// than a factor 1 + 2^-14 (fp64) in growth.
  __device__ void search(const C (&column)[R]) {
    unsigned key = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const unsigned candidate = (magnitude_word(column[q]) & ~31u) | static_cast<unsigned>(31 - Tile::row(rank, q));
      key = max(key, step[q] < 0 ? candidate : 0u);
    }
    key_ = Team<L>::max(key);
    slot_ = row_of(key) / L;
    best_ = pick(column, slot_);
    if constexpr (early) best_ = fast_reciprocal(best_);
  }

  __device__ void eliminate(int k, C (&current)[R], int owner) {
    const int slot = slot_;
    C inverse = Team<L>::broadcast(best_, owner);
    if constexpr (!early) inverse = fast_reciprocal(inverse);
    C factor[R], last[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool pivot = rank == owner && slot == q;
      if (pivot) step[q] = k;
      factor[q] = pivot ? detail::from_real<C>(Real(1)) - inverse : current[q] * inverse;
      last[q] = pivot ? inverse : -factor[q];
    }
    if constexpr (N > 1) {
      C next[R];
      tile.column(1, next);
      const C v = Team<L>::broadcast(pick(next, slot), owner);
#pragma unroll
      for (int q = 0; q < R; ++q) current[q] = fused_subtract(next[q], factor[q], v);
      search(current);
    }
#pragma unroll
    for (int j = 2; j < N; ++j) {
      C column[R];
      tile.column(j, column);
      const C v = Team<L>::broadcast(pick(column, slot), owner);
#pragma unroll
      for (int q = 0; q < R; ++q) tile.x[q][j - 1] = fused_subtract(column[q], factor[q], v);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) (N > 1 ? tile.x[q][N - 1] : current[q]) = last[q];
  }
};

}  // namespace blockjacobi::kernels
