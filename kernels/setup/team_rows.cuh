#pragma once

#include "kernels/inverse/team_rows.cuh"
#include "kernels/setup/outcome.cuh"
#include "kernels/setup/scale.cuh"
#include "kernels/setup/tiny_block.cuh"

namespace blockjacobi::kernels {

/// Equilibration, inversion and condition of a block of BlockJacobi in the registers of a team. The fast path: it says
/// whether it could serve the block, and writes nothing but `scratch` before. The condition of what it serves is left
/// to the caller.
template <class C, int N, int L, int R>
struct RowSetup {
  using Real = detail::arithmetic_real_t<C>;
  using Tile = RowTile<C, N, L, R>;

  int n;
  int rank;
  SetupScratch<Real, N> scratch;
  // why references: an object that refers to its own members stays in memory
  Tile& tile;
  RowInverse<C, N, L, R>& elimination;
  ScaleRange<Real> scales = {};
  Real rcond = 0;

  /// `a`: the block in shared memory, with leading dimension n | 1.
  __device__ bool run(const C* a) {
    const StridedMatrix<const C> block{a, n, n | 1};
    tile.load(block, rank);
    equilibrate_rows();
    equilibrate_columns();
    const Real norm = infinity_norm();
    tile.embed(block, rank);
    const bool served = elimination.run(scratch.pivots);
    unsigned largest = 0;
    const Real inverse_norm = norm_of_inverse(a, largest);
    rcond = reciprocal_condition(norm, inverse_norm);
    Team<L>::sync();
    return served && scales.hold(norm, n, largest);
  }

  /// Writes the inverse to `out`, n x n and packed.
  __device__ void store(C* out) const {
    elimination.store(out, scratch.pivots, n, [this](int column) { return scratch.row[column]; });
  }

 private:
  static constexpr int own_columns = (N + L - 1) / L;

  __device__ Real row_sum(int q) const {
    Real sum = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) sum += moderate_modulus(tile.x[q][j]);
    return sum;
  }

  /// Whether register row q is a row of the inverse; n == N is known to the compiler in the kernels of one order.
  __device__ bool holds_row(int q) const { return (n == N && L * R == N) || elimination.step[q] < n; }

  __device__ void equilibrate_rows() {
#pragma unroll
    for (int q = 0; q < R; ++q) {
      if (Tile::row(rank, q) >= n) continue;
      float key = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) key = larger_key(key, magnitude_key(tile.x[q][j]));
      const Real factor = scales.of_row(key);
      scratch.row[Tile::row(rank, q)] = factor;
#pragma unroll
      for (int j = 0; j < N; ++j) tile.x[q][j] = scaled(tile.x[q][j], factor);
    }
    scales.widest_row = static_cast<int>(Team<L>::max(static_cast<unsigned>(scales.widest_row)));
  }

  /// Each lane finds the powers of some columns: half of the columns at every exchange of maxima, which needs a third
  /// of the exchanges that all maxima in all lanes take.
  __device__ void equilibrate_columns() {
    float key[own_columns * L];
#pragma unroll
    for (int j = 0; j < own_columns * L; ++j) {
      key[j] = 0;
      if (j >= N) continue;
#pragma unroll
      for (int q = 0; q < R; ++q) key[j] = larger_key(key[j], magnitude_key(tile.x[q][j]));
    }
    scatter_maxima<L / 2, own_columns * L / 2>(key);
#pragma unroll
    for (int t = 0; t < own_columns; ++t) {
      const int j = rank * own_columns + t;
      if (j < N) scratch.column[j] = j < n ? scales.of_column(key[t]) : Real(1);
    }
    constexpr unsigned none = ScaleRange<Real>::Field::top;
    const unsigned widest = Team<L>::max(scales.ordinary ? static_cast<unsigned>(scales.widest_column) : none);
    scales.ordinary = widest < none;
    scales.widest_column = static_cast<int>(widest);
    Team<L>::sync();
  }

  /// The first half of the keys, or the second, to the lanes below and above `distance`.
  template <int distance, int width, int count>
  __device__ void scatter_maxima(float (&key)[count]) const {
    const bool upper = (rank & distance) != 0;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const float sent = upper ? key[j] : key[j + width], kept = upper ? key[j + width] : key[j];
      key[j] = larger_key(kept, Team<L>::exchange(sent, distance));
    }
    if constexpr (distance > 1) scatter_maxima<distance / 2, width / 2>(key);
  }

  /// Of the rows as scaled, with the powers of the columns.
  __device__ Real infinity_norm() const {
    Real sum[R] = {};
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const Real power = scratch.column[j];
#pragma unroll
      for (int q = 0; q < R; ++q) sum[q] += moderate_modulus(tile.x[q][j]) * power;
    }
    Real largest = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) largest = LargerOrNan<Real>{}(sum[q], largest);
    return Team<L>::reduce(largest, LargerOrNan<Real>{});
  }

  /// The same of the inverse; `word` becomes the magnitude word of the largest row sum before the powers, or one that
  /// tells that the powers do not serve.
  __device__ Real norm_of_inverse(const C* a, unsigned& word) const {
    const bool alike = scales.alike();
    Real largest = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const Real sum = row_sum(q);
      // Rows and columns of the identity beside the block add ones on its diagonal only.
      if (!holds_row(q)) continue;
      const int k = elimination.step[q], i = Tile::row(rank, q);
      const Real power = scratch.column[k];
      word = max(word, magnitude_word(sum));
      const auto word_of = [this](int l) {
        return ScaleRange<Real>::word_of(magnitude_word(scratch.row[l]), scratch.column[l]);
      };
      if (!alike && ScaleRange<Real>::misleads(word_of(i), word_of(k), a[k + i * (n | 1)]))
        word = ScaleRange<Real>::unfit;
      largest = LargerOrNan<Real>{}(sum * ScaleRange<Real>::reciprocal(power), largest);
    }
    word = Team<L>::max(word);
    return Team<L>::reduce(largest, LargerOrNan<Real>{});
  }
};

}  // namespace blockjacobi::kernels
