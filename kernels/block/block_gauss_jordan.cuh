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
#include <type_traits>

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
  int buffers;        ///< panels of which B is in shared memory, a power of two
  int stages;         ///< pieces of P that a warp has in shared memory

  /// Threads that have all rows.
  __host__ __device__ static constexpr int threads(int n) { return (n + 31) / 32 * 32; }

  static constexpr int staged_bytes = Product::staged * static_cast<int>(sizeof(double));
  static constexpr int piece_bytes = Product::piece * static_cast<int>(sizeof(C));

  /// For matrices of orders up to n.
  static constexpr GaussJordanPolicy policy(int n) { return gauss_jordan_policy(static_cast<int>(sizeof(C) / 4), n); }

  __host__ __device__ static constexpr GaussJordanLayout of(int n, const GaussJordanPolicy& policy) {
    constexpr int element = static_cast<int>(sizeof(C));
    if (policy.place == GaussJordanPlace::resident) return resident(n);
    const int rows = (n + 7) / 8 * 8, rounded = (n + W - 1) / W * W, ld = Tile::conflict_free_ld(rows);
    const int columns = policy.place == GaussJordanPlace::whole || rounded < outer ? rounded : outer;
    const int staged = (W * Tile::conflict_free_stride(columns) + 3) / 4 * 4, panel = (ld * columns + 3) / 4 * 4;
    const int buffers = n <= 2 * outer ? 1 : 2;
    const int products =
        columns < n ? (buffers * staged_bytes + threads(n) / 32 * policy.stages * piece_bytes) / element - staged : 0;
    return {rows, ld, columns, staged, products > panel ? products : panel, buffers, policy.stages};
  }

 private:
  __host__ __device__ static constexpr GaussJordanLayout resident(int n) {
    constexpr int inner = W * Tile::conflict_free_stride(outer), product = staged_bytes / static_cast<int>(sizeof(C));
    constexpr int staged = ((inner > product ? inner : product) + 3) / 4 * 4;
    const int rows = (n + 7) / 8 * 8, ld = Tile::conflict_free_ld(rows), panels = (n + outer - 1) / outer;
    return {rows, ld, outer, staged, (panels - 1) * ld * outer, 1, 0};
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
/// within the panel in shared memory after each inner panel. Outside of it a panel takes it in the registers of the
/// thread block, as sums of the tensor cores. If all panels stay on the multiprocessor, they take it one after the
/// other after each elimination. If not, when they are needed, a panel all that stand before it together just before it
/// is eliminated, and all that stand behind it at the end (left-looking): each P is then read from global memory once.
///
/// Rows stay where they are: step k has pivot row p(k). At the end X(i, p(l)) = a(p(i), l). Column l is kept as column
/// p(l) from its elimination on, unless the matrix is inverted in its place.
template <class C, int W, int MostWarps = largest_blocked_order / 32>
struct BlockGaussJordan {
  using Layout = GaussJordanLayout<C, W>;
  using Tile = UpdateTile<C, W>;
  using Product = typename Layout::Product;
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int outer = Layout::outer;
  static constexpr int not_yet = INT_MAX;
  static constexpr int most_resident_panels = 4;
  static constexpr int most_rows = largest_blocked_order;

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
  __device__ BlockGaussJordan(unsigned char* shared, int n_, const Layout& layout_)
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

  /// `target` may be `source`; it is undefined if the outcome is not regular. Uniform in the thread block.
  __device__ Outcome run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    return layout.panel_columns < n ? by_panels(source, target) : at_once(source, target);
  }

  /// The same, for a matrix in a place that is known in advance.
  template <GaussJordanPlace Place>
  __device__ Outcome run_in(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    if constexpr (Place == GaussJordanPlace::whole)
      return at_once(source, target);
    else if constexpr (Place == GaussJordanPlace::resident)
      return resident(source, target);
    else
      return by_panels(source, target);
  }

 private:
  /// For a matrix that is one panel.
  __device__ Outcome at_once(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    start();
    load(source);
    const int info = eliminate_panel(0, n);
    __syncthreads();
    if (info != 0 || keys.non_finite != 0) return {info, false};
    write_permuted(target);
    return {0, true};
  }

  /// For a matrix of up to most_resident_panels panels that all stay on the multiprocessor (right-looking): one is in
  /// registers, the others are in shared memory, where the first of them is eliminated and the others are parked.
  __device__ Outcome resident(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    const int panels = (n + outer - 1) / outer, parked = panels - 2, size = layout.ld * outer;
    BlockGaussJordan here = *this;
    C* first_parked = panel + size;
    const auto parking = [&](int i) { return i == 0 ? first_parked : panel + (i + 1) * size; };
    // with these places the panel that is the next to be eliminated is always the first parked one
    const int in_registers = parked == 2 ? 2 : 1;
    Product tile;
    start();
    here.load_panel(source, 0);
    for (int i = 0; i < parked; ++i) {
      here.panel = parking(i);
      here.load_panel(source, (parked == 1 ? 2 : i == 0 ? 3 : 1) * outer);
    }
    here.panel = panel;
    __pipeline_commit();
    __syncthreads();
    load_tile(tile, source, in_registers * outer);
    __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < n; first += outer) {
      const int info = here.eliminate_panel(first, min(outer, n - first));
      __syncthreads();
      if (info != 0 || keys.non_finite != 0) return {info, false};
      here.transform(tile, first);
#pragma unroll 1
      for (int i = parked - 1; i >= 0; --i) {
        exchange(tile, parking(i));
        __syncthreads();
        here.transform(tile, first);
      }
      if (first + outer >= n) break;
      if (parked > 0)
        exchange(here.panel, first_parked);
      else
        exchange(tile, here.panel);
      __syncthreads();
    }
    here.store_rows(target, (panels - 1) * outer);
    for (int i = 0; i < parked; ++i) {
      here.panel = parking(i);
      here.store_rows(target, i * outer);
    }
    __syncthreads();
    here.put(tile, false);
    __syncthreads();
    here.store_rows(target, parked * outer);
    return {0, true};
  }

  /// For a matrix of several panels, all but one of which are in global memory.
  __device__ Outcome by_panels(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    const bool in_place = source.data == target.data;
    const detail::MatrixRef<const C> transformed{target.data, n, n, target.ld};
    start();
    const int panels = (n + outer - 1) / outer;
    __syncthreads();
    // the next panel is on its way while one is stored, if there are registers for both and nothing to convert
    constexpr bool ahead = std::is_same_v<C, double>;
    Product tile;
    const auto load = [&](int turn) {
      load_tile(tile, turn < panels ? source : transformed, (turn < panels ? turn : turn - panels) * outer);
    };
    if (ahead) load(0);
#pragma unroll 1
    for (int turn = 0; turn < 2 * panels; ++turn) {
      const bool final = turn >= panels;
      const int first = (final ? turn - panels : turn) * outer, width = min(outer, n - first);
      if (!ahead) load(turn);
      apply(tile, transformed, final ? first + width : 0, final ? n : first);
      __syncthreads();
      put(tile, final);
      if (!final) {
        const int info = eliminate_panel(first, width);
        __syncthreads();
        if (info != 0 || keys.non_finite != 0) return {info, false};
        if (!in_place && thread() < width) state[first + thread()].place = state[first + thread()].pivot_row;
      }
      __syncthreads();
      if (ahead && turn + 1 < 2 * panels) load(turn + 1);
      store_panel(target, first, width);
      __syncthreads();
    }
    if (in_place) permute_columns(target);
    return {0, true};
  }

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
  /// With one multiplication of 32 bits.
  template <class T>
  __device__ static T* column_of(const detail::MatrixRef<T>& a, int j) {
    return a.data + static_cast<std::size_t>(static_cast<unsigned>(j)) * static_cast<unsigned>(a.ld);
  }

  /// The first row of this lane in the tile of its warp, and how many of them the matrix has.
  __device__ static int top_row() { return 32 * warp() + Product::row(0); }
  __device__ int tile_rows() const { return (n - top_row() + 7) / 8; }

  /// Columns first..first + outer - 1 of `from`, those behind the matrix zero.
  __device__ void load_tile(Product& tile, const detail::MatrixRef<const C>& from, int first) const {
    const int rows = tile_rows();
#pragma unroll
    for (int c = 0; c < Product::groups; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const int l = first + Product::column(c, v);
        const bool exists = l < n;
        const C* const column = column_of(from, state[min(l, n - 1)].place) + top_row();
#pragma unroll
        for (int t = 0; t < Product::rows; ++t) tile.set(t, c, v, t < rows && exists ? column[8 * t] : C{});
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

  /// The transformations of the steps begin..end - 1, panel by panel. The pivot rows of one go through shared memory,
  /// for which all wait; each warp brings its rows of P there for itself, some pieces ahead. Columns behind the matrix
  /// meet rows behind it.
  __device__ void apply(Product& tile, const detail::MatrixRef<const C>& x, int begin, int end) const {
    constexpr int depth = Product::depth;
    double* const rows_of_b = reinterpret_cast<double*>(staged);
    C* const pieces =
        reinterpret_cast<C*>(rows_of_b + layout.buffers * Product::staged) + warp() * layout.stages * Product::piece;
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
      double* const b = rows_of_b + (k / outer & (layout.buffers - 1)) * Product::staged;
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
          tile.add(pieces + slot * Product::piece, Product::ld, Product::rows, b + (l - k) * Product::stride);
          free = slot;
          slot = slot + 1 == layout.stages ? 0 : slot + 1;
        }
    }
  }

  /// The panel in shared memory to its columns.
  __device__ void store_panel(const detail::MatrixRef<C>& to, int first, int width) const {
    if (thread() < n) store_row(to, width, thread(), [&](int c) { return state[first + c].place; });
  }
  /// Row i of the panel, its column c to column place(c). Some elements are read before any is stored: the compiler
  /// does not know that loads from shared memory need not wait for stores to global memory.
  template <class Place>
  __device__ void store_row(const detail::MatrixRef<C>& to, int width, int i, Place place) const {
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
        if (c + u < width) column_of(to, column[u])[thread()] = x[u];
    }
  }

  /// Starts to copy the columns from `first` on; what is behind the matrix in the panel is zero.
  __device__ void load_panel(const detail::MatrixRef<const C>& a, int first) const {
    const int copied = thread() < n ? min(outer, n - first) : 0;
    if (!has_row()) return;
#pragma unroll 4
    for (int c = 0; c < copied; ++c) copy_async(&at(thread(), c), column_of(a, first + c) + thread());
    for (int c = copied; c < outer; ++c) at(thread(), c) = C{};
  }

  /// The transformation of the panel that was eliminated, steps from `first` on.
  __device__ void transform(Product& tile, int first) const {
    double* const b = reinterpret_cast<double*>(staged);
    if (has_rows())
#pragma unroll
      for (int t = 0; t < Product::rows; ++t) {
        const int step = state[top_row() + 8 * t].step - first;
        if (step >= 0 && step < outer) tile.move_row(t, b, step);
      }
    __syncthreads();
    if (has_rows())
#pragma unroll 1
      for (int l = 0; l < min(outer, n - first); l += Product::depth)
        tile.add(panel + 32 * warp() + l * layout.ld, layout.ld, (layout.rows - 32 * warp()) / 8,
                 b + l * Product::stride);
  }

  /// The panel in registers and the one at `at` change places, each warp its rows.
  __device__ void exchange(Product& tile, C* at) const {
    __syncwarp();
#pragma unroll
    for (int t = 0; t < Product::rows; ++t)
      if (32 * warp() + 8 * t < layout.rows)
#pragma unroll
        for (int c = 0; c < Product::groups; ++c)
#pragma unroll
          for (int v = 0; v < 2; ++v) {
            C& there = at[top_row() + 8 * t + Product::column(c, v) * layout.ld];
            const C x = there;
            there = tile.rounded(t, c, v);
            tile.set(t, c, v, x);
          }
    __syncwarp();
  }

  /// The panel of steps from `first` on to its columns and rows of the inverse.
  __device__ void store_rows(const detail::MatrixRef<C>& to, int first) const {
    if (thread() < n)
      store_row(to, min(outer, n - first), state[thread()].pivot_row,
                [&](int c) { return state[first + c].pivot_row; });
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

  template <class T>
  __device__ static void exchange(T& a, T& b) {
    const T c = a;
    a = b;
    b = c;
  }
  __device__ static unsigned best_key(const unsigned* of) {
    if constexpr (MostWarps > 4)
      if (warps() > 4) return __reduce_max_sync(full_warp, of[lane() % Keys::size]);
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

  __device__ void write_permuted(const detail::MatrixRef<C>& x) const {
    if (thread() < n) store_row(x, n, state[thread()].pivot_row, [&](int c) { return state[c].pivot_row; });
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
