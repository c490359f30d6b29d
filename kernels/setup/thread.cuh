#pragma once

#include "kernels/lu/thread.cuh"
#include "kernels/setup/outcome.cuh"
#include "kernels/setup/scale.cuh"

namespace blockjacobi::kernels {

/// Equilibration, inversion and condition of a block of BlockJacobi of order n <= N in the registers of one thread. The
/// fast path: it says whether it could serve the block, and writes nothing but the powers before. The condition of what
/// it serves is left to the caller.
template <class C, int N>
struct ThreadSetup {
  using Real = detail::arithmetic_real_t<C>;

  int n;
  unsigned* powers;  ///< in shared memory: of rows and columns, in the words of ScaleRange, interleaved for 32 lanes
  ThreadTile<C, N> tile = {};
  int order[N] = {};
  Real column_power[N] = {};
  ScaleRange<Real> scales = {};
  Real rcond = 0;

  /// `a`: the block, with leading dimension n | 1.
  __device__ bool run(const C* a) {
    for_each([&](int i, int j) {
      const bool inside = i < n && j < n;
      tile.x[i][j] = inside ? a[i + j * (n | 1)] : C{};
    });
    equilibrate_rows();
    const Real norm = infinity_norm();
    for_each([&](int i, int j) {
      // Ones on the diagonal beside the block.
      if (i == j) tile.x[i][j] = i >= n ? detail::from_real<C>(1) : tile.x[i][j];
    });
    const bool regular = tile.invert(order) == 0;
    unsigned largest = 0;
    rcond = reciprocal_condition(norm, norm_of_inverse(a, largest));
    return regular && scales.hold(norm, n, largest);
  }

  /// Writes the inverse to `out`, n x n and packed.
  __device__ void store(C* out) const {
    for_each([&](int i, int j) {
      if (n == N || (i < n && order[j] < n)) out[i + order[j] * n] = scaled(tile.x[i][j], row_power(order[j]));
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

  __device__ Real row_sum(int i) const {
    Real sum = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) sum += moderate_modulus(tile.x[i][j]);
    return sum;
  }

  __device__ Real row_power(int i) const { return ScaleRange<Real>::row_of(powers[i * 32]); }

  __device__ void equilibrate_rows() {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i >= n) continue;
      float key = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) key = larger_key(key, magnitude_key(tile.x[i][j]));
      const Real factor = scales.of_row(key);
      powers[i * 32] = magnitude_word(factor);
#pragma unroll
      for (int j = 0; j < N; ++j) tile.x[i][j] = scaled(tile.x[i][j], factor);
    }
  }

  /// Of the rows as scaled, with the powers of the columns.
  __device__ Real infinity_norm() {
    Real sum[N] = {};
#pragma unroll
    for (int j = 0; j < N; ++j) {
      float key = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) key = larger_key(key, magnitude_key(tile.x[i][j]));
      column_power[j] = j < n ? scales.of_column(key) : Real(1);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += moderate_modulus(tile.x[i][j]) * column_power[j];
    }
    Real largest = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) largest = LargerOrNan<Real>{}(sum[i], largest);
    return largest;
  }

  /// The same of the inverse; `word` becomes the magnitude word of the largest row sum before the powers, or one that
  /// tells that the powers do not serve.
  __device__ Real norm_of_inverse(const C* a, unsigned& word) const {
    Real largest = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i >= n) continue;
      const Real sum = row_sum(i);
      word = max(word, magnitude_word(sum));
      largest = LargerOrNan<Real>{}(sum * ScaleRange<Real>::reciprocal(column_power[i]), largest);
    }
    // One branch for all rows, behind the sums: few blocks take it.
    if (N > 1 && !scales.alike() && misleads(a)) word = ScaleRange<Real>::unfit;
    return largest;
  }

  /// Whether the powers mislead about the pivot of a row.
  __device__ bool misleads(const C* a) const {
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j < n) powers[j * 32] = ScaleRange<Real>::word_of(powers[j * 32], column_power[j]);
    bool any = false;
#pragma unroll
    for (int i = 0; i < N; ++i)
      any = any ||
            (i < n && ScaleRange<Real>::misleads(powers[order[i] * 32], powers[i * 32], a[i + order[i] * (n | 1)]));
    return any;
  }
};

}  // namespace blockjacobi::kernels
