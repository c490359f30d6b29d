#pragma once

#include "kernels/block/block_rows.cuh"
#include "kernels/block/panel_store.cuh"
#include "kernels/block/pivot_offer.cuh"

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of one n x n matrix by a thread block (one-dimensional, whole warps), left
/// to right by panels of W columns. A thread holds R rows of the panel at work in registers, those at positions
/// thread, thread + threads, ...; finished panels lie in a store.
///
/// A panel is read when its turn comes, with its rows interchanged as they are by then, and takes the updates of all
/// panels before it: a warp solves for W rows of U, all others subtract. Meanwhile the next W rows are solved for, by
/// the warp that has them. Then the panel itself is eliminated: each warp offers its best pivot together with the row,
/// one barrier a step; rows keep their threads and move to their positions when the panel is stored.
template <class C, int W, int R, bool one_warp>
struct BlockLu {
  using Row = Rows<C, W>;
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

  /// `target` may be `source`. The factors are complete and visible to all on return, those of a store in shared
  /// memory but for what stands above its panels there; pivots and info are in shared memory.
  template <class Store>
  __device__ void run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target,
                      const Store& store) const {
    for (int i = thread(); i < n; i += threads()) source_row[i] = i;
    if (thread() == 0) *moved = *info = *non_finite = 0;
    sync();
    C x[R][W];
    int row[R], position[R];
    for (int first = 0; first < n; first += W) {
      const int width = min(W, n - first);
      load(source, first, width, x, row);
      if (first > 0) {
        finish_panel(store, first - W);
        update(store, first, x);
        store_upper(target, first, width, x);
      }
      eliminate(store.panel(first), first, width, x, position);
      note_moves(row, position);
      sync();
    }
    finish_panel(store, (n - 1) / W * W);
  }

  /// The panels of a store in shared memory to their place.
  template <class Store>
  __device__ void write_back(const Store& store, const detail::MatrixRef<C>& target) const {
    if constexpr (!Store::in_place)
      for (int j = warp(); j < n; j += warps()) {
        const int first = j / W * W;
        const auto panel = store.panel(first);
        for (int i = first + lane(); i < n; i += 32) target(i, j) = panel(i, j - first);
      }
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return one_warp ? 32 : static_cast<int>(blockDim.x); }
  __device__ static int lane() { return one_warp ? thread() : thread() % 32; }
  __device__ static int warp() { return one_warp ? 0 : thread() / 32; }
  __device__ static int warps() { return one_warp ? 1 : threads() / 32; }
  __device__ static void sync() {
    if constexpr (one_warp)
      __syncwarp();
    else
      __syncthreads();
  }

 private:
  __device__ static int place(int r) { return thread() + r * threads(); }
  /// The last position of slab r in this warp.
  __device__ static int last_place(int r) { return r * threads() + 32 * warp() + 31; }

  __device__ void load(const detail::MatrixRef<const C>& source, int first, int width, C (&x)[R][W],
                       int (&row)[R]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      row[r] = place(r) < n ? source_row[place(r)] : -1;
#pragma unroll
      for (int c = 0; c < W; ++c) x[r][c] = row[r] >= 0 && c < width ? source(row[r], first + c) : C{};
    }
    // A product with zero is not zero then.
    C products{};
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < W; ++c) products = fused_subtract(products, x[r][c], C{});
    if (!detail::is_zero(products)) atomicOr(non_finite, 1);
  }

  /// After the elimination of the panel from `first`, with all columns up to it in the order of rows that it left.
  template <class Store>
  __device__ void finish_panel(const Store& store, int first) const {
    move_rows(store, min(first + W, n));
    sync();
    if (thread() == 0) *moved = 0;
    if constexpr (Store::copies_triangles) {
      const auto panel = store.panel(first);
      const auto triangle = store.triangle(first);
      for (int e = thread(); e < W * W; e += threads())
        if (first + e % W < n && first + e / W < n) triangle(first + e % W, e / W) = panel(first + e % W, e / W);
      sync();
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

  /// Brings the panel from `first` up to date with the panels before it.
  template <class Store>
  __device__ void update(const Store& store, int first, C (&x)[R][W]) const {
    solve(store, 0, x);
#pragma unroll 1
    for (int k = 0; k < first; k += W) {
      sync();
      const C* const u = solved + k / W % 2 * W * stride;
      take_solved(k, u, x);
      subtract<0>(store.panel(k), k, u, x);
      if (k + W < first) solve(store, k + W, x);
    }
  }

  /// L_kk^-1 times the rows k..k + W - 1 of the panel, by the warp that has them, a column a lane.
  template <class Store>
  __device__ void solve(const Store& store, int k, const C (&x)[R][W]) const {
    if (warp() != k % threads() / 32) return;
    C* const u = solved + k / W % 2 * W * stride;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r) - k;
      if (i >= 0 && i < W) Row::write(u + i * stride, x[r]);
    }
    __syncwarp();
    if (lane() < W) {
      const auto l = store.triangle(k);
      C y[W];
#pragma unroll
      for (int i = 0; i < W; ++i) y[i] = u[i * stride + lane()];
#pragma unroll
      for (int m = 0; m < W - 1; ++m)
#pragma unroll
        for (int i = m + 1; i < W; ++i) y[i] = fused_subtract(y[i], l(k + i, m), y[m]);
#pragma unroll
      for (int i = 0; i < W; ++i) u[i * stride + lane()] = y[i];
    }
  }

  __device__ void take_solved(int k, const C* u, C (&x)[R][W]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r) - k;
      if (i >= 0 && i < W) Row::read(u + i * stride, x[r]);
    }
  }

  /// Subtracts L(:, k..k + W - 1) times u from the rows below; those of slabs before `Slab` are above.
  template <int Slab, class Columns>
  __device__ void subtract(const Columns& l, int k, const C* u, C (&x)[R][W]) const {
    if (last_place(Slab) < k + W) {
      if constexpr (Slab + 1 < R) subtract<Slab + 1>(l, k, u, x);
      return;
    }
    bool below[R];
#pragma unroll
    for (int r = Slab; r < R; ++r) below[r] = place(r) >= k + W && place(r) < n;
    constexpr int depth = 8;  // factors under way
#pragma unroll 1
    for (int m0 = 0; m0 < W; m0 += depth) {
      C factor[R][depth];
#pragma unroll
      for (int m = 0; m < depth; ++m)
#pragma unroll
        for (int r = Slab; r < R; ++r) factor[r][m] = below[r] ? l(place(r), m0 + m) : C{};
      Row::template subtract<Slab>(x, factor, u + m0 * stride);
    }
  }

  /// Elimination within the panel; position[r] is where row r of the thread ends. The factors are stored column by
  /// column, in the order of rows from before.
  template <class Columns>
  __device__ void eliminate(const Columns& panel, int first, int width, C (&x)[R][W], int (&position)[R]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) position[r] = place(r);
    const int lowest = max(first - (R - 1) * threads(), 0) / 32;  // warps before it are above
    if (warp() < lowest) return;
    Candidate candidate = find_candidate(first, x, position);
    eliminate_columns<W>(panel, first, 0, min(W / 2, width), lowest, x, position, candidate);
    eliminate_columns<W / 2>(panel, first, W / 2, width, lowest, x, position, candidate);
  }

  /// This thread's best row, and whether it is the warp's.
  struct Candidate {
    PivotOffer offer;
    int slab;
    bool best;
  };

  /// Columns begin..end - 1 of the panel, of which the registers hold Live from `begin` on. The loop stays rolled,
  /// since its code would not stay in the instruction cache: a step reads register c and writes register c - 1.
  template <int Live, class Columns>
  __device__ void eliminate_columns(const Columns& panel, int first, int begin, int end, int lowest, C (&x)[R][W],
                                    int (&position)[R], Candidate& candidate) const {
#pragma unroll 1
    for (int column = begin; column < end; ++column) {
      const int step = first + column, buffer = column % 2 * warps();
      if (candidate.best) publish<Live>(candidate, buffer + warp(), x);
      sync_from(lowest);
      const PivotOffer pivot = best_offer(offers + buffer + lowest, warps() - lowest);
      note_pivot(pivot, step);
      const C* const u = offered + (buffer + pivot.warp) * stride;
      C factor[R];
      quotients(pivot, step, u[0], x, position, factor);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (place(r) >= first && place(r) < n) panel(place(r), column) = position[r] > step ? factor[r] : x[r][0];
        x[r][0] = fused_subtract(x[r][1], factor[r], u[1]);
      }
      // The next pivot is looked for before the rest is updated.
      candidate = find_candidate(step + 1, x, position);
#pragma unroll
      for (int c = 2; c < Live; ++c) {
        const C value = u[c];
#pragma unroll
        for (int r = 0; r < R; ++r) x[r][c - 1] = fused_subtract(x[r][c], factor[r], value);
      }
    }
  }

  __device__ void note_pivot(const PivotOffer& pivot, int step) const {
    if (thread() != threads() - 1) return;
    pivots[step] = static_cast<int>(pivot.position);
    if (pivot.is_zero() && *info == 0) *info = step + 1;
  }

  /// Moves the pivot row to position `step`, and divides the first elements of the rows below; zero for the others.
  __device__ static void quotients(const PivotOffer& offer, int step, C pivot, const C (&x)[R][W], int (&position)[R],
                                   C (&factor)[R]) {
    const int p = static_cast<int>(offer.position);
    const Divisor<C> divisor(pivot);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      position[r] = position[r] == p ? step : position[r] == step ? p : position[r];
      factor[r] = position[r] > step && !offer.is_zero() ? divisor.divide(x[r][0]) : C{};
    }
  }

  /// Among the rows at positions from `step` on, by the first element.
  __device__ Candidate find_candidate(int step, const C (&x)[R][W], const int (&position)[R]) const {
    Candidate own{PivotOffer::none(static_cast<unsigned>(thread())), 0, false};
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const PivotOffer offer = pivot_offer(detail::abs1(x[r][0]), position[r], warp());
      if (position[r] >= step && position[r] < n && offer.beats(own.offer)) {
        own.offer = offer;
        own.slab = r;
      }
    }
    own.best = is_best_of_warp(own.offer);
    return own;
  }

  template <int Live>
  __device__ void publish(const Candidate& own, int number, const C (&x)[R][W]) const {
    offers[number] = own.offer;
#pragma unroll
    for (int r = 0; r < R; ++r)
      if (R == 1 || r == own.slab) Row::template write<Live>(offered + number * stride, x[r]);
  }

  /// Barrier of the warps from `lowest` on.
  __device__ static void sync_from(int lowest) {
    if constexpr (one_warp)
      __syncwarp();
    else
      asm volatile("bar.sync 1, %0;" ::"r"((warps() - lowest) * 32) : "memory");
  }

  /// The rows above the panel's own are finished.
  __device__ void store_upper(const detail::MatrixRef<C>& target, int first, int width, const C (&x)[R][W]) const {
#pragma unroll
    for (int r = 0; r < R; ++r)
      if (place(r) < first)
#pragma unroll
        for (int c = 0; c < W; ++c)
          if (c < width) target(place(r), first + c) = x[r][c];
  }

  __device__ void note_moves(const int (&row)[R], const int (&position)[R]) const {
#pragma unroll
    for (int r = 0; r < R; ++r)
      if (position[r] != place(r)) {
        source_row[position[r]] = row[r];
        moves[atomicAdd(moved, 1)] = make_int2(place(r), position[r]);
      }
  }
};

}  // namespace blockjacobi::kernels
