#pragma once

#include "kernels/subwarp/careful_setup.cuh"
#include "kernels/subwarp/row_inverse.cuh"
#include "kernels/subwarp/setup_scale.cuh"

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
    const Real norm = largest_row_sum([this](int q) { return Tile::row(rank, q) < n; });
    tile.embed(block, rank);
    const bool served = elimination.run(scratch.pivots);
    // Rows and columns of the identity beside the block add ones on its diagonal only.
    const Real inverse_norm = largest_row_sum([this](int q) { return holds_row(q); });
    rcond = reciprocal_condition(norm, inverse_norm);
    Team<L>::sync();
    undo_scaling();
    return served && scales.holds(inverse_norm);
  }

  /// Writes the inverse to `out`, n x n and packed.
  __device__ void store(C* out) const { elimination.store(out, scratch.pivots, n, Real(1)); }

 private:
  /// Whether register row q is a row of the inverse; n == N is known to the compiler in the kernels of one order.
  __device__ bool holds_row(int q) const { return (n == N && L * R == N) || elimination.step[q] < n; }

  __device__ void equilibrate_rows() {
#pragma unroll
    for (int q = 0; q < R; ++q) {
      if (Tile::row(rank, q) >= n) continue;
      unsigned word = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) word = max(word, magnitude_word(tile.x[q][j]));
      const Real factor = scales.power(word, scales.widest_row);
      scratch.row[Tile::row(rank, q)] = factor;
#pragma unroll
      for (int j = 0; j < N; ++j) tile.x[q][j] = scaled(tile.x[q][j], factor);
    }
    scales.widest_row = static_cast<int>(Team<L>::max(static_cast<unsigned>(scales.widest_row)));
    scales.ordinary = Team<L>::max(scales.ordinary ? 0u : 1u) == 0;
  }

  __device__ void equilibrate_columns() {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      unsigned word = 0;
#pragma unroll
      for (int q = 0; q < R; ++q) word = max(word, magnitude_word(tile.x[q][j]));
      word = Team<L>::max(word);  // by all lanes
      if (j >= n) continue;
      const Real factor = scales.power(word, scales.widest_column);
      if (rank == 0) scratch.column[j] = factor;
#pragma unroll
      for (int q = 0; q < R; ++q) tile.x[q][j] = scaled(tile.x[q][j], factor);
    }
  }

  /// Infinity norm of the rows that `counts` admits.
  template <class Counts>
  __device__ Real largest_row_sum(Counts counts) const {
    Real largest = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      Real sum = 0;
#pragma unroll
      for (int j = 0; j < N; ++j) sum += moderate_modulus(tile.x[q][j]);
      if (counts(q)) largest = LargerOrNan<Real>{}(sum, largest);
    }
    return Team<L>::reduce(largest, LargerOrNan<Real>{});
  }

  /// Element (i, j) of the inverse takes the scales of column i and row j.
  __device__ void undo_scaling() {
    Real of_row[R];
#pragma unroll
    for (int q = 0; q < R; ++q) of_row[q] = holds_row(q) ? scratch.column[elimination.step[q]] : Real(0);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int column = scratch.pivots[j];
      const Real of_column = n == N || column < n ? scratch.row[column] : Real(0);
#pragma unroll
      for (int q = 0; q < R; ++q) tile.x[q][j] = scaled(tile.x[q][j], of_row[q] * of_column);
    }
  }
};

}  // namespace blockjacobi::kernels
