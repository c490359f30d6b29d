#pragma once

#include "kernels/collectives/update_tile.cuh"
#include "kernels/lu/pivot_offer.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of the `rows` x `columns` matrix a, columns <= rows <= 32 R, in shared memory
/// by a thread block (one-dimensional, whole warps), right-looking by panels of 8 columns.
///
/// A panel is eliminated in the registers of the first warp, R rows a lane, without a barrier of all and while the
/// others still update what is right of the panel. Then all warps interchange the rows of the other columns and solve
/// for the rows of U, a column a thread, and subtract the product of both from what is right of the panel and below, by
/// tiles.
template <class C, int R>
struct CtaPanelLu {
  static constexpr int width = 8;
  using Tile = UpdateTile<C, width>;
  using Real = detail::arithmetic_real_t<C>;

  /// The row of a step's pivot, from the pivot on.
  struct alignas(16) Candidate {
    C row[width];
    C inverse;  ///< of the pivot times power; 0 if it is 0
    Real power;
    int position;
  };
  /// How a panel moved rows: where those that are its first now were, and where those that were its first are.
  struct alignas(16) Moves {
    int source[width], target[width];
  };

  int rows, columns, ld;
  C* a;
  Candidate* candidates;  ///< candidate_count
  Moves* moves;
  int* pivots;  ///< of `columns`: the position that step k exchanged with position k
  int* info;    ///< becomes the first step whose pivot is zero (from 1), if it was 0

  /// Of what a lies in: a multiple of 8 rows and columns, of which those behind the matrix need no values.
  __host__ __device__ static constexpr int padded(int n) { return (n + width - 1) / width * width; }
  __host__ __device__ static constexpr int leading_dimension(int n) {
    return sizeof(C) == 8 ? padded(n) + 4 : sizeof(C) == 4 ? padded(n) + 2 : padded(n) | 1;
  }
  static constexpr int candidate_count = 2;  // of two steps

  /// A barrier must come before and after.
  __device__ void run() const {
#pragma unroll 1
    for (int first = 0; first < columns; first += width) {
      const bool alone = warps() > 1;  // then the first warp updates no more than it needs
      if (first > 0) {
        if (alone && warp() == 0)
          update(first - width, first, first + width, 0, 1);
        else
          update(first - width, alone ? first + width : first, columns, warp() - alone, warps() - alone);
      }
      if (warp() == 0) eliminate<R>(first);
      __syncthreads();
      solve(first);
      __syncthreads();
    }
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int warps() { return threads() / 32; }
  __device__ C& at(int i, int j) const { return a[i + j * ld]; }

 private:
  /// Rows of a panel in registers, 32 apart.
  template <int Q>
  struct Panel {
    C x[Q][width];
    int row[Q];
    int position[Q];  ///< -1 if there is no row
  };

  /// The panel from `first` with as few rows a lane as do.
  template <int Q>
  __device__ void eliminate(int first) const {
    if constexpr (Q > 1)
      if (rows - first <= 32 * (Q - 1)) return eliminate<Q - 1>(first);
    __syncwarp();
    Panel<Q> panel;
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const int row = first + 32 * q + lane();
      panel.row[q] = row;
      panel.position[q] = row < rows ? row : -1;
#pragma unroll
      for (int c = 0; c < width; ++c) panel.x[q][c] = row < rows ? at(row, first + c) : C{};
    }
    const int count = min(width, columns - first);
    eliminate_columns<width>(first, 0, min(width / 2, count), panel);
    eliminate_columns<width / 2>(first, width / 2, count, panel);
    move_rows(first, count, panel);
  }

  /// Columns begin..end - 1 of the panel, of which the registers hold Live from `begin` on. The loop stays rolled,
  /// since its code would not stay in the instruction cache: a step reads register c and writes register c - 1.
  template <int Live, int Q>
  __device__ void eliminate_columns(int first, int begin, int end, Panel<Q>& panel) const {
    auto& x = panel.x;
    auto& position = panel.position;
#pragma unroll 1
    for (int column = begin; column < end; ++column) {
      const int step = first + column;
      PivotOffer best = offer(x[0][0], position[0], step, 0);
      C value = x[0][0];
#pragma unroll
      for (int q = 1; q < Q; ++q) {
        const PivotOffer next = offer(x[q][0], position[q], step, q);
        const bool better = next.beats(best);
        best = better ? next : best;
        value = better ? x[q][0] : value;
      }
      const Divisor<C> divisor(value);
      Candidate& chosen = candidates[column % 2];
      if (is_best_of_warp(best)) {
#pragma unroll
        for (int q = 0; q < Q; ++q)
          if (best.warp == q) Rows<C, width>::template write<Live>(chosen.row, x[q]);
        chosen.inverse = best.is_zero() ? C{} : divisor.inverse;
        chosen.power = divisor.power;
        chosen.position = static_cast<int>(best.position);
        note(best, step);
      }
      __syncwarp();
      const C inverse = chosen.inverse;
      const Real power = chosen.power;
      const int p = chosen.position;
      C factor[Q];
#pragma unroll
      for (int q = 0; q < Q; ++q) {
        position[q] = position[q] == p ? step : position[q] == step ? p : position[q];
        const bool below = position[q] > step;
        factor[q] = below ? scaled(x[q][0], power) * inverse : C{};
        if (q + 1 < Q || position[q] >= 0) at(panel.row[q], step) = below ? factor[q] : x[q][0];
      }
      constexpr int size = Vector16<C>::size;
#pragma unroll
      for (int v = 0; v < Live; v += size) {
        const auto part = *reinterpret_cast<const Vector16<C>*>(chosen.row + v);
#pragma unroll
        for (int c = v; c < v + size; ++c)
#pragma unroll
          for (int q = 0; q < Q; ++q)
            if (c > 0) x[q][c - 1] = fused_subtract(x[q][c], factor[q], part.value[c - v]);
      }
    }
  }

  /// Rows at positions from `step` on may become the pivot; one does. `q` stands where other kernels have a warp.
  __device__ static PivotOffer offer(C x, int position, int step, int q) {
    const PivotOffer own = pivot_offer(magnitude(x), position, q);
    const PivotOffer none = PivotOffer::none(static_cast<unsigned>(32 * q + lane()));
    const bool candidate = position >= step;
    return {candidate ? own.high : none.high, candidate ? own.low : none.low, candidate ? own.position : none.position,
            q};
  }
  /// |x|_1, but for the sign.
  __device__ static Real magnitude(C x) {
    if constexpr (detail::Arithmetic<C>::is_complex)
      return detail::abs1(x);
    else
      return x;
  }

  __device__ void note(const PivotOffer& pivot, int step) const {
    pivots[step] = static_cast<int>(pivot.position);
    if (pivot.is_zero() && *info == 0) *info = step + 1;
  }

  /// The rows of the eliminated panel to their positions, and the lists for the other columns.
  template <int Q>
  __device__ void move_rows(int first, int count, Panel<Q>& panel) const {
    auto& x = panel.x;
    if (lane() < width) {
      moves->target[lane()] = panel.position[0] >= 0 ? panel.position[0] : first + lane();
      if (lane() >= count) moves->source[lane()] = first + lane();
    }
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const int position = panel.position[q];
      if (position >= 0 && position < first + count) moves->source[position - first] = panel.row[q];
      if (position >= 0 && position != panel.row[q])
#pragma unroll
        for (int c = 0; c < width; ++c) x[q][c] = at(panel.row[q], first + c);
    }
    __syncwarp();
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const int position = panel.position[q];
      if (position >= 0 && position != panel.row[q])
#pragma unroll
        for (int c = 0; c < width; ++c) at(position, first + c) = x[q][c];
    }
  }

  /// Interchanges the rows of the other columns; the first become rows of U right of the panel. A column a thread.
  __device__ void solve(int first) const {
#pragma unroll 1
    for (int e = thread(); e < columns; e += threads()) {
      if (e >= first && e < first + width) continue;
      C* const column = &at(0, e);
      C top[width];
      interchange(column, first, top);
      if (e > first) {
#pragma unroll
        for (int s = 0; s < width; ++s)
#pragma unroll
          for (int i = s + 1; i < width; ++i) top[i] = fused_subtract(top[i], at(first + i, first + s), top[s]);
      }
#pragma unroll
      for (int i = 0; i < width; ++i) column[first + i] = top[i];
    }
  }

  /// Rows that are not the first go to their places.
  __device__ void interchange(C* column, int first, C (&top)[width]) const {
    C leaving[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      top[i] = column[moves->source[i]];
      leaving[i] = column[first + i];
    }
#pragma unroll
    for (int i = 0; i < width; ++i) column[moves->target[i]] = leaving[i];
  }
  /// The columns begin..end - 1 below the panel, in tiles of 32 rows and 8 columns, shared among warps.
  __device__ void update(int first, int begin, int end, int rank, int warp_count) const {
    if (begin >= end) return;
    const int across = min((end - begin + width - 1) / width, warp_count), down = warp_count / across;
    if (rank >= across * down) return;
    constexpr int parts = width / Tile::depth;
    const int height = padded(rows);
#pragma unroll 1
    for (int i = first + width + rank / across * 32; i < height; i += 32 * down) {
      C* const own = a + i + Tile::row(0);
      int row[Tile::rows];
#pragma unroll
      for (int r = 0; r < Tile::rows; ++r) row[r] = min(8 * r, height - 8 - i);
      const int groups = (height - i) / 8;  // of 8 rows
      typename Tile::Left left[parts];
      const auto load_left = [&](int m) {
        const C* const panel = own + (first + m * Tile::depth) * ld;
        return Tile::load_left([=, this](int k, int c) { return -panel[k + c * ld]; }, row);
      };
#pragma unroll
      for (int m = 0; m < parts && Tile::keeps_left; ++m) left[m] = load_left(m);
#pragma unroll 1
      for (int j = begin + rank % across * width; j < end; j += width * across) {
        Tile tile;
        C* const top = own + j * ld;
        const C* const u = &at(first, j);
        tile.for_each([&](int r, int c, C& x) { x = r < groups ? top[8 * r + c * ld] : C{}; });
#pragma unroll
        for (int m = 0; m < parts; ++m) {
          if constexpr (!Tile::keeps_left) left[m] = load_left(m);
          tile.add_from(left[m], [&](int k, int c) { return u[m * Tile::depth + k + c * ld]; });
        }
        tile.for_each([&](int r, int c, C& x) {
          if (r < groups) top[8 * r + c * ld] = x;
        });
      }
    }
  }
};

}  // namespace blockjacobi::kernels
