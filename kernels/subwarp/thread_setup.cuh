#pragma once

#include "kernels/subwarp/outcome.cuh"
#include "kernels/subwarp/setup_scale.cuh"
#include "kernels/subwarp/thread_tile.cuh"

namespace blockjacobi::kernels {

/// Equilibration, inversion and condition of a block of BlockJacobi of order n <= N in the registers of one thread. The
/// fast path: it says whether it could serve the block, and writes nothing but the scales before. The condition of what
/// it serves is left to the caller.
template <class C, int N>
struct ThreadSetup {
  using Real = detail::arithmetic_real_t<C>;

  int n;
  unsigned* scales_of_lane;  ///< in shared memory: magnitude words for N rows and N columns, interleaved for 32 lanes
  ThreadTile<C, N> tile = {};
  int order[N] = {};
  ScaleRange<Real> scales = {};
  Real rcond = 0;

  /// `a`: the block, with leading dimension n | 1.
  __device__ bool run(const C* a) {
    for_each([&](int i, int j) {
      const bool inside = i < n && j < n;
      tile.x[i][j] = inside ? a[i + j * (n | 1)] : C{};
    });
    equilibrate();
    const Real norm = largest_row_sum();
    for_each([&](int i, int j) {
      // Ones on the diagonal beside the block.
      if (i == j) tile.x[i][j] = i >= n ? detail::from_real<C>(1) : tile.x[i][j];
    });
    const bool regular = tile.invert(order) == 0;
    const Real inverse_norm = largest_row_sum();
    rcond = reciprocal_condition(norm, inverse_norm);
    undo_scaling();
    return regular && scales.holds(inverse_norm);
  }

  /// Writes the inverse to `out`, n x n and packed.
  __device__ void store(C* out) const {
    for_each([&](int i, int j) {
      if (n == N || (i < n && order[j] < n)) out[i + order[j] * n] = tile.x[i][j];
    });
  }

 private:
  template <class Visit>
  __device__ static void for_each(Visit visit) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = 0; i < N; ++i) visit(i, j);
  }

  __device__ void equilibrate() {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i >= n) continue;
      unsigned word = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) word = max(word, magnitude_word(tile.x[i][j]));
      const Real factor = scales.power(word, scales.widest_row);
      scales_of_lane[i * 32] = magnitude_word(factor);
#pragma unroll
      for (int j = 0; j < N; ++j) tile.x[i][j] = scaled(tile.x[i][j], factor);
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (j >= n) continue;
      unsigned word = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) word = max(word, magnitude_word(tile.x[i][j]));
      const Real factor = scales.power(word, scales.widest_column);
      scales_of_lane[(N + j) * 32] = magnitude_word(factor);
#pragma unroll
      for (int i = 0; i < N; ++i) tile.x[i][j] = scaled(tile.x[i][j], factor);
    }
  }

  /// Infinity norm of the rows of the block.
  __device__ Real largest_row_sum() const {
    Real largest = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      Real sum = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) sum += moderate_modulus(tile.x[i][j]);
      if (i < n) largest = LargerOrNan<Real>{}(sum, largest);
    }
    return largest;
  }

  /// Element (i, j) of the inverse takes the scales of column i and row j.
  __device__ void undo_scaling() {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i >= n) continue;
      const Real of_row = power_from_word(Real(), scales_of_lane[(N + i) * 32]);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const int column = min(order[j], n - 1);
        tile.x[i][j] = scaled(tile.x[i][j], of_row * power_from_word(Real(), scales_of_lane[column * 32]));
      }
    }
  }
};

}  // namespace blockjacobi::kernels
