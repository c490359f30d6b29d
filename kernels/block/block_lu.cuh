#pragma once

#include "kernels/block/block_rows.cuh"
#include "kernels/block/panel_store.cuh"
#include "kernels/block/panel_tile.cuh"
#include "kernels/block/pivot_offer.cuh"

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of one n x n matrix by a thread block (one-dimensional, a thread for each
/// row, whole warps), left to right by panels of W columns. The panel at work lies in registers, 32 rows a warp;
/// finished panels lie in a store.
///
/// A panel is read when its turn comes, with its rows interchanged as they are by then, and takes the updates of all
/// panels before it: a warp solves for W rows of U, all others subtract. Meanwhile the next W rows are solved for, by
/// the warp that has them. Then the panel itself is eliminated, a row a thread: each warp offers its best pivot
/// together with the row, one barrier a step; rows keep their threads and move to their positions when the panel is
/// done.
template <class C, int W>
struct BlockLu {
  using Row = Rows<C, W>;
  using Tile = PanelTile<C, W>;
  static constexpr int stride = Row::stride;

  int n;
  C* solved;           ///< 2 x W rows of U within the panel at work
  C* offered;          ///< 2 x warps: their rows
  PivotOffer* offers;  ///< 2 x warps
  int* source_row;     ///< n: the row of A that is at a position
  int* pivots;         ///< n: the position that step k exchanged with position k
  int2* moves;         ///< 2 W: from a position, to a position
  int* moved;          ///< how many
  int* info;
  int* non_finite;  ///< whether A had NaN or Inf

  __host__ __device__ static constexpr std::size_t scratch_bytes(int order, int threads) {
    const auto warps = static_cast<std::size_t>(threads) / 32, rows = static_cast<std::size_t>(order);
    return 2 * W * stride * sizeof(C) + 2 * warps * (stride * sizeof(C) + sizeof(PivotOffer)) + 2 * W * sizeof(int2) +
           (2 * rows + 3) * sizeof(int);
  }

  __device__ BlockLu(unsigned char* scratch, int n_) : n(n_) {
    offers = reinterpret_cast<PivotOffer*>(scratch);
    solved = reinterpret_cast<C*>(offers + 2 * warps());
    offered = solved + 2 * W * stride;
    moves = reinterpret_cast<int2*>(offered + 2 * warps() * stride);
    moved = reinterpret_cast<int*>(moves + 2 * W);
    info = moved + 1;
    non_finite = info + 1;
    source_row = non_finite + 1;
    pivots = source_row + n;
  }

  /// `target` may be `source`. The factors are complete and visible to all on return, but for those that a store not in
  /// place has still to write back; pivots and info are in shared memory.
  template <class Store>
  __device__ void run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target,
                      const Store& store) const {
    for (int i = thread(); i < n; i += threads()) source_row[i] = i;
    if (thread() == 0) *moved = *info = *non_finite = 0;
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < n; first += W) {
      const int width = min(W, n - first);
      Tile tile;
      load(source, first, width, tile);
      if (first > 0) {
        finish_panel(store, first - W);
        update(store, target, first, width, tile);
      }
      eliminate(store, first, width, tile);
      __syncthreads();
    }
    finish_panel(store, (n - 1) / W * W);
  }

  /// The panels of a store that is not in place.
  template <class Store>
  __device__ void write_back(const Store& store, const detail::MatrixRef<C>& target) const {
    static_assert(!Store::in_place);
#pragma unroll 1
    for (int j = warp(); j < n; j += warps()) {
      const int first = j / W * W;
      const auto panel = store.panel(first);
#pragma unroll 2
      for (int i = first + lane(); i < n; i += 32) target(i, j) = panel(i, j - first);
    }
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int warps() { return threads() / 32; }

 private:
  /// The first row of this warp.
  __device__ static int first_row() { return thread() & ~31; }

  __device__ void load(const detail::MatrixRef<const C>& source, int first, int width, Tile& tile) const {
    C products{};  // with zero, which are not zero if a factor is not finite
    tile.for_each([&](int i, int c, C& x) {
      const int row = first_row() + i < n ? source_row[first_row() + i] : -1;
      x = row >= 0 && c < width ? source(row, first + c) : C{};
    });
    tile.for_each([&](int, int, C& x) { products = fused_subtract(products, x, C{}); });
    if (!detail::is_zero(products)) atomicOr(non_finite, 1);
  }

  /// After the elimination of the panel from `first`, with all columns up to it in the order of rows that it left.
  template <class Store>
  __device__ void finish_panel(const Store& store, int first) const {
    move_rows(store, min(first + W, n));
    __syncthreads();
    if (thread() == 0) *moved = 0;
    if (owns(first) && first + W < n) invert_triangle(store.panel(first), first, store.inverses(first));
  }

  /// L_JJ^-1 of the panel from `first` by a warp: the blocks of 8 on the diagonal, then what is below them.
  template <class Columns>
  __device__ void invert_triangle(const Columns& panel, int first, const Panel<C, int>& inverse) const {
    constexpr int size = 8;
    static_assert(W <= 2 * size);
    const int block = lane() / size * size, own = lane() % size;
    if (block < W) {
      C l[size][size], y[size];
#pragma unroll
      for (int m = 0; m < size; ++m)
#pragma unroll
        for (int i = m + 1; i < size; ++i) l[i][m] = panel(first + block + i, block + m);
#pragma unroll
      for (int i = 0; i < size; ++i) y[i] = detail::from_real<C>(i == own);
#pragma unroll
      for (int m = 0; m < size; ++m)
#pragma unroll
        for (int i = m + 1; i < size; ++i) y[i] = fused_subtract(y[i], l[i][m], y[m]);
#pragma unroll
      for (int i = 0; i < size; ++i) inverse(block + i, block + own) = y[i];
#pragma unroll
      for (int i = 0; i < size; ++i)
        if (block > 0) inverse(i, block + own) = C{};
    }
    __syncwarp();
    if constexpr (W > size) {
      // L_22^-1 (-L_21 L_11^-1), two elements a lane.
      const int i = size + own, c = lane() / size * 2;
      C t[2]{}, x[2]{};
#pragma unroll
      for (int m = 0; m < size; ++m)
#pragma unroll
        for (int v = 0; v < 2; ++v) t[v] = fused_subtract(t[v], panel(first + i, m), inverse(m, c + v));
#pragma unroll
      for (int v = 0; v < 2; ++v) inverse(i, c + v) = t[v];
      __syncwarp();
#pragma unroll
      for (int m = 0; m < size; ++m)
#pragma unroll
        for (int v = 0; v < 2; ++v) x[v] = fused_subtract(x[v], -inverse(i, size + m), inverse(size + m, c + v));
      __syncwarp();
#pragma unroll
      for (int v = 0; v < 2; ++v) inverse(i, c + v) = x[v];
      __syncwarp();
    }
  }

  /// The moves of the last panel in the columns before `end`, a warp for each.
  template <class Store>
  __device__ void move_rows(const Store& store, int end) const {
    constexpr int each = (2 * W + 31) / 32;
    const int count = *moved;
    int2 move[each];
#pragma unroll
    for (int m = 0; m < each; ++m) move[m] = lane() + 32 * m < count ? moves[lane() + 32 * m] : make_int2(-1, -1);
    constexpr int columns = 4;  // at once
#pragma unroll 1
    for (int j = columns * warp(); j < end; j += columns * warps()) {
      const int start = j / W * W;
      const auto panel = store.panel(start);
      C value[columns][each];
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int m = 0; m < each; ++m)
          if (move[m].x >= 0 && j + c < end) value[c][m] = panel(move[m].x, j - start + c);
      __syncwarp();
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int m = 0; m < each; ++m)
          if (move[m].x >= 0 && j + c < end) panel(move[m].y, j - start + c) = value[c][m];
    }
  }

  /// Brings the panel from `first` up to date with the panels before it; what is above it goes to its place.
  template <class Store>
  __device__ void update(const Store& store, const detail::MatrixRef<C>& target, int first, int width,
                         Tile& tile) const {
    solve(store, 0, tile);
#pragma unroll 1
    for (int k = 0; k < first; k += W) {
      __syncthreads();
      const C* const u = solved + k / W % 2 * W * stride;
      if (owns(k)) store_solved(target, k, first, width, u);
      if (first_row() + 31 >= k + W) {
        const auto l = store.panel(k);
        tile.subtract([&](int i, int c) { return l(min(first_row() + i, n - 1), c); }, u, k + W - first_row());
      }
      if (k + W < first) solve(store, k + W, tile);
    }
  }

  __device__ static bool owns(int row) { return warp() == row / 32; }

  /// L_kk^-1 times the rows k..k + W - 1 of the panel, by the warp that has them.
  template <class Store>
  __device__ void solve(const Store& store, int k, Tile& tile) const {
    if (!owns(k)) return;
    C* const u = solved + k / W % 2 * W * stride;
    const int offset = k - first_row();
    tile.for_each([&](int i, int c, C& x) {
      if (i >= offset && i < offset + W) u[(i - offset) * stride + c] = x;
    });
    __syncwarp();
    constexpr int half = 16;  // the second half of a tile is enough
    const auto inverse = store.inverses(k);
    Tile product{};
    product.subtract([&](int i, int c) { return -inverse(i % W, c); }, u, half);
    __syncwarp();
    product.for_each([&](int i, int c, C& x) {
      if (i >= half && i < half + W) u[(i - half) * stride + c] = x;
    });
    __syncwarp();
  }

  /// By a warp.
  __device__ void store_solved(const detail::MatrixRef<C>& target, int k, int first, int width, const C* u) const {
    const int i = lane() % W;
#pragma unroll 1
    for (int c = lane() / W; c < width; c += 32 / W) target(k + i, first + c) = u[i * stride + c];
  }

  /// Elimination within the panel. The factors are stored column by column, in the order of rows from before.
  template <class Store>
  __device__ void eliminate(const Store& store, int first, int width, Tile& tile) const {
    const int lowest = first / 32;  // warps before it are above
    if (warp() < lowest) {
#pragma unroll 1
      for (int c = 0; c < width; ++c) __syncthreads();
      return;
    }
    const auto exchange = store.exchange(first);
    tile.for_each([&](int i, int c, C& x) {
      const int row = first_row() + i;
      if (row >= first && row < n) exchange(row, c) = x;
    });
    __syncwarp();
    C x[W];
    const bool inside = thread() >= first && thread() < n;
#pragma unroll
    for (int c = 0; c < W; ++c) x[c] = inside ? exchange(thread(), c) : C{};
    const int row = inside ? source_row[thread()] : 0;
    int position = thread();
    Candidate candidate = find_candidate(first, x[0], position);
    const auto panel = store.panel(first);
    eliminate_columns<W>(panel, first, 0, min(W / 2, width), x, position, candidate);
    eliminate_columns<W / 2>(panel, first, W / 2, width, x, position, candidate);
    if (position != thread()) {
      source_row[position] = row;
      moves[atomicAdd(moved, 1)] = make_int2(thread(), position);
    }
  }

  /// This thread's row, and whether it is the warp's best.
  struct Candidate {
    PivotOffer offer;
    bool best;
  };

  /// Columns begin..end - 1 of the panel, of which the registers hold Live from `begin` on. The loop stays rolled,
  /// since its code would not stay in the instruction cache: a step reads register c and writes register c - 1.
  template <int Live, class Columns>
  __device__ void eliminate_columns(const Columns& panel, int first, int begin, int end, C (&x)[W], int& position,
                                    Candidate& candidate) const {
    const int lowest = first / 32;
    const bool inside = thread() >= first && thread() < n;
#pragma unroll 1
    for (int column = begin; column < end; ++column) {
      const int step = first + column, buffer = column % 2 * warps();
      if (candidate.best) {
        offers[buffer + warp()] = candidate.offer;
        Row::template write<Live>(offered + (buffer + warp()) * stride, x);
      }
      __syncthreads();
      const PivotOffer pivot = best_offer(offers + buffer + lowest, warps() - lowest);
      note_pivot(pivot, step);
      const C* const u = offered + (buffer + pivot.warp) * stride;
      const int p = static_cast<int>(pivot.position);
      position = position == p ? step : position == step ? p : position;
      const bool below = position > step && !pivot.is_zero();
      const C quotient = Divisor<C>(u[0]).divide(x[0]);
      const C factor = below ? quotient : C{};
      if (inside) panel(thread(), column) = position > step ? factor : x[0];
      // The next pivot is looked for before the rest is updated.
      x[0] = fused_subtract(x[1], factor, u[1]);
      candidate = find_candidate(step + 1, x[0], position);
#pragma unroll
      for (int c = 2; c < Live; ++c) x[c - 1] = fused_subtract(x[c], factor, u[c]);
    }
  }

  __device__ void note_pivot(const PivotOffer& pivot, int step) const {
    if (thread() != threads() - 1) return;
    pivots[step] = static_cast<int>(pivot.position);
    if (pivot.is_zero() && *info == 0) *info = step + 1;
  }

  /// Rows at positions from `step` on are candidates.
  __device__ Candidate find_candidate(int step, C x, int position) const {
    const PivotOffer offer = position >= step && position < n ? pivot_offer(detail::abs1(x), position, warp())
                                                              : PivotOffer::none(static_cast<unsigned>(thread()));
    return {offer, is_best_of_warp(offer)};
  }
};

}  // namespace blockjacobi::kernels
