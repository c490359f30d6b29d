#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/cholesky/tile_cholesky.cuh"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::kernels {

/// Cholesky factorization A = L L^H of one matrix in place by a thread block, in fp64 on the tensor cores, left to
/// right by panels of 8 T columns. Each warp takes pieces of 8 R rows of a panel j one after the other: subtracts the
/// products of what is left of it, L_ik L_jk^H, from global memory, and then solves X L_jj^H = A_ij. The first T / R
/// warps factorize the rows on the diagonal one after the other, which all others wait for.
///
/// In a piece the same is done by tiles of order 8 from left to right. They are solved by the inverse of the triangle
/// on the diagonal and, in double precision, one step of refinement, without which the error would grow with the
/// condition of that triangle.
///
/// Wide panels read less of what is left of them; they take registers.
template <class C, int R, int T, bool upper>
struct CtaCholesky {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  using Block = Tile[R][T];
  static constexpr int height = R * Tile::order, width = T * Tile::order;
  /// Pieces on the diagonal of a panel; not more than there are warps.
  static constexpr int steps = T / R;
  static constexpr bool refined = std::is_same_v<detail::arithmetic_real_t<C>, double>;
  /// Whether what follows is fetched into the registers that a product has read last, and not before it into others,
  /// which are waited for where they are copied: it takes registers, and pays where there are many products to do.
  static constexpr bool in_place = T == 8, right_in_place = in_place || sizeof(C) == 4;
  /// Columns of tiles under way from global memory, of the rows of a warp and of those on the diagonal; bounded by
  /// registers.
  static constexpr int right_ahead = sizeof(C) == 4 && T == 4 ? 2 : 1, left_ahead = in_place ? 2 : right_ahead;
  static_assert(R % 2 == 0, "products are of two tiles above each other");
  static_assert(T % R == 0 && T % left_ahead == 0);

  /// L_jj, of every tile what each lane has.
  struct Diagonal {
    Tile minus_l[T][T][32];  ///< below and on the diagonal
    Tile inverse[T][32];     ///< of the triangles on the diagonal
    int info;
  };

  C* data;
  offset_t ld;
  int n;
  Diagonal& diagonal;  ///< in shared memory

  __device__ CtaCholesky(const detail::MatrixRef<C>& a, Diagonal& diagonal_)
      : data(a.data), ld(a.ld), n(a.rows), diagonal(diagonal_) {}

  /// Returns 0, or the order of the first leading minor that is not positive definite. Uniform in the thread block.
  __device__ int run() const {
    const int blocks = (n + height - 1) / height;
#pragma unroll 1
    for (int j = 0; j * width < n; ++j) {
#pragma unroll 1
      for (int first = j * steps; first < blocks; first += warps()) {
        const int i = first + warp();
        const bool exists = i < blocks, on_diagonal = i < (j + 1) * steps;
        Block x;
        if (exists) {
          load_negative(x, i, j);
          if (steps == 1 && on_diagonal)
            add_products<true>(x, i, j);
          else
            add_products<false>(x, i, j);
          for_each(x, i, j, [](Tile& tile, int v, int, int, const C*) { tile.set(v, -tile.get(v)); });
        }
        if (first == j * steps) factor_diagonal<0>(x, i, j);
        if (exists) {
          if (!on_diagonal) solve(x);
          store(x, i, j);
        }
        if (diagonal.info != 0) return diagonal.info;
      }
      __syncthreads();
    }
    return 0;
  }

 private:
  __device__ static int lane() { return Tile::lane(); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warps() { return static_cast<int>(blockDim.x) / 32; }

  /// Where element (row, column) of L is; the conjugate of an upper triangle is factorized like a lower one.
  __device__ offset_t place(int row, int column) const { return upper ? row * ld + column : row + column * ld; }

  /// visit(tile, its value, row, column, where it is) for piece (i, j).
  template <class Visit>
  __device__ void for_each(Block& x, int i, int j, Visit visit) const {
    // why: the addresses of the load would stay in registers until the store
    int row = i * height + Tile::row();
    asm volatile("" : "+r"(row));
    const int column = j * width + Tile::column(0);
    C* const at = data + place(row, column);
#pragma unroll
    for (int c = 0; c < T; ++c)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r)
          visit(x[r][c], v, row + 8 * r, column + 8 * c + 4 * v, at + place(8 * r, 8 * c + 4 * v));
  }

  /// Behind the matrix the identity.
  __device__ void load_negative(Block& x, int i, int j) const {
    for_each(x, i, j, [&](Tile& tile, int v, int row, int column, const C* at) {
      Wide value = detail::from_real<Wide>(row == column);
      if (row < n && column <= row) value = widened(*at);
      tile.set(v, -value);
    });
  }
  __device__ void store(Block& x, int i, int j) const {
    for_each(x, i, j, [&](Tile& tile, int v, int row, int column, C* at) {
      if (row < n && column <= row) *at = narrowed<C>(tile.get(v));
    });
  }

  /// A column of tiles on its way from global memory.
  template <int Count>
  struct Column {
    C x[Count][Tile::values];
  };
  /// Tile r of those whose rows begin with `first`; `from` is this lane's first element of them.
  template <int Count>
  __device__ void fetch(Column<Count>& to, int r, int first, const C* from, bool exists) const {
    exists = exists && first + Tile::row() + 8 * r < n;
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) to.x[r][v] = exists ? from[place(8 * r, 4 * v)] : C{};
  }
  template <int Count>
  __device__ static Tile tile_of(const Column<Count>& column, int r) {
    Tile tile;
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) tile.set(v, widened(column.x[r][v]));
    return tile;
  }

  /// Of L_ik L_jk^H for all k < j.
  template <bool on_diagonal>
  __device__ void add_products(Block& x, int i, int j) const {
    const int end = j * width;
    if (end == 0) return;
    Column<R> next_left[left_ahead];
    Column<T> next_right[right_ahead];
    const C* const column = data + place(Tile::row(), Tile::column(0));
    const C *left_from = column + place(i * height, 0), *right_from = column + place(j * width, 0);
    const auto fetch_left = [&](Column<R>& to, int ahead, bool exists) {
#pragma unroll
      for (int r = 0; r < R; ++r) fetch(to, r, i * height, left_from + place(0, ahead * Tile::order), exists);
    };
    const auto fetch_right = [&](Column<T>& to, int c, int ahead, bool exists) {
      if constexpr (!on_diagonal) fetch(to, c, j * width, right_from + place(0, ahead * Tile::order), exists);
    };
#pragma unroll
    for (int u = 0; u < left_ahead; ++u) fetch_left(next_left[u], u, true);
#pragma unroll
    for (int u = 0; u < right_ahead; ++u)
#pragma unroll
      for (int c = 0; c < T; ++c) fetch_right(next_right[u], c, u, true);
#pragma unroll 1
    for (int k = 0; k < end; k += left_ahead * Tile::order)
#pragma unroll
      for (int u = 0; u < left_ahead; ++u) {
        const int rest = end - k - u * Tile::order;
        const auto fetch_following = [&](int c) {
          fetch_right(next_right[u % right_ahead], c, right_ahead, rest > right_ahead * Tile::order);
        };
        Tile a[R];
#pragma unroll
        for (int r = 0; r < R; ++r) a[r] = tile_of(next_left[u], r);
        if constexpr (!in_place) fetch_left(next_left[u], left_ahead, rest > left_ahead * Tile::order);
#pragma unroll
        for (int c = 0; c < T; ++c) {
          Tile b;
          if constexpr (on_diagonal)
            b = a[c];
          else
            b = tile_of(next_right[u % right_ahead], c);
          if constexpr (!right_in_place) fetch_following(c);
#pragma unroll
          for (int r = on_diagonal ? c / 2 * 2 : 0; r < R; r += 2) add_product(x[r][c], x[r + 1][c], a[r], a[r + 1], b);
          if constexpr (right_in_place) fetch_following(c);
        }
        if constexpr (in_place) fetch_left(next_left[u], left_ahead, rest > left_ahead * Tile::order);
        left_from += place(0, Tile::order);
        right_from += place(0, Tile::order);
      }
  }

  /// Piece D of the diagonal and those behind it, each after those before it.
  template <int D>
  __device__ void factor_diagonal(Block& x, int i, int j) const {
    if (i == j * steps + D && i * height < n) factor<D>(x, j);
    __syncthreads();
    if constexpr (D + 1 < steps) factor_diagonal<D + 1>(x, i, j);
  }
  template <int D>
  __device__ void factor(Block& x, int j) const {
    int info = D == 0 ? 0 : diagonal.info;
    __syncwarp();
#pragma unroll
    for (int c = 0; c < D * R; ++c)
      if (info == 0) eliminate<D>(x, c);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int c = D * R + r;
      if (info == 0) {
        Tile inverse;
        const int bad = TileCholesky<Wide>::factorize(x[r][c], inverse);
        if (bad != 0) info = j * width + c * Tile::order + bad;
        diagonal.minus_l[c][c][lane()] = -x[r][c];
        diagonal.inverse[c][lane()] = inverse;
        if (info == 0) eliminate<D>(x, c);
      }
    }
    if (lane() == 0) diagonal.info = info;
  }

  __device__ void solve(Block& x) const {
#pragma unroll
    for (int c = 0; c < T; ++c) eliminate<steps>(x, c);
  }

  /// In piece D from the first on the diagonal on, or in one below it, column c of the tiles becomes that of L, and its
  /// products are subtracted from those to its right.
  template <int D>
  __device__ void eliminate(Block& x, int c) const {
    const Tile inverse = diagonal.inverse[c][lane()], minus_l = diagonal.minus_l[c][c][lane()];
#pragma unroll
    for (int r = 0; r < R; r += 2) {
      const int row = D * R + r;
      if (row + 1 <= c) continue;
      Tile y[2]{};
      add_product(y[0], y[1], x[r][c], x[r + 1][c], inverse);
      if constexpr (refined) {
        add_product(x[r][c], x[r + 1][c], y[0], y[1], minus_l);
        add_product(y[0], y[1], x[r][c], x[r + 1][c], inverse);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (row + h == c) {
          x[r + h][c] = -minus_l;
          continue;
        }
        if (row + h < c) continue;
        x[r + h][c] = y[h];
        if constexpr (D < steps) diagonal.minus_l[row + h][c][lane()] = -y[h];
      }
    }
#pragma unroll
    for (int d = c + 1; d < T; ++d) {
      if (D < steps && d >= (D + 1) * R) continue;
      const Tile minus = diagonal.minus_l[d][c][lane()];
#pragma unroll
      for (int r = 0; r < R; r += 2)
        if (D * R + r + 1 >= d) add_product(x[r][d], x[r + 1][d], x[r][c], x[r + 1][c], minus);
    }
  }
};

}  // namespace blockjacobi::kernels
