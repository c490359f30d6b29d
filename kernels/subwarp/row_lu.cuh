#pragma once

#include "kernels/subwarp/row_tile.cuh"

namespace blockjacobi::kernels {

/// LU factorization with exactly LAPACK's pivots of a matrix in a RowTile; rows stay where they are and remember their
/// place (lazy swap). The fast path: it says if a pivot was zero, NaN, or out of the range of fast_reciprocal. The
/// search for the next pivot runs beside the update of the remaining columns.
///
/// The steps go in phases of P columns with a loop that is not unrolled over each phase. Within a phase every step
/// reads register j and writes register j - 1, with the finished column going to the end; the next phase works on P
/// registers less.
template <class C, int N, int L, int R, int P>
struct RowLu {
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;
  using Tile = RowTile<C, N, L, R>;

  Tile& tile;
  int rank;
  int place[R];  ///< row of P A in which the row stands; -1 for rows that do not exist

  __device__ RowLu(Tile& tile_, int rank_) : tile(tile_), rank(rank_) {
#pragma unroll
    for (int q = 0; q < R; ++q) place[q] = Tile::row(rank, q) < N ? Tile::row(rank, q) : -1;
  }

  /// `interchanges`: N bytes of shared memory; [k] becomes the 0-based row that was interchanged with row k. Returns
  /// whether the matrix could be served.
  __device__ bool run(unsigned char* interchanges) {
    tile.column(0, current_);
    search(0);
    phase<N>(interchanges);
#pragma unroll
    for (int q = 0; q < R; ++q) tile.x[q][0] = current_[q];
    return static_cast<int>(lowest_ >> Field::shift) >= least_fast_exponent<C> &&
           static_cast<int>(highest_ >> Field::shift) <= 2 * Field::bias - least_fast_exponent<C>;
  }

  /// Writes the leading n x n part of the factors to `out`, packed.
  __device__ void store(C* out, int n) const {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (column_of(j) >= n) continue;
#pragma unroll
      for (int q = 0; q < R; ++q)
        if (place[q] >= 0 && place[q] < n) out[column_of(j) * n + place[q]] = tile.x[q][j];
    }
  }

 private:
  C current_[R];  ///< register 0 of the rows, the column whose pivot is known
  Real best_;
  int candidate_;  ///< place and row of the pivot, 32 * place + row
  unsigned lowest_ = ~0u, highest_ = 0;

  /// The column that register j holds in the end: phase t left its P columns at N - P (t + 1) and behind.
  __device__ static constexpr int column_of(int j) {
    const int t = (N - 1 - j) / P;
    return t * P + P <= N ? t * P + j - (N - P * (t + 1)) : t * P + j;
  }

  /// The pivot of step k: the largest |Re| + |Im|, the first place of equals. NaN loses; best_ < 0 if there is nothing
  /// else.
  __device__ void search(int k) {
    best_ = Real(-1);
    candidate_ = 32 * N;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const Real magnitude = detail::abs1(current_[q]);
      if (place[q] >= k) challenge(magnitude, 32 * place[q] + Tile::row(rank, q));
    }
#pragma unroll
    for (int distance = L / 2; distance > 0; distance /= 2) {
      const Real magnitude = Team<L>::exchange(best_, distance);
      challenge(magnitude, Team<L>::exchange(candidate_, distance));
    }
  }

  __device__ void challenge(Real magnitude, int candidate) {
    if (magnitude > best_ || (magnitude == best_ && candidate < candidate_)) {
      best_ = magnitude;
      candidate_ = candidate;
    }
  }

  /// The steps on the last W columns, which are in registers 0 .. W - 1.
  template <int W>
  __device__ void phase(unsigned char* interchanges) {
    constexpr int steps = W < P ? W : P;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) step<W, steps>(i, interchanges);
    if constexpr (W > P) phase<W - P>(interchanges);
  }

  template <int W, int steps>
  __device__ void step(int i, unsigned char* interchanges) {
    const int k = N - W + i;
    const int owner = candidate_ % 32 % L, slot = candidate_ % 32 / L, old_place = candidate_ / 32;
    if (rank == 0) interchanges[k] = static_cast<unsigned char>(old_place);
    // With its sign: -1, for want of a pivot, is above all magnitudes.
    lowest_ = min(lowest_, sign_and_magnitude_word(best_));
    highest_ = max(highest_, sign_and_magnitude_word(best_));
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int moved = place[q] == k ? old_place : place[q];
      place[q] = rank == owner && slot == q ? k : moved;
    }
    C multiplier[R], finished[R];
    divide_column(k, Team<L>::broadcast(pick(current_, slot), owner), multiplier, finished);

    // Registers W - i .. W - 1 hold finished columns: they move, but are not updated.
    const auto pivot_row = [&](int j) {
      C column[R];
      tile.column(j, column);
      const C v = Team<L>::broadcast(pick(column, slot), owner);
      return j >= W - steps + 1 && j >= W - i ? C{} : v;
    };
    if constexpr (W > 1) {
      const C v = pivot_row(1);
#pragma unroll
      for (int q = 0; q < R; ++q) current_[q] = fused_subtract(tile.x[q][1], multiplier[q], v);
      search(k + 1);
    }
#pragma unroll
    for (int j = 2; j < W; ++j) {
      const C v = pivot_row(j);
#pragma unroll
      for (int q = 0; q < R; ++q) tile.x[q][j - 1] = fused_subtract(tile.x[q][j], multiplier[q], v);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) (W > 1 ? tile.x[q][W - 1] : current_[q]) = finished[q];
  }

  /// Multipliers of the rows below place k, zero for the others; `finished` is the column as it stays.
  __device__ void divide_column(int k, C pivot, C (&multiplier)[R], C (&finished)[R]) const {
    const C inverse = fast_reciprocal(pivot);
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool below = place[q] > k;
      const C quotient = current_[q] * inverse;
      multiplier[q] = below ? quotient : C{};
      finished[q] = below ? quotient : current_[q];
    }
  }
};

}  // namespace blockjacobi::kernels
