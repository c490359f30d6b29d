#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/panel.cuh"
#include "kernels/collectives/rows.cuh"
#include "kernels/collectives/stepped_ref.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/inverse/cta_layout.cuh"

namespace blockjacobi::kernels {

/// What happens to elements on their way into an elimination and out of it: nothing. One that changes them (`changes`)
/// has
///   find(maxima): whether to go on, before anything arrives; called if the matrix is one panel, from which the maxima
///     are, see PanelMaxima;
///   arrive(tile, first): the columns from `first` on of a matrix have come to the tile of this warp, which has rows;
///   arrive(row, ld, first, width): the same of the thread's row in shared memory;
///   arrived() and leaving(), if the whole matrix is on the multiprocessor: between them the elimination uses `staged`;
///   leave(): for the thread's row of the inverse, the function of (column, element) whose value is stored, and end().
struct Unchanged {
  static constexpr bool changes = false;
  template <class... Any>
  __device__ void arrive(Any&&...) const {}
  __device__ void arrived() const {}
  __device__ void leaving() const {}
  struct Row {
    template <class C>
    __device__ C operator()(int, C x) const {
      return x;
    }
    __device__ void end() const {}
  };
  __device__ Row leave() const { return {}; }
};

/// The panel at work of CtaGaussJordan in shared memory, what became of rows and columns so far, and the elimination
/// of the panel by the thread block.
template <class C, int W, int MostWarps>
struct GaussJordanPanel {
  using Layout = GaussJordanLayout<C, W>;
  using Tile = UpdateTile<C, W>;
  using Product = typename Layout::Product;
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int outer = Layout::outer;
  static constexpr int not_yet = INT_MAX;
  static constexpr int most_rows = largest_order;

  /// A warp's best row of the panel at work. The element that may be the pivot has given its place to the inverse of
  /// its product with `power`: the step needs that and the next element first, which one access brings.
  struct alignas(16) Offer {
    C row[W];
    Real power;
  };
  /// Of the warps, for steps in turn; 0 of those that are not there.
  struct alignas(16) Keys {
    static constexpr int size = MostWarps <= 4 ? 4 : 16;
    unsigned of[2][size];
    int non_finite;  ///< whether the matrix had NaN or Inf
    int info;        ///< of the panel that was eliminated last, for the other thread blocks of a cluster
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
  Offer* offers;  ///< of the warps, for steps in turn
  State* state;   ///< of the rows of all warps
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
  __device__ GaussJordanPanel(unsigned char* shared, int n_, const Layout& layout_)
      : n(n_),
        layout(layout_),
        keys(*reinterpret_cast<Keys*>(shared)),
        offers(reinterpret_cast<Offer*>(&keys + 1)),
        state(reinterpret_cast<State*>(offers + 2 * Layout::threads(n) / 32)),
        staged(reinterpret_cast<C*>(reinterpret_cast<unsigned char*>(state) + state_bytes(n))),
        panel(staged + layout.staged) {}

  /// What became of a matrix: info as LAPACK's getrf, and whether there is an inverse.
  struct Outcome {
    int info;
    bool regular;
  };

  __device__ void start() const {
    if (has_rows()) {
      state[thread()].step = thread() < n ? not_yet : thread();
      state[thread()].place = thread();
    }
    if (thread() < 2 * Keys::size) keys.of[thread() / Keys::size][thread() % Keys::size] = 0;
    if (thread() == 0) keys.non_finite = 0;
  }

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
  template <class T>
  __device__ static void exchange(T& a, T& b) {
    const T c = a;
    a = b;
    b = c;
  }

  /// The first row of this lane in the tile of its warp, and how many of them the matrix has.
  __device__ static int top_row() { return 32 * warp() + Product::row(0); }
  __device__ int tile_rows() const { return (n - top_row() + 7) / 8; }

  /// Starts to copy the columns from `first` on; what is behind the matrix in the panel is zero.
  __device__ void load_panel(const detail::MatrixRef<const C>& a, int first) const {
    const int copied = thread() < n ? min(outer, n - first) : 0;
    if (!has_row()) return;
#pragma unroll 4
    for (int c = 0; c < copied; ++c) copy_async(&at(thread(), c), column_of(a, first + c) + thread());
    for (int c = copied; c < outer; ++c) at(thread(), c) = C{};
  }

  /// The same of `columns` columns, in whose order elements may stand row by row too: 8 rows and 4 columns at once.
  __device__ void load_panel(const SteppedRef<const C>& a, int first, int columns = outer) const {
    for (int i = 8 * warp() + lane() / 4; i < layout.rows; i += 8 * warps()) {
      const C* const from = &a(i, first);
#pragma unroll 8
      for (int c = lane() % 4; c < columns; c += 4)
        if (i < n && first + c < n)
          copy_async(&at(i, c), from + c * a.column_step);
        else
          at(i, c) = C{};
    }
  }

  /// Zeros to all panels, with a barrier.
  __device__ void clear() const {
    constexpr int size = Vector16<C>::size;
    Vector16<C>* const to = reinterpret_cast<Vector16<C>*>(panel);
    for (int e = thread(); e < layout.panel / size; e += threads()) to[e] = {};
    __syncthreads();
  }

  /// Columns first..first + outer - 1 of `from`, those behind the matrix zero.
  template <class Source>
  __device__ void load_tile(Product& tile, const Source& from, int first) const {
    const int rows = tile_rows();
#pragma unroll
    for (int c = 0; c < Product::groups; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const int l = first + Product::column(c, v);
        const bool exists = l < n;
        const C* const column = column_of(from, state[min(l, n - 1)].place) + top_row() * row_step(from);
#pragma unroll
        for (int t = 0; t < Product::rows; ++t)
          tile.set(t, c, v, t < rows && exists ? column[8 * t * row_step(from)] : C{});
      }
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

  /// Row i of the panel, leaving(c, place(c), x) of its column c to column place(c). Some elements are read before any
  /// is stored: the compiler does not know that loads from shared memory need not wait for stores to global memory.
  template <class Place, class Leaving>
  __device__ void store_row(const detail::MatrixRef<C>& to, int width, int i, Place place, Leaving leaving) const {
    constexpr int batch = 8;
#pragma unroll 1
    for (int c = 0; c < width; c += batch) {
      int column[batch];
      C x[batch];
#pragma unroll
      for (int u = 0; u < batch; ++u) {
        const int known = min(c + u, width - 1);
        column[u] = place(known);
        x[u] = at(i, known);
      }
#pragma unroll
      for (int u = 0; u < batch; ++u)
        if (c + u < width) column_of(to, column[u])[thread()] = leaving(c + u, column[u], x[u]);
    }
  }

  /// The panel of `width` steps from `first` on to its columns and rows of the inverse.
  template <class Passage>
  __device__ void store_rows(const detail::MatrixRef<C>& to, int first, int width, const Passage& passage) const {
    if (thread() < n) {
      auto row = passage.leave();
      store_row(
          to, width, state[thread()].pivot_row, [&](int c) { return state[first + c].pivot_row; },
          [&](int, int column, C x) { return row(column, x); });
      row.end();
    }
  }
  template <class Passage>
  __device__ void store_rows(const detail::MatrixRef<C>& to, int first, const Passage& passage) const {
    store_rows(to, first, min(outer, n - first), passage);
  }

  /// All steps of the panel, and a barrier; returns 0, or the step (1-based) whose pivot is exactly zero.
  __device__ int eliminate_panel(int first, int width) const {
    const int info = eliminate_steps(first, width);
    __syncthreads();
    return info;
  }

 private:
  __device__ int eliminate_steps(int first, int width) const {
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

  /// The magnitude words of NaN and Inf are at least this.
  static constexpr unsigned non_finite_word = static_cast<unsigned>(ExponentField<Real>::top)
                                              << ExponentField<Real>::shift;
  /// Of the parts of x.
  __device__ static unsigned largest_word(C x) {
    if constexpr (detail::Arithmetic<C>::is_complex)
      return max(magnitude_word(x.re), magnitude_word(x.im));
    else
      return magnitude_word(x);
  }

  /// How good a row is as the next pivot, the larger the better, is one word, so that one reduction finds the best: the
  /// magnitude of its element above what is larger for upper rows. Below most_rows the element is zero.
  __device__ static unsigned magnitude_in_key(C x) {
    return max(magnitude_word(x) / most_rows * most_rows, nonzero(x) ? most_rows : 0u);
  }
  __device__ static unsigned row_in_key() { return most_rows - 1 - threadIdx.x; }
  __device__ static int row_of_key(unsigned key) { return static_cast<int>(most_rows - 1 - key % most_rows); }

  __device__ static unsigned best_key(const unsigned* of) {
    // why not by warps(): ptxas 13.0 then has lanes that rows chose take part in the reduction, in one kernel of set-up
    if constexpr (MostWarps > 4) return __reduce_max_sync(full_warp, of[lane() % Keys::size]);
    const uint4 four = *reinterpret_cast<const uint4*>(of);
    return max(max(four.x, four.y), max(four.z, four.w));
  }

  /// Steps first..first + width - 1 within the columns from c0 of the panel. Lane l keeps the pivot row of step l.
  /// Returns how many steps had a pivot. The loop stays rolled, since its code would not stay in the instruction cache:
  /// a step reads register c and writes register c - 1.
  __device__ int eliminate(int first, int c0, int width, int& own_pivot) const {
    C x[W]{};
    C* const own = &at(thread(), c0);
    int step = 0;
    if (has_row()) {
      step = state[thread()].step;
#pragma unroll
      for (int c = 0; c < W; ++c) x[c] = own[c * layout.ld];
    }
    unsigned largest = 0;
#pragma unroll
    for (int c = 0; c < W; ++c) largest = max(largest, largest_word(x[c]));
    if (largest >= non_finite_word) atomicOr(&keys.non_finite, 1);
    unsigned candidate = step == not_yet ? ~0u : 0u;
    // addresses of this step and of the next
    Offer *offer_now = offers + warp(), *offer_next = offer_now + Layout::threads(n) / 32;
    unsigned *key_now = &keys.of[0][warp()], *key_next = &keys.of[1][warp()];
    int l = 0;
#pragma unroll 1
    for (; l < width; ++l) {
      const unsigned key = (magnitude_in_key(x[0]) & candidate) | row_in_key();
      const unsigned best = __reduce_max_sync(full_warp, key);
      const Divisor<C> divisor(x[0]);
      if (key == best && has_rows()) {
        const C pivot = x[0];
        x[0] = divisor.inverse;
        Rows<C, W>::write(offer_now->row, x);
        x[0] = pivot;
        offer_now->power = divisor.power;
        *key_now = best;
      }
      __syncthreads();
      const unsigned top = best_key(key_now - warp());
      if (top < most_rows) break;
      const int pivot = row_of_key(top);
      const Offer& offer = offer_now[pivot / 32 - warp()];
      const Real power = offer.power;
      if (lane() == l) own_pivot = pivot;
      const bool chosen = thread() == pivot;  // becomes its part of the identity
      if (chosen) step = first + l;
      if (chosen) candidate = 0;
      x[0] = chosen ? detail::from_real<C>(Real(-1)) : x[0];
#pragma unroll
      for (int c = 1; c < W; ++c) x[c] = chosen ? C{} : x[c];
      constexpr int size = Vector16<C>::size;
      C factor;
#pragma unroll
      for (int p = 0; p < W / size; ++p) {
        const auto part = reinterpret_cast<const Vector16<C>*>(offer.row)[p];
        if (p == 0) factor = scaled(x[0], power) * part.value[0];
#pragma unroll
        for (int v = 0; v < size; ++v) {
          const int c = p * size + v;
          if (c > 0) x[c - 1] = fused_subtract(x[c], factor, part.value[v]);
        }
      }
      x[W - 1] = -factor;
      exchange(offer_now, offer_next);
      exchange(key_now, key_next);
    }
    if (thread() < l) state[first + thread()].pivot_row = own_pivot;
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
};

}  // namespace blockjacobi::kernels
