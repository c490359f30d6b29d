#pragma once

#include "kernels/lu/team_panels_tile.cuh"
#include "kernels/lu/team_rows.cuh"

namespace blockjacobi::kernels {

/// LU factorization with exactly LAPACK's pivots of a matrix in a PaneledTile, by panels of 8 columns. The fast path:
/// it says if a pivot was zero, NaN, or out of the range of fast_reciprocal.
///
/// A panel is factored by rows in the registers, where its few columns leave room for many rows a lane and the search
/// for the pivot needs few exchanges. Then each lane takes columns of its own to the right, interchanges their rows,
/// solves with the unit triangle of the panel and subtracts the product, for a few rows at a time: multipliers come as
/// wide reads of shared memory that serve all columns of the team. Shared memory, not registers, bounds the number of
/// matrices that a multiprocessor has at hand, so that registers are plentiful.
template <class C, int N, int L, int P>
class PaneledLu {
 public:
  using Tile = PaneledTile<C, N, L>;

  __device__ PaneledLu(const Tile& tile, int rank) : tile_(tile), rank_(rank) {}

  /// tile.pivots[k] becomes the 0-based row that was interchanged with row k. Returns whether the matrix could be
  /// served.
  __device__ bool run() {
    panel<0>();
    return range_.served<C>();
  }

 private:
  static constexpr int ld = Tile::ld, vector = Tile::vector, width = Tile::panel;
  static_assert(L >= width);
  using Vector = Vector16<C>;

  const Tile tile_;
  int rank_;
  PivotRange range_;

  template <int first>
  __device__ void panel() {
    constexpr int W = N - first < width ? N - first : width;
    factor_panel<first, W>();
    Team<L>::sync();
    const auto source = RowList::read(tile_.source), target = RowList::read(tile_.target);
#pragma unroll
    for (int group = 0; group < first; group += L) {
      if (group + L > first && group + rank_ >= first) continue;
      C* const column = tile_.a + (group + rank_) * ld;
      RowVector<C, W> rows;
      exchange_rows(column, first, source, target, rows);
      rows.store(column + first);
    }
    if constexpr (first + W < N) {
      constexpr int right = first + W;
      // The others have no column.
      if (right + L <= N || right + rank_ < N) update<first>(source, target);
      Team<L>::sync();
      panel<right>();
    }
  }

  /// The panel of the columns from `first` on, with its rows at their places, and the lists that say how rows moved.
  template <int first, int W>
  __device__ void factor_panel() {
    constexpr int M = N - first, R = (M + L - 1) / L;
    C* const corner = tile_.a + first + first * ld;
    C x[R][W];
#pragma unroll
    for (int j = 0; j < W; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q)
        x[q][j] = (q + 1) * L <= M || q * L + rank_ < M ? corner[q * L + rank_ + j * ld] : C{};
    RowLu<C, M, W, L, R, (P < W ? P : W)> panel(x, rank_, range_);
    panel.run(tile_.pivots + first, first);
    Team<L>::sync();
    if (rank_ < W) tile_.target[rank_] = static_cast<unsigned char>(first + panel.place[0]);
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int place = panel.place[q];
      if (place < 0) continue;
      if (place < W) tile_.source[place] = static_cast<unsigned char>(first + q * L + rank_);
#pragma unroll
      for (int j = 0; j < W; ++j) corner[place + panel.column_of(j) * ld] = x[q][j];
    }
  }

  /// The columns of this lane to the right of the panel.
  template <int first>
  __device__ void update(RowList source, RowList target) {
    constexpr int right = first + width, columns = (N - right + L - 1) / L;
    C* column[columns];
    RowVector<C, width> u[columns] = {};
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int j = right + c * L + rank_;
      const bool exists = c == 0 || j < N;
      // A lane with one column less computes its first one again, without a trace.
      column[c] = tile_.a + (exists ? j : right + rank_) * ld;
      if (exists) exchange_rows(column[c], first, source, target, u[c]);
    }
#pragma unroll
    for (int s = 0; s < width; ++s)
#pragma unroll
      for (int r = s + 1; r < width; ++r) {
        const C multiplier = tile_.a[first + r + (first + s) * ld];
#pragma unroll
        for (int c = 0; c < columns; ++c) u[c].value[r] = fused_subtract(u[c].value[r], multiplier, u[c].value[s]);
      }
#pragma unroll
    for (int c = 0; c < columns; ++c)
      if (c == 0 || right + c * L + rank_ < N) u[c].store(column[c] + first);

    // Vectors of rows at a time: enough sums to fill the pipe.
    constexpr int whole = (N - right + vector - 1) / vector, many = columns < 3 ? 2 : 1;
#pragma unroll 1
    for (int i = 0; i < whole / many; ++i) subtract<first, many>(right + i * many * vector, column, u);
    if constexpr (whole % many != 0) subtract<first, whole % many>(right + whole / many * many * vector, column, u);
  }

  /// Subtracts from `Vectors` vectors of rows at row i the product of the panel and u.
  template <int first, int Vectors, int columns>
  __device__ void subtract(int i, C* const (&column)[columns], const RowVector<C, width> (&u)[columns]) {
    Vector sum[Vectors][columns];
#pragma unroll
    for (int g = 0; g < Vectors; ++g)
#pragma unroll
      for (int c = 0; c < columns; ++c) sum[g][c] = *reinterpret_cast<const Vector*>(column[c] + i + g * vector);
#pragma unroll
    for (int s = 0; s < width; ++s)
#pragma unroll
      for (int g = 0; g < Vectors; ++g) {
        const auto multiplier = *reinterpret_cast<const Vector*>(tile_.a + i + g * vector + (first + s) * ld);
#pragma unroll
        for (int c = 0; c < columns; ++c)
#pragma unroll
          for (int v = 0; v < vector; ++v)
            sum[g][c].value[v] = fused_subtract(sum[g][c].value[v], multiplier.value[v], u[c].value[s]);
      }
#pragma unroll
    for (int g = 0; g < Vectors; ++g)
#pragma unroll
      for (int c = 0; c < columns; ++c)
        if (c == 0 || first + width + c * L + rank_ < N)
          *reinterpret_cast<Vector*>(column[c] + i + g * vector) = sum[g][c];
  }
};

}  // namespace blockjacobi::kernels
