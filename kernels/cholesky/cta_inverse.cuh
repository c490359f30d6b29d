#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/tensor_tile.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// The inverse A^-1 = V^H V, V = L^-1, from the Cholesky factor L of one matrix by a thread block, in fp64 on the
/// tensor cores, by panels of T tile columns, as LAPACK's trtri and lauum: V takes the place of L from the last panel J
/// to the first,
///   V(K, J) = -(V(K, K) L(K, J)) L_JJ^-1   with the rows K behind the panel,
/// and then A^-1 that of V from the first rows I to the last,
///   A^-1(I, :) = V(K, I)^H V(K, :)         with the rows K from the panel on.
/// A panel is staged in shared memory; each warp takes two tile rows, or tile columns, of the rest of the matrix, which
/// it reads from global memory. Nothing is read there that another warp writes before the next barrier.
///
/// The solution with L_JJ is by tiles, as in CtaCholesky: with the inverse of the tile on the diagonal and, in double
/// precision, one step of refinement. So the left residual ||V L - I|| is small (J. J. Du Croz, N. J. Higham,
/// "Stability of methods for matrix inversion", 1992, method 2C).
template <class C, int T, bool upper>
struct CtaPotri {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int R = 2;  ///< products are of two tiles above each other
  using Block = Tile[R][T];
  /// Steps that a warp has under way from global memory; bounded by registers.
  static constexpr int ahead = 16 / sizeof(C);
  /// What a lane has of a tile, read at once.
  struct alignas(16) Staged : Tile {};
  using Row = Staged[T][32];
  static constexpr bool refined = std::is_same_v<detail::arithmetic_real_t<C>, double>;
  static_assert(T % R == 0 && 8 * T <= 32);

  struct Diagonal {
    Row inverse;  ///< V_cc^H for the tiles c on the diagonal of a panel
    int zero;     ///< the first zero on the diagonal of L, from 1
    int not_finite;
  };

  C* data;
  offset_t ld;
  int n;
  Diagonal& diagonal;  ///< in shared memory
  Row* panel;          ///< behind it: tile (k, c) is the adjoint of the one in row k from the diagonal on, column c

  __host__ __device__ static constexpr int padded_tiles(int n) { return (n + 8 * T - 1) / (8 * T) * T; }
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    return sizeof(Diagonal) + static_cast<std::size_t>(padded_tiles(n)) * sizeof(Row);
  }

  __device__ CtaPotri(const detail::MatrixRef<C>& a, unsigned char* shared)
      : data(a.data),
        ld(a.ld),
        n(a.rows),
        diagonal(*reinterpret_cast<Diagonal*>(shared)),
        panel(reinterpret_cast<Row*>(shared + sizeof(Diagonal))) {}

  struct Outcome {
    int info;      ///< 0, or the first zero on the diagonal of L
    bool regular;  ///< no zero there and no NaN or Inf in the triangle
  };

  /// Calls store(i, j, x_ij) once for every element of the lower triangle of A^-1, or of its conjugate if the factor is
  /// an upper triangle; of none if L is not regular, whose place holds anything then. All threads.
  template <class Store>
  __device__ Outcome run(Store store) const {
    const int tiles = padded_tiles(n);
    if (threadIdx.x == 0) {
      diagonal.zero = INT_MAX;
      diagonal.not_finite = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int p = tiles - T; p >= 0; p -= T) invert_panel(p, tiles);
    const Outcome outcome{diagonal.zero == INT_MAX ? 0 : diagonal.zero,
                          diagonal.zero == INT_MAX && diagonal.not_finite == 0};
    if (outcome.regular) {
#pragma unroll 1
      for (int p = 0; p < tiles; p += T) multiply_panel(p, tiles, store);
    }
    return outcome;
  }

 private:
  __device__ static int lane() { return Tile::lane(); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warps() { return static_cast<int>(blockDim.x) / 32; }

  /// Where element (row, column) is; the conjugate of an upper triangle is inverted like a lower one.
  __device__ offset_t place(int row, int column) const { return upper ? row * ld + column : row + column * ld; }
  __device__ bool exists(int row, int column) const { return row < n && column <= row; }

  /// A number of which the compiler knows nothing: what depends on it would be kept in registers from one use to the
  /// next.
  __device__ static int hidden(int value) {
    asm volatile("" : "+r"(value));
    return value;
  }

  /// Stages the panel, behind the matrix the identity, or its negative.
  template <bool negative>
  __device__ void stage(int p, int tiles) const {
#pragma unroll 1
    for (int k = p + warp(); k < tiles; k += warps())
#pragma unroll
      for (int c = 0; c < T; ++c) {
        Tile tile;
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) {
          const int row = 8 * k + Tile::column(v), column = hidden(8 * (p + c) + Tile::row());
          Wide value = detail::from_real<Wide>(row == column);
          if (exists(row, column)) {
            value = widened(data[place(row, column)]);
            if (row == column) value = detail::from_real<Wide>(detail::real_part(value));
            if constexpr (negative) look_at(row, column, value);
          }
          value = detail::conj(value);
          tile.set(v, negative ? -value : value);
        }
        panel[k - p][c][lane()] = {tile};
      }
  }
  __device__ void look_at(int row, int column, Wide value) const {
    if (!detail::finite(value)) atomicOr(&diagonal.not_finite, 1);
    if (row == column && detail::is_zero(value)) atomicMin(&diagonal.zero, row + 1);
  }

  /// In one warp: lane 8 c + j has column j of the inverse of tile c on the diagonal.
  __device__ void invert_diagonal() const {
    const int c = lane() / 8, j = lane() % 8;
    if (c >= T) return;
    // The element (i, k) of -L_cc, whose adjoint is staged, and where those of V_cc^H lie.
    const auto of_adjoint = [](Staged(&tile)[32], int row, int column) -> Staged& {
      return tile[Tile::lane_of_row(row) + column % 4];
    };
    Wide x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      Wide sum = detail::from_real<Wide>(i == j);
#pragma unroll
      for (int k = 0; k < i; ++k) sum = fused_add(sum, detail::conj(of_adjoint(panel[c][c], k, i).get(i / 4)), x[k]);
      x[i] = (-1 / detail::real_part(of_adjoint(panel[c][c], i, i).get(i / 4))) * sum;
      of_adjoint(diagonal.inverse[c], j, i).set(i / 4, detail::conj(x[i]));
    }
  }

  template <bool transposed>
  struct Column {
    C x[R][Tile::values];
  };
  /// The tiles (i + r, k) of the matrix, or the adjoints of its tiles (k, i + r).
  template <bool transposed>
  __device__ void fetch(Column<transposed>& to, int i, int k) const {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const int across = 8 * (i + r) + Tile::row(), along = 8 * k + Tile::column(v);
        const int row = transposed ? along : across, column = transposed ? across : along;
        to.x[r][v] = exists(row, column) ? data[place(row, column)] : C{};
      }
  }
  /// Adds their products with the tiles of the panel p for k in first..last.
  template <bool transposed>
  __device__ void add_products(Block& x, int i, int p, int first, int last) const {
    Column<transposed> next[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (first + u <= last) fetch(next[u], i, first + u);
#pragma unroll 1
    for (int k = first; k <= last; k += ahead)
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        if (k + u > last) return;
        Tile a[R];
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
          for (int v = 0; v < Tile::values; ++v) {
            const Wide value = widened(next[u].x[r][v]);
            a[r].set(v, transposed ? detail::conj(value) : value);
          }
        if (k + u + ahead <= last) fetch(next[u], i, k + u + ahead);
#pragma unroll
        for (int c = 0; c < T; ++c) add_product(x[0][c], x[1][c], a[0], a[1], panel[k + u - p][c][lane()]);
      }
  }

  /// V in the place of panel p of L. Rows on its diagonal are those of L_JJ^-1.
  __device__ void invert_panel(int p, int tiles) const {
    stage<true>(p, tiles);
    __syncthreads();
    if (warp() == 0) invert_diagonal();
    __syncthreads();
#pragma unroll 1
    for (int i = tiles - R * (warp() + 1); i >= p; i -= R * warps()) {
      Block x{};
      if (i >= p + T)
        add_products<false>(x, i, p, p + T, i + R - 1);
      else
        set_identity(x, i - p);
      solve(x);
      for_each(x, i, p, [&](int row, int column, Wide value) {
        if (exists(row, column)) data[place(row, column)] = narrowed<C>(value);
      });
    }
    __syncthreads();
  }

  /// A^-1 in the rows of panel p, of the columns up to it. What is left of V in them nobody needs any more.
  template <class Store>
  __device__ void multiply_panel(int p, int tiles, Store& store) const {
    stage<false>(p, tiles);
    __syncthreads();
#pragma unroll 1
    for (int j = R * warp(); j < p + T; j += R * warps()) {
      Block x{};
      add_products<true>(x, j, p, p, tiles - 1);
      for_each(x, j, p, [&](int column, int row, Wide value) {
        if (!exists(row, column)) return;
        value = row == column ? detail::from_real<Wide>(detail::real_part(value)) : detail::conj(value);
        store(row, column, narrowed<C>(value));
      });
    }
    __syncthreads();
  }

  /// visit(its row, its column, value) for the elements of a block whose first tile is (i, j).
  template <class Visit>
  __device__ static void for_each(const Block& x, int i, int j, Visit visit) {
    const int row = hidden(8 * i + Tile::row()), column = hidden(8 * j + Tile::column(0));
#pragma unroll
    for (int c = 0; c < T; ++c)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r) visit(row + 8 * r, column + 8 * c + 4 * v, x[r][c].get(v));
  }

  __device__ static void set_identity(Block& x, int first_row) {
#pragma unroll
    for (int c = 0; c < T; ++c)
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < Tile::values; ++v)
          x[r][c].set(v, detail::from_real<Wide>(first_row + r == c && Tile::row() == Tile::column(v)));
  }

  /// X <- X L_JJ^-1.
  __device__ void solve(Block& x) const {
#pragma unroll
    for (int c = T - 1; c >= 0; --c) {
      const Tile inverse = diagonal.inverse[c][lane()], minus_l = panel[c][c][lane()];
      Tile y[R]{};
      add_product(y[0], y[1], x[0][c], x[1][c], inverse);
      if constexpr (refined) {
        add_product(x[0][c], x[1][c], y[0], y[1], minus_l);
        add_product(y[0], y[1], x[0][c], x[1][c], inverse);
      }
#pragma unroll
      for (int r = 0; r < R; ++r) x[r][c] = y[r];
#pragma unroll
      for (int d = 0; d < c; ++d) add_product(x[0][d], x[1][d], x[0][c], x[1][c], panel[c][d][lane()]);
    }
  }
};

}  // namespace blockjacobi::kernels
