#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/crew.cuh"
#include "kernels/collectives/tensor_tile.cuh"
#include "kernels/lu/cta_row_panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of one n x n matrix in global memory by a thread block, left-looking by
/// panels of 32 columns (16 complex ones), a warp for 32 rows.
///
/// All that is left of a panel is applied to it while it is in registers, in fp64 on the tensor cores: its transpose
/// lies in tiles over the warps, whose left operands are rows of U from shared memory and whose right ones rows of L
/// straight from global memory. The rows of U of a panel are solved for by the warp that has them, by tiles. Then 8
/// columns at a time are eliminated by RowPanel, with a row a thread, and the products with their pivot rows are
/// subtracted from the columns of the panel that are left, which stay in registers.
///
/// Rows left of a panel are interchanged after it, in the first columns at once and in the others by those warps that
/// have no part in the products of the next panel, before these read them. Rows on its right are interchanged when
/// they are loaded.
///
/// `far`: the matrices do not stay in the L2 cache from one panel to the next.
template <class C, bool far>
struct LeftLu {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int width = Tile::is_complex ? 16 : 32;
  static constexpr int across = width / Tile::order, down = 32 / Tile::order;
  using Panel = RowPanel<C>;
  using Tiles = Tile[across][down];
  static constexpr int parts = Tile::is_complex ? 2 : 1;
  static constexpr int tile_doubles = 64 * parts;
  /// Tiles under way from global memory; bounded by registers.
  static constexpr int ahead = sizeof(C) == 16 ? (far ? 1 : 2) : 4;
  /// Whether rows are interchanged during the products of the next panel; for double it takes registers that are worth
  /// more elsewhere, unless the matrices are far.
  static constexpr bool overlapped = far || !std::is_same_v<C, double>;
  /// Columns in which they are interchanged before that panel: products of a panel read from that on its right too.
  static constexpr int interchanged_at_once = 3 * width;

  /// The triangle of a panel as right operands: inverses of the tiles on the diagonal and what is below them.
  struct alignas(16) Triangle {
    double tiles[across * (across + 1) / 2][tile_doubles];
  };
  /// Rows of U of a panel as left operands, negative.
  struct alignas(16) UpperRows {
    double pairs[across][across / 2][2 * tile_doubles];
  };

  __host__ __device__ static constexpr int warps_for(int n) { return (n + 31) / 32; }
  __host__ __device__ static constexpr int panels(int n) { return (n + width - 1) / width; }
  __host__ __device__ static constexpr int leading_dimension(int n) {
    return 32 * warps_for(n) + (sizeof(C) == 16 ? 1 : 4);
  }
  __host__ __device__ static constexpr std::size_t panel_bytes(int n) {
    const auto bytes = static_cast<std::size_t>(width * leading_dimension(n)) * sizeof(C);
    return bytes > 2 * sizeof(UpperRows) ? (bytes + 15) / 16 * 16 : 2 * sizeof(UpperRows);
  }
  /// The candidates of a panel take the place of triangles that do not exist yet.
  __host__ __device__ static constexpr std::size_t triangles_bytes(int n) {
    return static_cast<std::size_t>(panels(n) - 1) * sizeof(Triangle) + 4 * sizeof(typename Panel::Candidate);
  }
  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return panel_bytes(n) + triangles_bytes(n) + across * tile_doubles * sizeof(double) +
           2 * Panel::most_warps * sizeof(unsigned) + 2 * warps_for(n) * sizeof(PivotOffer) +
           static_cast<std::size_t>(32 * warps_for(n) + 3 * width + 1) * sizeof(int);
  }

  unsigned char* shared;  ///< bytes(n)
  int n;

  /// In place, by the warps that have rows. Returns the first step whose pivot is zero (from 1), or 0.
  __device__ int run(const detail::MatrixRef<C>& a, index_t* ipiv) const {
    origin()[thread()] = thread();
    if (thread() == 0) *first_zero() = n;
    fetch(a, 0);
    __pipeline_wait_prior(0);
    sync();
#pragma unroll 1
    for (int first = 0; first < n; first += width) {
      const int position = factor_panel(a, first, ipiv);
      store_panel(a, first, position);
      const int from = origin()[thread()];
      sync();
      if (first + width < n) fetch(a, first + width);
      if (position >= 0) origin()[position] = from;
      const bool last = first + width >= n;
      if (!last && warp() == warps() - 1) invert_diagonal(triangle(first));
      const int crew = overlapped ? warps() - 1 : warps();
      if (warp() < crew)
        interchange(a, first, 0, overlapped && !last ? min(first, interchanged_at_once) : first, warp(), crew);
      __pipeline_wait_prior(0);
      sync();
    }
    return *first_zero() < n ? *first_zero() + 1 : 0;
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }
  __device__ int warps() const { return warps_for(n); }
  /// Of all warps; those without rows have left.
  __device__ static void sync() { __syncthreads(); }

  // In shared memory; the rows of U of two panels take the place of the panel.
  __device__ C& at(int i, int c) const { return reinterpret_cast<C*>(shared)[i + c * leading_dimension(n)]; }
  __device__ UpperRows& upper_rows(int k) const { return reinterpret_cast<UpperRows*>(shared)[k / width % 2]; }
  /// Of the panel that begins with column k.
  __device__ Triangle& triangle(int k) const { return reinterpret_cast<Triangle*>(shared + panel_bytes(n))[k / width]; }
  /// Of columns 16 c..16 c + 15 of the panel: the pivot rows of 8 steps, as left operand.
  __device__ double* pivot_rows(int c) const {
    return reinterpret_cast<double*>(shared + panel_bytes(n) + triangles_bytes(n)) + c * 2 * tile_doubles;
  }
  __device__ unsigned* magnitudes() const { return reinterpret_cast<unsigned*>(pivot_rows(across / 2)); }
  __device__ PivotOffer* offers() const { return reinterpret_cast<PivotOffer*>(magnitudes() + 2 * Panel::most_warps); }
  /// Of each row: its place in columns that are not factorized yet.
  __device__ int* origin() const { return reinterpret_cast<int*>(offers() + 2 * warps()); }
  /// Of each row of a panel, where it was.
  __device__ int* source() const { return origin() + 32 * warps(); }
  /// Of each row that was there, where it is.
  __device__ int* target() const { return source() + width; }
  __device__ int* pivots() const { return target() + width; }
  /// The first step whose pivot is zero.
  __device__ int* first_zero() const { return pivots() + width; }

  /// Starts to bring this warp's rows of the panel to shared memory, in their first order.
  __device__ void fetch(const detail::MatrixRef<C>& a, int first) const {
    const int count = min(width, n - first);
    const C* from = &a(thread(), first);
    C* to = &at(thread(), 0);
    if (thread() < n) {
#pragma unroll 4
      for (int c = 0; c < count; ++c, from += a.ld, to += leading_dimension(n)) copy_async(to, from);
    }
    __pipeline_commit();
  }

  /// Leaves the panel in shared memory, each row where it was. Returns the new position of this thread's row, or -1.
  __device__ int factor_panel(const detail::MatrixRef<C>& a, int first, index_t* ipiv) const {
    Tiles x;
    load_tiles(x, first);
    sync();
    int position = thread() < n ? thread() : -1;
    const int first_warp = first / 32, crew = warps() - first_warp, count = min(width, n - first);
    if (first > 0) apply(a, x, first);
    if (warp() < first_warp) return position;
    eliminate<0>(x, position, first, count, warp() - first_warp, crew);
    __syncwarp();
    if (warp() == first_warp && lane() < count) ipiv[first + lane()] = pivots()[lane()] + 1;
    return position;
  }

  /// Subtracts what is left of the panel from its rows.
  __device__ void apply(const detail::MatrixRef<C>& a, Tiles& x, int first) const {
    Stream stream = first_tiles(a);
#pragma unroll 1
    for (int k = 0; k < first; k += width) {
      UpperRows& rows = upper_rows(k);
      const bool owner = warp() == k / 32;
      if (owner) {
        if (k % 32 == 0)
          solve<0>(x, triangle(k), rows);
        else
          solve<down - across>(x, triangle(k), rows);
      }
      sync();
      if (owner) store_upper(a, x, k, first);
      if (warp() < warps_before(k))
        interchange_ahead(a, first, k);
      else
        subtract(x, stream, a, rows, first - k);
    }
    sync();
  }
  /// Warps whose rows of U end with the panel from column k on.
  __device__ static int warps_before(int k) { return (k + width) / 32; }

  /// What a warp without rows does during the products with the panel from column k on: the interchanges of the last
  /// panel, in those columns that are multiplied two panels later.
  __device__ void interchange_ahead(const detail::MatrixRef<C>& a, int first, int k) const {
    const int last = first - width, begin = k - width + interchanged_at_once;
    if (overlapped && k > 0) interchange(a, last, begin, min(last, begin + width), warp(), warps_before(k));
  }

  /// Column G of the tiles and all that follow, by a crew of warps. While they are in registers shared memory is free
  /// for the operands of the update.
  template <int G>
  __device__ void eliminate(Tiles& x, int& position, int first, int count, int rank, int crew) const {
    Triangle& unused = triangle(min(first + width, (n - 1) / width * width));
    const typename Panel::Exchange exchange{reinterpret_cast<typename Panel::Candidate*>(&unused), offers(),
                                            magnitudes(), pivots() + 8 * G};
#pragma unroll
    for (int r = 0; r < down; ++r)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
        at(32 * warp() + 8 * r + Tile::column(v), 8 * G + Tile::row()) = detail::narrow<C>(x[G][r].get(v));
    __syncwarp();
    Panel rows;
    rows.position = position;
#pragma unroll
    for (int c = 0; c < 8; ++c) rows.x[c] = at(thread(), 8 * G + c);
    rows.eliminate(exchange, rank, crew, first + 8 * G, min(8, count - 8 * G),
                   [&](int c, C value) { at(thread(), 8 * G + c) = value; });
    position = rows.position;
    if constexpr (G + 1 < across) {
      if (count <= 8 * (G + 1)) return;
      publish_pivot_rows<G>(x, position - first - 8 * G);
#pragma unroll
      for (int c = 0; c < 8; ++c) at(thread(), 8 * (G + 1) + c) = rows.x[c];
      sync_crew(crew);
      update<G>(x);
      __syncwarp();
      eliminate<G + 1>(x, position, first, count, rank, crew);
    }
  }

  /// What this warp's pivot rows of the last 8 steps were before in the columns right of G, negative. `step` is that of
  /// this thread's row.
  template <int G>
  __device__ void publish_pivot_rows(const Tiles& x, int step) const {
    const unsigned chosen = __ballot_sync(full_warp, step >= 0 && step < 8);
    if (chosen == 0) return;
#pragma unroll
    for (int r = 0; r < down; ++r)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const int row = 8 * r + Tile::column(v), k = __shfl_sync(full_warp, step, row);
        if ((chosen >> row & 1) == 0) continue;
#pragma unroll
        for (int c = G + 1; c < across; ++c) set_in_pair(pivot_rows(c / 2), c % 2, k, -x[c][r].get(v));
      }
  }
  template <int G>
  __device__ void update(Tiles& x) const {
    Tile left[across];
#pragma unroll
    for (int c = (G + 1) / 2 * 2; c < across; c += 2) read_pair(pivot_rows(c / 2), left[c], left[c + 1]);
#pragma unroll
    for (int r = 0; r < down; ++r) {
      Tile right;
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
        right.set(v, detail::conj(detail::widen(at(32 * warp() + 8 * r + Tile::row(), 8 * (G + 1) + Tile::column(v)))));
#pragma unroll
      for (int c = (G + 1) / 2 * 2; c < across; c += 2) add_product(x[c][r], x[c + 1][r], left[c], left[c + 1], right);
    }
  }

  /// visit(tile, value, row, column) for the tiles of this warp.
  template <class Visit>
  __device__ static void for_each(Tiles& x, Visit visit) {
    // why: what is made of them would stay in registers from one visit of all tiles to the next
    int row = 32 * warp() + Tile::column(0), column = Tile::row();
    asm volatile("" : "+r"(row), "+r"(column));
#pragma unroll
    for (int c = 0; c < across; ++c)
#pragma unroll
      for (int r = 0; r < down; ++r)
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) visit(x[c][r], v, row + 8 * r + 4 * v, column + 8 * c);
  }
  __device__ void load_tiles(Tiles& x, int first) const {
    for_each(x, [&](Tile& tile, int v, int row, int column) {
      C value{};
      if (row < n && first + column < n) value = at(origin()[row], column);
      tile.set(v, detail::widen(value));
    });
  }
  /// The rows of U from row k on.
  __device__ void store_upper(const detail::MatrixRef<C>& a, Tiles& x, int k, int first) const {
    C* const corner = &a(k, first);
    for_each(x, [&](Tile& tile, int v, int row, int column) {
      const bool inside = width == 32 || (row >= k && row < k + width);
      if (inside && first + column < n) corner[row - k + column * offset_t(a.ld)] = detail::narrow<C>(tile.get(v));
    });
  }

  /// Its rows are solved for, and published negative.
  template <int R>
  __device__ static void solve(Tiles& x, const Triangle& triangle, UpperRows& rows) {
#pragma unroll
    for (int r = 0; r < across; ++r) {
      const Tile inverse = read(triangle.tiles[number(r, r)]);
#pragma unroll
      for (int c = 0; c < across; c += 2) {
        Tile y[2]{};
        add_product(y[0], y[1], x[c][R + r], x[c + 1][R + r], inverse);
        x[c][R + r] = y[0];
        x[c + 1][R + r] = y[1];
        y[0] = -y[0];
        y[1] = -y[1];
        write_pair(rows.pairs[r][c / 2], y[0], y[1]);
#pragma unroll
        for (int below = r + 1; below < across; ++below)
          add_product(x[c][R + below], x[c + 1][R + below], y[0], y[1], read(triangle.tiles[number(below, r)]));
      }
    }
  }

  /// Right operands on their way from global memory: the next tiles down a column of them, then from the following one.
  struct Stream {
    C x[ahead][Tile::values];
    const C* column;
  };
  __device__ void fetch_tile(Stream& stream, const C* from, const detail::MatrixRef<C>& a, int r) const {
    const bool exists = 32 * warp() + 8 * r + Tile::row() < n;
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) stream.x[r % ahead][v] = exists ? from[8 * r + 4 * v * offset_t(a.ld)] : C{};
  }
  /// Brings a column of tiles to the L2 cache, a cache line a lane.
  __device__ void prefetch(const detail::MatrixRef<C>& a, const C* column) const {
    constexpr int lines = sizeof(C) == 4 ? 1 : static_cast<int>(32 * sizeof(C) / 128);
    // why: the distance to the line would stay in local memory during all products
    int own = lane();
    asm volatile("" : "+r"(own));
    const int c = own / lines, row = own % lines * (32 / lines);
    const C* const line = column + (row - own / 4) + (c - own % 4) * offset_t(a.ld);
    if (c < 8 && 32 * warp() + row < n) asm volatile("prefetch.global.L2 [%0];" : : "l"(line));
  }
  __device__ Stream first_tiles(const detail::MatrixRef<C>& a) const {
    Stream stream{};
    stream.column = &a(32 * warp() + Tile::row(), Tile::column(0));
#pragma unroll
    for (int r = 0; r < ahead; ++r) fetch_tile(stream, stream.column, a, r);
    return stream;
  }

  /// The product of a panel of L, from which `columns` are left in the stream, with rows of U.
  __device__ void subtract(Tiles& x, Stream& stream, const detail::MatrixRef<C>& a, const UpperRows& rows,
                           int columns) const {
#pragma unroll 1
    for (int s = 0; s < across; ++s) {
      Tile left[across];
#pragma unroll
      for (int c = 0; c < across; c += 2) read_pair(rows.pairs[s][c / 2], left[c], left[c + 1]);
      if (far && 8 * (s + 3) < columns) prefetch(a, stream.column + 16 * offset_t(a.ld));
      const C* const following = stream.column + (8 * (s + 1) < columns ? 8 * offset_t(a.ld) : 0);
#pragma unroll
      for (int r = 0; r < down; ++r) {
        Tile right;
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) right.set(v, detail::conj(detail::widen(stream.x[r % ahead][v])));
#pragma unroll
        for (int c = 0; c < across; c += 2) add_product(x[c][r], x[c + 1][r], left[c], left[c + 1], right);
        fetch_tile(stream, r + ahead < down ? stream.column : following, a, (r + ahead) % down);
      }
      stream.column = following;
    }
  }

  // Tiles in shared memory, each lane's values together.
  __device__ static Tile read(const double* from) {
    Tile tile;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const double2 values = reinterpret_cast<const double2*>(from)[32 * p + lane()];
      tile.part[p][0] = values.x;
      tile.part[p][1] = values.y;
    }
    return tile;
  }

  // Two tiles as a left operand, in the order of its registers.
  __device__ static void read_pair(const double* from, Tile& upper, Tile& lower) {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const double2 values = reinterpret_cast<const double2*>(from)[32 * (Tile::values * p + v) + lane()];
        upper.part[p][v] = values.x;
        lower.part[p][v] = values.y;
      }
  }
  __device__ static void write_pair(double* to, const Tile& upper, const Tile& lower) {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
        reinterpret_cast<double2*>(to)[32 * (Tile::values * p + v) + lane()] = {upper.part[p][v], lower.part[p][v]};
  }
  /// Where part p of element (i, c) of a tile lies.
  __device__ static int place(int p, int i, int c) { return 64 * p + 2 * (Tile::lane_of_row(i) + c % 4) + c / 4; }
  __device__ static Wide element(const double* tile, int i, int c) {
    if constexpr (Tile::is_complex)
      return {tile[place(0, i, c)], tile[place(1, i, c)]};
    else
      return tile[place(0, i, c)];
  }
  __device__ static void set(double* tile, int i, int c, Wide value) {
    tile[place(0, i, c)] = detail::real_part(value);
    if constexpr (Tile::is_complex) tile[place(1, i, c)] = value.im;
  }
  /// This lane's row of a tile of a left operand, column k.
  __device__ static void set_in_pair(double* pair, int which, int k, Wide value) {
    double* const to = pair + 2 * (32 * (k / 4) + lane() / 4 * 4 + k % 4) + which;
    to[0] = detail::real_part(value);
    if constexpr (Tile::is_complex) to[2 * 64] = value.im;
  }
  /// Of a tile below or on the diagonal.
  __host__ __device__ static constexpr int number(int row, int column) { return row * (row + 1) / 2 + column; }

  /// The row of this thread to its new position; the lists of the interchange and the triangle to shared memory.
  __device__ void store_panel(const detail::MatrixRef<C>& a, int first, int position) const {
    const int own = position - first, count = min(width, n - first);
    if (own < 0) return;
    C* to = &a(position, first);
    if (thread() - first < width) target()[thread() - first] = position;
    if (own < width) source()[own] = thread();
    const bool in_triangle = own < width && first + width < n;
#pragma unroll 8
    for (int c = 0; c < count; ++c, to += a.ld) {
      const C value = at(thread(), c);
      *to = value;
      if (c == own && detail::is_zero(value)) atomicMin(first_zero(), first + own);
      if (in_triangle && c / 8 <= own / 8)
        set(triangle(first).tiles[number(own / 8, c / 8)], own % 8, c % 8, detail::conj(detail::widen(value)));
    }
  }

  /// The tiles on the diagonal become their inverses, by a warp, a column a lane.
  __device__ static void invert_diagonal(Triangle& triangle) {
    const int t = lane() / 8, column = lane() % 8;
    double* const tile = triangle.tiles[number(t, t)];
    Wide y[8];
    if (t < across) {
#pragma unroll
      for (int i = 0; i < 8; ++i) y[i] = detail::from_real<Wide>(i == column);
#pragma unroll
      for (int s = 0; s < 8; ++s)
#pragma unroll
        for (int i = s + 1; i < 8; ++i) y[i] = fused_subtract(y[i], element(tile, i, s), y[s]);
    }
    __syncwarp();
    if (t < across) {
#pragma unroll
      for (int i = 0; i < 8; ++i) set(tile, i, column, y[i]);
    }
  }
  /// The rows that come into the panel and those that leave it, in columns begin..end - 1 left of it, by warp `rank` of
  /// `crew`; a row a lane.
  __device__ void interchange(const detail::MatrixRef<C>& a, int first, int begin, int end, int rank, int crew) const {
    constexpr int together = 4, columns = 32 / width;
    const int own = lane() % width;
    const bool exists = first + own < n;
    const int from = exists ? source()[own] : 0, to = exists ? target()[own] : 0;
    const bool comes = exists && from != first + own, leaves = to >= first + width;
#pragma unroll 1
    for (int base = begin + columns * rank; base < end; base += together * columns * crew) {
      // why zeros: what only some lanes load would otherwise have registers of all products around this loop
      C coming[together]{}, leaving[together]{};
      const auto column = [&](int t) { return base + lane() / width + t * columns * crew; };
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const bool inside = column(t) < end;
        if (inside && comes) coming[t] = a(from, column(t));
        if (inside && leaves) leaving[t] = a(first + own, column(t));
      }
      __syncwarp();
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const bool inside = column(t) < end;
        if (inside && comes) a(first + own, column(t)) = coming[t];
        if (inside && leaves) a(to, column(t)) = leaving[t];
      }
    }
  }
};

}  // namespace blockjacobi::kernels
