#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/block_rows.cuh"
#include "kernels/block/panel.cuh"
#include "kernels/block/product_tile.cuh"
#include "kernels/block/update_tile.cuh"
#include "kernels/subwarp/extract.cuh"
#include "kernels/subwarp/team.cuh"
#include "kernels/tuning/blocked.hpp"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// What BlockGaussJordan has in shared memory, for matrices of order n.
template <class C, int W>
struct GaussJordanLayout {
  using Tile = UpdateTile<C, W>;
  /// Columns of a panel if the matrix has several.
  static constexpr int outer = detail::Arithmetic<C>::is_complex ? 16 : 32;
  using Product = ProductTile<C, outer>;

  int rows;           ///< of the panel, a multiple of 8
  int ld;             ///< of the panel
  int panel_columns;  ///< a multiple of W, or of at least n columns
  int staged, panel;  ///< elements
  int stages;         ///< pieces of P that a warp has in shared memory

  /// Threads that have all rows.
  __host__ __device__ static constexpr int threads(int n) { return (n + 31) / 32 * 32; }

  static constexpr int staged_bytes = 2 * Product::staged * static_cast<int>(sizeof(double));
  static constexpr int piece_bytes = Product::piece * static_cast<int>(sizeof(C));

  /// For matrices of orders up to n.
  static constexpr GaussJordanPolicy policy(int n) { return gauss_jordan_policy(static_cast<int>(sizeof(C) / 4), n); }

  __host__ __device__ static constexpr GaussJordanLayout of(int n, const GaussJordanPolicy& policy) {
    constexpr int element = static_cast<int>(sizeof(C));
    const int rows = (n + 7) / 8 * 8, rounded = (n + W - 1) / W * W, ld = Tile::conflict_free_ld(rows);
    const int columns = policy.whole || rounded < outer ? rounded : outer;
    const int staged = (W * Tile::conflict_free_stride(columns) + 3) / 4 * 4, panel = (ld * columns + 3) / 4 * 4;
    const int products =
        columns < n ? (staged_bytes + threads(n) / 32 * policy.stages * piece_bytes) / element - staged : 0;
    return {rows, ld, columns, staged, products > panel ? products : panel, policy.stages};
  }
};

/// Inverse of one n x n matrix by blocked Gauss-Jordan elimination with partial pivoting, by a thread block
/// (one-dimensional, at least Layout::threads(n), several warps), a row a thread. Rows behind the matrix are zero.
///
/// The matrix is taken by panels of columns, one in shared memory, where it is eliminated by inner panels of W columns,
/// of which each thread has its row in registers. That leaves in a panel the columns of the transformation T that its
/// steps amount to, T = I elsewhere: with K = the pivot rows, B = what they held and P = the panel all other columns
/// take one product,
///   a(i, j) = (i in K ? 0 : a(i, j)) + sum_l P(i, l) B(l, j),
/// within the panel in shared memory after each inner panel. Outside of it they take it when they are needed, a panel
/// all that stand before it together just before it is eliminated, and all that stand behind it at the end
/// (left-looking): it then stands in the registers of the thread block as sums of the tensor cores, and each P is read
/// from global memory once.
///
/// Rows stay where they are: step k has pivot row p(k). At the end X(i, p(l)) = a(p(i), l). Column l is kept as column
/// p(l) from its elimination on, unless the matrix is inverted in its place.
template <class C, int W>
struct BlockGaussJordan {
  using Layout = GaussJordanLayout<C, W>;
  using Tile = UpdateTile<C, W>;
  using Product = typename Layout::Product;
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int outer = Layout::outer;
  static constexpr int not_yet = INT_MAX;
  static constexpr int most_warps = largest_blocked_order / 32;

  /// A warp's best row of the panel at work, the element that may be the pivot first.
  struct alignas(16) Offer {
    C row[W];
    C inverse;  ///< of the pivot times power
    Real power;
  };
  /// Of the warps, for steps in turn; 0 of those that are not there.
  struct alignas(16) Keys {
    unsigned of[2][most_warps];
    int non_finite;  ///< whether the matrix had NaN or Inf
  };
  /// Of row, step or column k.
  struct State {
    int pivot_row;  ///< p(k)
    int step;       ///< whose pivot row is row k, or not_yet; of rows behind the matrix their number
    int place;      ///< where column k is kept
  };

  int n;
  Layout layout;
  Keys& keys;
  Offer (*offers)[2];  ///< of each warp, for steps in turn
  State* state;        ///< of the rows of all warps
  C* staged;
  C* panel;

  __host__ __device__ static constexpr std::size_t state_bytes(int n) {
    return (static_cast<std::size_t>(Layout::threads(n)) * sizeof(State) + 15) / 16 * 16;
  }
  __host__ __device__ static constexpr std::size_t bytes(int n, const Layout& layout) {
    return sizeof(Keys) + static_cast<std::size_t>(Layout::threads(n) / 32) * 2 * sizeof(Offer) + state_bytes(n) +
           static_cast<std::size_t>(layout.staged + layout.panel) * sizeof(C);
  }

  /// What is at the same place for all orders first, since its addresses need no registers.
  __device__ BlockGaussJordan(unsigned char* shared, int n_, const Layout& layout_)
      : n(n_),
        layout(layout_),
        keys(*reinterpret_cast<Keys*>(shared)),
        offers(reinterpret_cast<Offer (*)[2]>(&keys + 1)),
        state(reinterpret_cast<State*>(offers + Layout::threads(n) / 32)),
        staged(reinterpret_cast<C*>(reinterpret_cast<unsigned char*>(state) + state_bytes(n))),
        panel(staged + layout.staged) {}

  /// What became of a matrix: info as LAPACK's getrf, and whether there is an inverse.
  struct Outcome {
    int info;
    bool regular;
  };

  /// `target` may be `source`; it is undefined if the outcome is not regular. Uniform in the thread block.
  __device__ Outcome run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    if (has_rows()) {
      state[thread()].step = thread() < n ? not_yet : thread();
      state[thread()].place = thread();
    }
    if (thread() < 2 * most_warps) keys.of[thread() / most_warps][thread() % most_warps] = 0;
    if (thread() == 0) keys.non_finite = 0;
    return layout.panel_columns < n ? by_panels(source, target) : at_once(source, target);
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int warps() { return threads() / 32; }
  /// Whether this warp has rows, and whether this thread has one in the panel.
  __device__ bool has_rows() const { return 32 * warp() < n; }
  __device__ bool has_row() const { return thread() < layout.rows; }
  __device__ C& at(int i, int c) const { return panel[i + c * layout.ld]; }
  __device__ Panel<C, int> columns_from(int c) const { return {panel + c * layout.ld, layout.ld}; }
  /// With one multiplication of 32 bits.
  template <class T>
  __device__ static T* column_of(const detail::MatrixRef<T>& a, int j) {
    return a.data + static_cast<std::size_t>(static_cast<unsigned>(j)) * static_cast<unsigned>(a.ld);
  }

  __device__ Outcome at_once(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    load(source);
    const int info = eliminate_panel(0, n);
    __syncthreads();
    if (info != 0 || keys.non_finite != 0) return {info, false};
    write_permuted(target);
    return {0, true};
  }

  __device__ Outcome by_panels(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    const bool in_place = source.data == target.data;
    const detail::MatrixRef<const C> transformed{target.data, n, n, target.ld};
    __syncthreads();
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      const bool final = pass == 1;
      const detail::MatrixRef<const C> from = final ? transformed : source;
#pragma unroll 1
      for (int first = 0; first < n; first += outer) {
        const int width = min(outer, n - first);
        transform(from, transformed, first, final ? first + width : 0, final ? n : first, final);
        if (!final) {
          const int info = eliminate_panel(first, width);
          __syncthreads();
          if (info != 0 || keys.non_finite != 0) return {info, false};
          if (!in_place && thread() < width) state[first + thread()].place = state[first + thread()].pivot_row;
        }
        __syncthreads();
        store_panel(target, first, width);
        __syncthreads();
      }
    }
    if (in_place) permute_columns(target);
    return {0, true};
  }

  /// The first row of this lane in the tile of its warp, and how many of them the matrix has.
  __device__ static int top_row() { return 32 * warp() + Product::row(0); }
  __device__ int tile_rows() const { return (n - top_row() + 7) / 8; }

  /// Columns first..first + outer - 1 of `from`, those behind the matrix zero, to shared memory with the
  /// transformations of the steps begin..end - 1, which are columns of x; rows to their final places if this is
  /// `final`.
  __device__ void transform(const detail::MatrixRef<const C>& from, const detail::MatrixRef<const C>& x, int first,
                            int begin, int end, bool final) const {
    const int rows = tile_rows();
    Product tile;
#pragma unroll
    for (int c = 0; c < Product::groups; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const int l = first + Product::column(c, v);
        const C* const column = column_of(from, state[min(l, n - 1)].place) + top_row();
#pragma unroll
        for (int t = 0; t < Product::rows; ++t) tile.set(t, c, v, t < rows && l < n ? column[8 * t] : C{});
      }
    apply(tile, x, begin, end);
    __syncthreads();
    put(tile, final);
  }

  /// To the panel in shared memory, rows to their final places if this is `final`.
  __device__ void put(const Product& tile, bool final) const {
#pragma unroll
    for (int t = 0; t < Product::rows; ++t)
      if (32 * warp() + 8 * t < layout.rows) {
        const int row = top_row() + 8 * t;
        C* const to = &at(final ? state[row].step : row, 0);
#pragma unroll
        for (int c = 0; c < Product::groups; ++c)
#pragma unroll
          for (int v = 0; v < 2; ++v) to[Product::column(c, v) * layout.ld] = tile.rounded(t, c, v);
      }
    __syncwarp();
  }

  /// The transformations of the steps begin..end - 1, panel by panel. The pivot rows of one go through shared memory,
  /// for which all wait; each warp brings its rows of P there for itself, some pieces ahead. Columns behind the matrix
  /// meet rows behind it.
  __device__ void apply(Product& tile, const detail::MatrixRef<const C>& x, int begin, int end) const {
    constexpr int depth = Product::depth;
    double* const rows_of_b = reinterpret_cast<double*>(staged);
    C* const pieces = reinterpret_cast<C*>(rows_of_b + 2 * Product::staged) + warp() * layout.stages * Product::piece;
    const bool exists = thread() < n;
    // sixteen bytes at once where all columns are aligned to that and end so
    constexpr int size = Vector16<C>::size;
    const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && x.ld % size == 0 && n % size == 0;
    const auto column = [&](int l) { return column_of(x, state[min(l, end - 1)].place) + 32 * warp(); };
    const auto fetch = [&](int first, int slot) {
      C* const to = pieces + slot * Product::piece;
      if (first < end && aligned) {
        const int row = lane() % (32 / size) * size;
        if (32 * warp() + row < n)
#pragma unroll
          for (int c = lane() * size / 32; c < depth; c += size)
            __pipeline_memcpy_async(to + c * Product::ld + row, column(first + c) + row, 16);
      } else if (first < end && exists) {
#pragma unroll
        for (int c = 0; c < depth; ++c) copy_async(to + c * Product::ld + lane(), column(first + c) + lane());
      }
      __pipeline_commit();
    };
    if (has_rows()) {
      if (!exists)
        for (int c = 0; c < layout.stages * depth; ++c) pieces[c * Product::ld + lane()] = C{};
      for (int u = 0; u + 1 < layout.stages; ++u) fetch(begin + u * depth, u);
    }
    int slot = 0, free = layout.stages - 1;
#pragma unroll 1
    for (int k = begin; k < end; k += outer) {
      double* const b = rows_of_b + k / outer % 2 * Product::staged;
      if (has_rows())
#pragma unroll
        for (int t = 0; t < Product::rows; ++t) {
          const int step = state[top_row() + 8 * t].step - k;
          if (step >= 0 && step < outer) tile.move_row(t, b, step);
        }
      __syncthreads();
      if (has_rows())
#pragma unroll 1
        for (int l = k; l < min(k + outer, end); l += depth) {
          __pipeline_wait_prior(layout.stages - 2);
          __syncwarp();
          fetch(l + (layout.stages - 1) * depth, free);
          tile.add(pieces + slot * Product::piece, b + (l - k) * Product::stride);
          free = slot;
          slot = slot + 1 == layout.stages ? 0 : slot + 1;
        }
    }
  }

  /// The panel in shared memory to its columns.
  __device__ void store_panel(const detail::MatrixRef<C>& to, int first, int width) const {
    if (thread() >= n) return;
    const C* from = &at(thread(), 0);
#pragma unroll 4
    for (int c = 0; c < width; ++c, from += layout.ld) column_of(to, state[first + c].place)[thread()] = *from;
  }

  /// The whole matrix; what is behind it in the panel is zero.
  __device__ void load(const detail::MatrixRef<const C>& a) const {
    if (has_row()) {
      const int copied = thread() < n ? n : 0;
      const C* from = &a(min(thread(), n - 1), 0);
      C* to = &at(thread(), 0);
#pragma unroll 4
      for (int c = 0; c < copied; ++c, from += a.ld, to += layout.ld) copy_async(to, from);
      for (int c = copied; c < layout.panel_columns; ++c) at(thread(), c) = C{};
    }
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
        stage_inside(c, inner, width, own_pivot);
        __syncthreads();
        if (has_rows()) update_inside(c, width);
      }
    }
    return 0;
  }

  /// The larger, the better the row of `lane` is as the next pivot: magnitude and lane; below 32 the element is zero.
  __device__ static unsigned key_of(C x, bool candidate) {
    const unsigned word = magnitude_word(x) & ~31u;
    const unsigned magnitude = detail::is_zero(x) ? 0u : max(word, 32u);
    return candidate ? magnitude + 31 - static_cast<unsigned>(lane()) : 0u;
  }
  __device__ static int lane_in_key(unsigned key) { return static_cast<int>(31 - key % 32); }

  /// The largest key, and the warp that has it.
  __device__ static unsigned best_key(const unsigned (&of)[most_warps], int& from) {
    if (warps() <= 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(of);
      const unsigned left = max(four.x, four.y), right = max(four.z, four.w);
      from = left >= right ? (four.x >= four.y ? 0 : 1) : (four.z >= four.w ? 2 : 3);
      return max(left, right);
    }
    const unsigned own = of[lane() % most_warps], top = __reduce_max_sync(full_warp, own);
    from = __ffs(static_cast<int>(__ballot_sync(full_warp, own == top))) - 1;
    return top;
  }

  /// Steps first..first + width - 1 within the columns from c0 of the panel. Lane l keeps the pivot row of step l.
  /// Returns how many steps had a pivot. The loop stays rolled, since its code would not stay in the instruction cache:
  /// a step reads register c and writes register c - 1.
  __device__ int eliminate(int first, int c0, int width, int& own_pivot) const {
    C x[W]{}, products{};
    C* const own = &at(thread(), c0);
    int step = 0;
    if (has_row()) {
      step = state[thread()].step;
#pragma unroll
      for (int c = 0; c < W; ++c) x[c] = own[c * layout.ld];
    }
#pragma unroll
    for (int c = 0; c < W; ++c) products = fused_subtract(products, x[c], C{});
    if (!detail::is_zero(products)) atomicOr(&keys.non_finite, 1);
    int l = 0;
#pragma unroll 1
    for (; l < width; ++l) {
      const Divisor<C> divisor(x[0]);
      const unsigned best = __reduce_max_sync(full_warp, key_of(x[0], step == not_yet));
      if (has_rows() && lane() == lane_in_key(best)) {
        Offer& offer = offers[warp()][l % 2];
        Rows<C, W>::write(offer.row, x);
        offer.inverse = divisor.inverse;
        offer.power = divisor.power;
        keys.of[l % 2][warp()] = best;
      }
      __syncthreads();
      int from = 0;
      const unsigned top = best_key(keys.of[l % 2], from);
      if (top < 32) break;
      const int pivot_lane = lane_in_key(top);
      if (lane() == l) own_pivot = 32 * from + pivot_lane;
      const Offer& offer = offers[from][l % 2];
      const C inverse = offer.inverse;
      const Real power = offer.power;
      if (from == warp()) {
        __syncwarp();                // keeps the branch, which the other warps do not take
        if (lane() == pivot_lane) {  // becomes its part of the identity
          step = first + l;
          state[step].pivot_row = thread();
          x[0] = detail::from_real<C>(Real(-1));
#pragma unroll
          for (int c = 1; c < W; ++c) x[c] = C{};
        }
      }
      const C factor = scaled(x[0], power) * inverse;
      constexpr int size = Vector16<C>::size;
#pragma unroll
      for (int p = 0; p < W / size; ++p) {
        const auto part = reinterpret_cast<const Vector16<C>*>(offer.row)[p];
#pragma unroll
        for (int v = 0; v < size; ++v) {
          const int c = p * size + v;
          if (c > 0) x[c - 1] = fused_subtract(x[c], factor, part.value[v]);
        }
      }
      x[W - 1] = -factor;
    }
    if (has_row()) {
      state[thread()].step = step;
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (c >= W - width) own[(c - (W - width)) * layout.ld] = x[c];
    }
    return l;
  }

  /// The pivot rows of an inner panel of `inner` columns from the other columns of the panel, where they become zero,
  /// some lanes a column.
  __device__ void stage_inside(int c0, int inner, int width, int own_pivot) const {
    constexpr int columns = 32 / W;  // at once
    const int l = lane() % W, pivot = __shfl_sync(full_warp, own_pivot, l);
    const int stride = Tile::conflict_free_stride(layout.panel_columns);
    const int end = (width + W - 1) / W * W, step = columns * warps();
    C* const to = staged + l * stride;
    C* const from = &at(pivot, 0);
#pragma unroll 4
    for (int c = columns * warp() + lane() / W; c < end; c += step)
      if (c < c0 || c >= c0 + W) {
        to[Tile::place(c)] = l < inner ? from[c * layout.ld] : C{};
        if (l < inner) from[c * layout.ld] = C{};
      }
  }

  __device__ void update_inside(int c0, int width) const {
    const int stride = Tile::conflict_free_stride(layout.panel_columns);
    constexpr int parts = W / Tile::depth;
    const int groups = (layout.rows - 32 * warp()) / 8;  // of 8 rows that the panel has
    int row[Tile::rows];
#pragma unroll
    for (int t = 0; t < Tile::rows; ++t) row[t] = 32 * warp() + Tile::row(0) + 8 * min(t, groups - 1);
    __syncwarp();
    typename Tile::Left left[parts];
    const auto load_left = [&](int m) { return Tile::load_left(columns_from(c0 + m * Tile::depth), row); };
#pragma unroll
    for (int m = 0; m < parts && Tile::keeps_left; ++m) left[m] = load_left(m);
#pragma unroll 1
    for (int c = 0; c < width; c += W) {
      if (c == c0) continue;
      C* const top = &at(row[0], c);
      Tile tile;
      tile.for_each([&](int t, int j, C& x) { x = t < groups ? top[8 * t + j * layout.ld] : C{}; });
#pragma unroll
      for (int m = 0; m < parts; ++m) {
        if constexpr (!Tile::keeps_left) left[m] = load_left(m);
        tile.add(left[m], staged + m * Tile::depth * stride + c, stride);
      }
      tile.for_each([&](int t, int j, C& x) {
        if (t < groups) top[8 * t + j * layout.ld] = x;
      });
    }
    __syncwarp();
  }

  __device__ void write_permuted(const detail::MatrixRef<C>& x) const {
    if (thread() >= n) return;
    const C* from = &at(state[thread()].pivot_row, 0);
#pragma unroll 4
    for (int c = 0; c < n; ++c, from += layout.ld) column_of(x, state[c].pivot_row)[thread()] = *from;
  }

  /// Column j becomes column state[j].pivot_row, in place, some rows at a time through what held the panel.
  __device__ void permute_columns(const detail::MatrixRef<C>& x) const {
    const int height = layout.panel / n >= 32 ? 32 : 16;
    const int row = thread() % height, group = thread() / height, groups = threads() / height;
#pragma unroll 1
    for (int first = 0; first < n; first += height) {
      const bool exists = first + row < n;
#pragma unroll 4
      for (int j = group; j < n; j += groups)
        if (exists) copy_async(panel + j * height + row, column_of(x, j) + first + row);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncthreads();
#pragma unroll 4
      for (int j = group; j < n; j += groups)
        if (exists) column_of(x, state[j].pivot_row)[first + row] = panel[j * height + row];
      __syncthreads();
    }
  }
};

}  // namespace blockjacobi::kernels
