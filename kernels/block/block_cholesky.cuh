#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/subwarp/inverse_root.cuh"
#include "kernels/subwarp/tensor_tile.cuh"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::kernels {

/// Cholesky factorization A = L L^H of one matrix in place by a thread block, in fp64 on the tensor cores, left to
/// right by block columns of 8 T. Each warp takes the blocks (i, j) of a block column j one after the other: subtracts
/// the products of what is left of it, L_ik L_jk^H, from global memory, and then solves X L_jj^H = A_ij. The first one
/// factorizes the block on the diagonal, which all others wait for.
///
/// In a block the same is done by tiles of order 8 from left to right. They are solved by the inverse of the triangle
/// on the diagonal and, in double precision, one step of refinement, without which the error would grow with the
/// condition of that triangle.
template <class C, int T, bool upper>
struct BlockCholesky {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  using Block = Tile[T][T];
  static constexpr int order = T * Tile::order;
  static constexpr bool refined = std::is_same_v<detail::arithmetic_real_t<C>, double>;
  /// Columns of tiles under way from global memory; bounded by registers.
  static constexpr int ahead = sizeof(C) == 4 && T == 4 ? 2 : 1;
  static_assert(T % 2 == 0 && T % ahead == 0, "products are of two tiles above each other");

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

  __device__ BlockCholesky(const detail::MatrixRef<C>& a, Diagonal& diagonal_)
      : data(a.data), ld(a.ld), n(a.rows), diagonal(diagonal_) {}

  /// Returns 0, or the order of the first leading minor that is not positive definite. Uniform in the thread block.
  __device__ int run() const {
    const int blocks = (n + order - 1) / order;
#pragma unroll 1
    for (int j = 0; j < blocks; ++j) {
#pragma unroll 1
      for (int first = j; first < blocks; first += warps()) {
        const int i = first + warp();
        Block x;
        if (i < blocks) {
          load_negative(x, i, j);
          if (i == j)
            add_products<true>(x, i, j);
          else
            add_products<false>(x, i, j);
          for_each(x, i, j, [](Tile& tile, int v, int, int, const C*) { tile.set(v, -tile.get(v)); });
        }
        if (i == j) factor(x, j);
        if (first == j) __syncthreads();
        if (i < blocks) {
          if (i != j) solve(x);
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

  /// visit(tile, its value, row, column, where it is) for block (i, j).
  template <class Visit>
  __device__ void for_each(Block& x, int i, int j, Visit visit) const {
    // why: the addresses of the load would stay in registers until the store
    int row = i * order + Tile::row();
    asm volatile("" : "+r"(row));
    const int column = j * order + Tile::column(0);
    C* const at = data + place(row, column);
#pragma unroll
    for (int c = 0; c < T; ++c)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
#pragma unroll
        for (int r = 0; r < T; ++r)
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
  using Column = C[T][Tile::values];

  /// That of block row i from column k on.
  __device__ void fetch(Column& x, int i, int k) const {
    const int row = i * order + Tile::row();
    const C* const at = data + place(row, k + Tile::column(0));
#pragma unroll
    for (int v = 0; v < Tile::values; ++v)
#pragma unroll
      for (int r = 0; r < T; ++r) x[r][v] = row + 8 * r < n ? at[place(8 * r, 4 * v)] : C{};
  }
  __device__ static Tile tile_of(const C (&x)[Tile::values]) {
    Tile tile;
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) tile.set(v, widened(x[v]));
    return tile;
  }

  /// Of L_ik L_jk^H for all k < j, with some columns under way during the products of those before.
  template <bool on_diagonal>
  __device__ void add_products(Block& x, int i, int j) const {
    const int end = j * order;
    if (end == 0) return;
    Column next_left[ahead], next_right[ahead];
    const auto fetch_both = [&](int u, int k) {
      fetch(next_left[u], i, k);
      if constexpr (!on_diagonal) fetch(next_right[u], j, k);
    };
#pragma unroll
    for (int u = 0; u < ahead; ++u) fetch_both(u, u * Tile::order);
#pragma unroll 1
    for (int first = 0; first < end; first += ahead * Tile::order)
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        Tile left[T], right[T];
#pragma unroll
        for (int r = 0; r < T; ++r) {
          left[r] = tile_of(next_left[u][r]);
          right[r] = on_diagonal ? left[r] : tile_of(next_right[u][r]);
        }
        const int k = first + (u + ahead) * Tile::order;
        if (k < end) fetch_both(u, k);
#pragma unroll
        for (int c = 0; c < T; ++c)
#pragma unroll
          for (int r = on_diagonal ? c / 2 * 2 : 0; r < T; r += 2)
            add_product(x[r][c], x[r + 1][c], left[r], left[r + 1], right[c]);
      }
  }

  __device__ void factor(Block& x, int j) const {
    int info = 0;
#pragma unroll
    for (int c = 0; c < T; ++c) {
      if (info == 0) {
        Tile inverse;
        const int bad = factor_tile(x[c][c], inverse);
        if (bad != 0) info = j * order + c * Tile::order + bad;
        diagonal.minus_l[c][c][lane()] = -x[c][c];
        diagonal.inverse[c][lane()] = inverse;
        if (info == 0) eliminate<true>(x, c);
      }
    }
    if (lane() == 0) diagonal.info = info;
  }

  __device__ void solve(Block& x) const {
#pragma unroll
    for (int c = 0; c < T; ++c) eliminate<false>(x, c);
  }

  /// Column c of the tiles becomes that of L, and its products are subtracted from those to its right.
  template <bool on_diagonal>
  __device__ void eliminate(Block& x, int c) const {
    const Tile inverse = diagonal.inverse[c][lane()], minus_l = diagonal.minus_l[c][c][lane()];
#pragma unroll
    for (int r = 0; r < T; r += 2) {
      if (on_diagonal && r + 1 <= c) continue;
      Tile y[2]{};
      add_product(y[0], y[1], x[r][c], x[r + 1][c], inverse);
      if constexpr (refined) {
        add_product(x[r][c], x[r + 1][c], y[0], y[1], minus_l);
        add_product(y[0], y[1], x[r][c], x[r + 1][c], inverse);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (on_diagonal && r + h == c) {
          x[r + h][c] = -minus_l;
          continue;
        }
        if (on_diagonal && r + h < c) continue;
        x[r + h][c] = y[h];
        if constexpr (on_diagonal) diagonal.minus_l[r + h][c][lane()] = -y[h];
      }
    }
#pragma unroll
    for (int d = c + 1; d < T; ++d) {
      const Tile minus = diagonal.minus_l[d][c][lane()];
#pragma unroll
      for (int r = 0; r < T; r += 2)
        if (!on_diagonal || r + 1 >= d) add_product(x[r][d], x[r + 1][d], x[r][c], x[r + 1][c], minus);
    }
  }

  /// The tile becomes its factor, with its inverse by the same row operations. Returns 0, or the order of the first
  /// leading minor that is not positive definite.
  __device__ static int factor_tile(Tile& tile, Tile& inverse) {
    Tile l = tile;
    if (factor_tile<false>(l, inverse) == 0) {
      tile = l;
      return 0;
    }
    return factor_tile<true>(tile, inverse);
  }

  /// A = M D M^H first, whose only chain are the pivots. With approximate divisions a pivot that is not positive, or
  /// too small or large for them, gives some other value than 0.
  template <bool exact>
  __device__ static int factor_tile(Tile& tile, Tile& inverse) {
    using Warp = Team<32>;
    // why: the many lanes to shuffle from would stay in registers from one tile to the next
    int lane = Tile::lane();
    asm volatile("" : "+r"(lane));
    const int row = Tile::row(lane), first_column = lane % 4;
    Wide x[2], w[2];
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) {
      const bool on_diagonal = row == first_column + 4 * v;
      x[v] = on_diagonal ? detail::from_real<Wide>(detail::real_part(tile.get(v))) : tile.get(v);
      w[v] = detail::from_real<Wide>(on_diagonal);
    }
#pragma unroll(exact ? 1 : Tile::order)
    for (int k = 0; k < Tile::order; ++k) {
      const Wide own = k < 4 ? x[0] : x[1];
      const double pivot = Warp::broadcast(detail::real_part(own), Tile::lane_of_row(k) + k % 4);
      const Wide left = Team<4>::broadcast(own, k % 4);
      const Wide quotient = row > k ? divided<exact>(left, pivot) : Wide{};
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const int column = first_column + 4 * v;
        if (k < 4 * v + 3) {
          const Wide right = Warp::broadcast(own, Tile::lane_of_row(column) + k % 4);
          if (column > k) x[v] = fused_subtract(x[v], quotient, detail::conj(right));
        }
        if (k >= 4 * v) w[v] = fused_subtract(w[v], quotient, Warp::broadcast(w[v], Tile::lane_of_row(k) + lane % 4));
      }
    }
    const double pivot = Team<4>::broadcast(detail::real_part(row < 4 ? x[0] : x[1]), row % 4);
    const double root = exact ? 1 / sqrt(pivot) : inverse_root(pivot);
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) {
      const int column = first_column + 4 * v;
      const double column_root = Warp::broadcast(root, Tile::lane_of_row(column));
      tile.set(v, row >= column ? column_root * x[v] : Wide{});
      inverse.set(v, root * w[v]);
    }
    if constexpr (exact)
      return (static_cast<int>(__reduce_min_sync(full_warp, pivot > 0 ? Tile::order : row)) + 1) % (Tile::order + 1);
    else
      return Warp::any_in_warp(!in_range(pivot));
  }

  /// Pivots that divided() and inverse_root() can approximate.
  __device__ static bool in_range(double pivot) {
    return pivot > 0 && abs(__double2hiint(pivot) - __double2hiint(1.0)) < 1000 << ExponentField<double>::shift;
  }
  template <bool exact>
  __device__ static Wide divided(Wide a, double b) {
    if constexpr (exact && Tile::is_complex) {
      return {a.re / b, a.im / b};
    } else if constexpr (exact) {
      return a / b;
    } else {
      double y;
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
      const double e = fma(-b, y, 1.0);
      const Wide z = y * a;
      return fused_add(z, detail::from_real<Wide>(fma(e, e, e)), z);
    }
  }
};

}  // namespace blockjacobi::kernels
