#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/panel.cuh"
#include "kernels/block/update_tile.cuh"
#include "kernels/subwarp/extract.cuh"
#include "kernels/subwarp/team.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// What BlockGaussJordan has in shared memory, for matrices of order n.
template <class C, int W, int R>
struct GaussJordanLayout {
  using Tile = UpdateTile<C, W>;

  int ld;              ///< of the panel
  int panel_columns;   ///< a multiple of W, or of at least n columns
  int staged_columns;  ///< of matrix columns outside the panel, a multiple of W
  int panel, staged;   ///< elements
  int warps;           ///< of the thread block

  /// Threads that have all rows.
  __host__ __device__ static constexpr int threads(int n) { return 32 * ((n + 32 * R - 1) / (32 * R)); }

  /// `columns` of a panel in shared memory, a multiple of W; it has the whole matrix if that is at least n.
  __host__ __device__ static constexpr GaussJordanLayout of(int n, int threads, int columns, int staged_columns) {
    const int rounded = (n + W - 1) / W * W;
    const int panel_columns = columns < rounded ? columns : rounded;
    const int ld = Tile::conflict_free_ld(n);
    const int inner = W * Tile::conflict_free_stride(panel_columns);
    const int outer = panel_columns < n ? panel_columns * Tile::conflict_free_stride(staged_columns) : 0;
    const int staged = ((inner > outer ? inner : outer) + 1) / 2 * 2;
    return {ld, panel_columns, staged_columns, (ld * panel_columns + 3) / 4 * 4, (staged + 3) / 4 * 4, threads / 32};
  }
};

/// Inverse of one n x n matrix by blocked Gauss-Jordan elimination with partial pivoting, by a thread block
/// (one-dimensional, at least Layout::threads(n)) in which each warp has R x 32 rows, each thread R of them.
///
/// `panel_columns` of the matrix, all of them if they fit, lie in shared memory and are eliminated there by inner
/// panels of W columns, of which each thread has its rows in registers. That leaves in a panel the columns of the
/// transformation T that its steps amount to, T = I elsewhere: with K = the pivot rows, B = what they held and P = the
/// panel all other columns take one product,
///   a(i, j) = (i in K ? 0 : a(i, j)) + sum_l P(i, l) B(l, j),
/// within the panel in shared memory after each inner panel, outside of it in global memory after the whole one.
///
/// Rows stay where they are: step k has pivot row p(k). At the end X(i, p(l)) = a(p(i), l).
template <class C, int W, int R>
struct BlockGaussJordan {
  using Layout = GaussJordanLayout<C, W, R>;
  using Tile = UpdateTile<C, W>;
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int not_yet = INT_MAX;
  static constexpr unsigned warp_rows = 32 * R;

  /// A warp's best row of the panel at work, the element that may be the pivot first.
  struct alignas(16) Offer {
    C row[W];
    C inverse;  ///< of the pivot times power
    Real power;
  };

  int n;
  Layout layout;
  C* panel;
  C* staged;
  Offer* offers;    ///< 2 x warps
  unsigned* keys;   ///< 2 x warps
  int* pivot_row;   ///< n: p(k)
  int* step_of;     ///< n: the step whose pivot row it is, or not_yet
  int* non_finite;  ///< whether the matrix had NaN or Inf

  __host__ __device__ static constexpr std::size_t bytes(int n, const Layout& layout) {
    const auto warps = static_cast<std::size_t>(layout.warps), order = static_cast<std::size_t>(n);
    return static_cast<std::size_t>(layout.panel + layout.staged) * sizeof(C) +
           2 * warps * (sizeof(Offer) + sizeof(unsigned)) + (2 * order + 1) * sizeof(int);
  }

  __device__ BlockGaussJordan(unsigned char* shared, int n_, const Layout& layout_) : n(n_), layout(layout_) {
    panel = reinterpret_cast<C*>(shared);
    staged = panel + layout.panel;
    offers = reinterpret_cast<Offer*>(staged + layout.staged);
    keys = reinterpret_cast<unsigned*>(offers + 2 * warps());
    pivot_row = reinterpret_cast<int*>(keys + 2 * warps());
    step_of = pivot_row + n;
    non_finite = step_of + n;
  }

  /// What became of a matrix: info as LAPACK's getrf, and whether there is an inverse.
  struct Outcome {
    int info;
    bool regular;
  };

  /// `target` may be `source`; it is undefined if the outcome is not regular. Uniform in the thread block.
  __device__ Outcome run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    for_each_row([&](int i) { step_of[i] = not_yet; });
    if (thread() == 0) *non_finite = 0;
    const int columns = min(layout.panel_columns, n);
#pragma unroll 1
    for (int first = 0; first < n; first += columns) {
      const int width = min(columns, n - first);
      const detail::MatrixRef<const C> current = first == 0 ? source : as_const(target);
      load_panel(current, first, width);
      const int info = eliminate_panel(first, width);
      __syncthreads();
      if (info != 0 || *non_finite != 0) return {info, false};
      if (columns < n) {
        const bool last = first + width == n;
        update_outside(current, target, first, width, last);
        store_panel(target, first, width, last);
        __syncthreads();
      }
    }
    if (columns == n)
      write_permuted(target);
    else
      permute_columns(target);
    return {0, true};
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ int warps() const { return layout.warps; }
  __device__ int threads() const { return 32 * layout.warps; }
  /// The first of the 32 rows of part r of this warp.
  __device__ static int first_row(int r) { return 32 * (R * warp() + r); }
  __device__ C& at(int i, int c) const { return panel[i + c * layout.ld]; }
  __device__ Panel<C, int> columns_from(int c) const { return {panel + c * layout.ld, layout.ld}; }
  /// visit(row) for the rows of this thread.
  template <class Visit>
  __device__ void for_each_row(Visit visit) const {
#pragma unroll
    for (int r = 0; r < R; ++r)
      if (first_row(r) + lane() < n) visit(first_row(r) + lane());
  }
  __device__ static detail::MatrixRef<const C> as_const(const detail::MatrixRef<C>& a) {
    return {a.data, a.rows, a.cols, a.ld};
  }

  /// Columns first..first + width - 1; what is behind them up to a multiple of W is zero.
  __device__ void load_panel(const detail::MatrixRef<const C>& a, int first, int width) const {
    const int end = (width + W - 1) / W * W;
    for_each_row([&](int i) {
      const C* from = &a(i, first);
      C* to = &at(i, 0);
#pragma unroll 4
      for (int c = 0; c < width; ++c, from += a.ld, to += layout.ld) copy_async(to, from);
      for (int c = width; c < end; ++c) at(i, c) = C{};
    });
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  /// All steps of the panel; returns 0, or the step (1-based) whose pivot is exactly zero.
  __device__ int eliminate_panel(int first, int width) const {
#pragma unroll 1
    for (int c = 0; c < width; c += W) {
      const int inner = min(W, width - c);
      int own_pivot = 0;
      const int steps = eliminate(first + c, c, inner, own_pivot);
      if (steps < inner) return first + c + steps + 1;
      if (width > W) {
        stage_inside(c, width, own_pivot);
        __syncthreads();
        update_inside(first + c, c, inner, width);
      }
    }
    return 0;
  }

  /// The larger, the better row `number` of this warp is as the next pivot: magnitude and number; below warp_rows the
  /// element is zero.
  __device__ static unsigned key_of(C x, int number, bool candidate) {
    const unsigned word = magnitude_word(x) & ~(warp_rows - 1);
    const unsigned magnitude = detail::is_zero(x) ? 0u : max(word, warp_rows);
    return candidate ? magnitude + warp_rows - 1 - static_cast<unsigned>(number) : 0u;
  }
  __device__ static int number_in_key(unsigned key) { return static_cast<int>(warp_rows - 1 - key % warp_rows); }

  /// Steps first..first + width - 1 within the columns from c0 of the panel. Lane l keeps the pivot row of step l.
  /// Returns how many steps had a pivot. The loop stays rolled, since its code would not stay in the instruction cache:
  /// a step reads register c and writes register c - 1.
  __device__ int eliminate(int first, int c0, int width, int& own_pivot) const {
    C x[R][W], products{};
    int step[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int row = first_row(r) + lane();
      step[r] = row < n ? step_of[row] : 0;
#pragma unroll
      for (int c = 0; c < W; ++c) x[r][c] = row < n ? at(row, c0 + c) : C{};
#pragma unroll
      for (int c = 0; c < W; ++c) products = fused_subtract(products, x[r][c], C{});
    }
    if (!detail::is_zero(products)) atomicOr(non_finite, 1);
    int l = 0;
#pragma unroll 1
    for (; l < width; ++l) {
      const int buffer = l % 2 * warps();
      unsigned key = key_of(x[0][0], lane(), step[0] == not_yet);
      C candidate = x[0][0];
#pragma unroll
      for (int r = 1; r < R; ++r) {
        const unsigned other = key_of(x[r][0], 32 * r + lane(), step[r] == not_yet);
        if (other > key) candidate = x[r][0];
        key = max(key, other);
      }
      const Divisor<C> own(candidate);
      const unsigned best = __reduce_max_sync(full_warp, key);
      const int number = number_in_key(best);
      if (lane() == number % 32) {
        Offer& offer = offers[buffer + warp()];
        write_row(offer.row, x, number / 32);
        offer.inverse = own.inverse;
        offer.power = own.power;
        keys[buffer + warp()] = best;
      }
      unsigned top = best;
      int from = 0;
      if (warps() == 1) {
        __syncwarp();
      } else {
        __syncthreads();
        const unsigned offered = lane() < warps() ? keys[buffer + lane()] : 0u;
        top = __reduce_max_sync(full_warp, offered);
        from = __ffs(static_cast<int>(__ballot_sync(full_warp, offered == top))) - 1;
      }
      if (top < warp_rows) break;
      const int pivot = static_cast<int>(warp_rows) * from + number_in_key(top);
      if (lane() == l) own_pivot = pivot;
      const Offer& offer = offers[buffer + from];
      const C inverse = offer.inverse;
      const Real power = offer.power;
      C factor[R];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const bool is_pivot = pivot == first_row(r) + lane();
        factor[r] = scaled(is_pivot ? detail::from_real<C>(Real(-1)) : x[r][0], power) * inverse;
        if (is_pivot) {  // becomes its part of the identity
          step[r] = first + l;
          pivot_row[step[r]] = pivot;
#pragma unroll
          for (int c = 1; c < W; ++c) x[r][c] = C{};
        }
      }
      constexpr int size = Vector16<C>::size;
#pragma unroll
      for (int p = 0; p < W / size; ++p) {
        const auto part = reinterpret_cast<const Vector16<C>*>(offer.row)[p];
#pragma unroll
        for (int v = 0; v < size; ++v)
#pragma unroll
          for (int r = 0; r < R; ++r)
            if (p * size + v > 0)
              x[r][(p * size + v + W - 1) % W] = fused_subtract(x[r][p * size + v], factor[r], part.value[v]);
      }
#pragma unroll
      for (int r = 0; r < R; ++r) x[r][W - 1] = -factor[r];
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int row = first_row(r) + lane();
      if (row >= n) continue;
      step_of[row] = step[r];
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (c >= W - width) at(row, c0 + c - (W - width)) = x[r][c];
    }
    return l;
  }

  /// Row x[which].
  __device__ static void write_row(C* to, const C (&x)[R][W], int which) {
    using Part = Vector16<C>;
#pragma unroll
    for (int p = 0; p < W / Part::size; ++p) {
      Part part;
#pragma unroll
      for (int v = 0; v < Part::size; ++v) {
        part.value[v] = x[0][p * Part::size + v];
#pragma unroll
        for (int r = 1; r < R; ++r)
          if (which == r) part.value[v] = x[r][p * Part::size + v];
      }
      reinterpret_cast<Part*>(to)[p] = part;
    }
  }

  /// The pivot rows of an inner panel in the other columns of the panel, some lanes a column. Rows that it does not
  /// have in its last columns meet zeros in P.
  __device__ void stage_inside(int c0, int width, int own_pivot) const {
    constexpr int columns = 32 / W;  // at once
    const int l = lane() % W, pivot = __shfl_sync(full_warp, own_pivot, l);
    const int stride = Tile::conflict_free_stride(layout.panel_columns);
    const int end = (width + W - 1) / W * W, step = columns * warps();
    C* const to = staged + l * stride;
    const C* from = &at(pivot, 0);
#pragma unroll 4
    for (int c = columns * warp() + lane() / W; c < end; c += step)
      if (c < c0 || c >= c0 + W) to[Tile::place(c)] = from[c * layout.ld];
  }

  /// The rows of this lane in the tiles of part r of its warp, and which of them are pivot rows of the steps
  /// first..end - 1.
  struct TileRows {
    int row[Tile::rows];  ///< the last row of the matrix for those behind it
    bool replaced[Tile::rows];
    bool exists[Tile::rows];
  };
  __device__ TileRows tile_rows(int r, int first, int end) const {
    TileRows rows;
#pragma unroll
    for (int t = 0; t < Tile::rows; ++t) {
      const int row = first_row(r) + Tile::row(t);
      rows.exists[t] = row < n;
      rows.row[t] = min(row, n - 1);
      const int step = step_of[rows.row[t]];
      rows.replaced[t] = step >= first && step < end;
    }
    return rows;
  }

  __device__ void update_inside(int first, int c0, int inner, int width) const {
    __syncwarp();
    const int stride = Tile::conflict_free_stride(layout.panel_columns);
    constexpr int parts = W / Tile::depth;
#pragma unroll 1
    for (int r = 0; r < R && first_row(r) < n; ++r) {
      const TileRows rows = tile_rows(r, first, first + inner);
      typename Tile::Left left[parts];
      const auto load_left = [&](int m) { return Tile::load_left(columns_from(c0 + m * Tile::depth), rows.row); };
#pragma unroll
      for (int m = 0; m < parts && Tile::keeps_left; ++m) left[m] = load_left(m);
#pragma unroll 1
      for (int c = 0; c < width; c += W) {
        if (c == c0) continue;
        C* const top = &at(0, c);
        Tile tile;
        tile.for_each([&](int t, int j, C& x) { x = rows.replaced[t] ? C{} : top[rows.row[t] + j * layout.ld]; });
#pragma unroll
        for (int m = 0; m < parts; ++m) {
          if constexpr (!Tile::keeps_left) left[m] = load_left(m);
          tile.add(left[m], staged + m * Tile::depth * stride + c, stride);
        }
        __syncwarp();  // rows behind the matrix stand for its last one
        tile.for_each([&](int t, int j, C& x) {
          if (rows.exists[t]) top[rows.row[t] + j * layout.ld] = x;
        });
      }
    }
    __syncwarp();
  }

  /// All columns outside of the panel; the rows of the result go to their places if it is the last panel.
  __device__ void update_outside(const detail::MatrixRef<const C>& from, const detail::MatrixRef<C>& to, int first,
                                 int width, bool last) const {
    const int stride = Tile::conflict_free_stride(layout.staged_columns);
    const int outside = n - width, end = (width + W - 1) / W * W;
    const auto column = [=](int j) { return j < first ? j : j + width; };
#pragma unroll 1
    for (int start = 0; start < outside; start += layout.staged_columns) {
      const int columns = min(layout.staged_columns, outside - start);
#pragma unroll 4
      for (int e = thread(); e < end * layout.staged_columns; e += threads()) {
        const int l = e % end, j = e / end;
        staged[l * stride + Tile::place(j)] =
            l < width && j < columns ? from(pivot_row[first + l], column(start + j)) : C{};
      }
      __syncthreads();
#pragma unroll 1
      for (int c = 0; c < columns; c += W) {
        Tile tile[R];
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const TileRows rows = tile_rows(r, first, first + width);
          tile[r].for_each([&](int t, int j, C& x) {
            x = rows.replaced[t] || c + j >= columns ? C{} : from(rows.row[t], column(start + c + j));
          });
#pragma unroll 1
          for (int m = 0; m < end; m += Tile::depth)
            tile[r].add(Tile::load_left(columns_from(m), rows.row), staged + m * stride + c, stride);
        }
        if (last) __syncthreads();
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const TileRows rows = tile_rows(r, first, first + width);
          int place[Tile::rows];
#pragma unroll
          for (int t = 0; t < Tile::rows; ++t) place[t] = last ? step_of[rows.row[t]] : rows.row[t];
          tile[r].for_each([&](int t, int j, C& x) {
            if (rows.exists[t] && c + j < columns) to(place[t], column(start + c + j)) = x;
          });
        }
      }
      __syncthreads();
    }
  }

  __device__ void store_panel(const detail::MatrixRef<C>& to, int first, int width, bool last) const {
    for_each_row([&](int i) {
      const C* from = &at(last ? pivot_row[i] : i, 0);
      C* place = &to(i, first);
#pragma unroll 4
      for (int c = 0; c < width; ++c, from += layout.ld, place += to.ld) *place = *from;
    });
  }

  __device__ void write_permuted(const detail::MatrixRef<C>& x) const {
    for_each_row([&](int i) {
      const C* from = &at(pivot_row[i], 0);
#pragma unroll 4
      for (int c = 0; c < n; ++c, from += layout.ld) x(i, pivot_row[c]) = *from;
    });
  }

  /// Column j becomes column pivot_row[j], in place, some rows at a time through what held the panel.
  __device__ void permute_columns(const detail::MatrixRef<C>& x) const {
    const int height = layout.panel / n >= 32 ? 32 : 16;
    const int row = thread() % height, group = thread() / height, groups = threads() / height;
#pragma unroll 1
    for (int first = 0; first < n; first += height) {
      const bool exists = first + row < n;
#pragma unroll 4
      for (int j = group; j < n; j += groups)
        if (exists) panel[j * height + row] = x(first + row, j);
      __syncthreads();
#pragma unroll 4
      for (int j = group; j < n; j += groups)
        if (exists) x(first + row, pivot_row[j]) = panel[j * height + row];
      __syncthreads();
    }
  }
};

}  // namespace blockjacobi::kernels
