#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/collectives/tensor_tile.cuh"
#include "kernels/triangular/factor.cuh"

namespace blockjacobi::kernels {

/// Solution of triangular systems of order n with 8 T right-hand sides by a thread block, a warp for 32 rows, in fp64
/// on the tensor cores. The right-hand sides stay in registers, their transpose in tiles over the warps.
///
/// In each step one warp solves its 32 rows by tiles of order 8 and publishes the negative solution in shared memory;
/// those with rows that are left subtract its products with columns of the factor straight from global memory, whose
/// next tiles are under way while they wait. A tile is solved by the inverse of the triangle on the diagonal and, in
/// double precision, one step of refinement, without which the error would grow with the condition of that triangle.
template <class C, int T>
struct CtaTensorSolve {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int down = 4, width = T * Tile::order, parts = Tile::is_complex ? 2 : 1;
  static constexpr int most_warps = 16;
  static constexpr bool refined = std::is_same_v<detail::arithmetic_real_t<C>, double>;
  /// Tiles under way from global memory; bounded by registers.
  static constexpr int ahead = Tile::is_complex || sizeof(C) * T == 32 ? 2 : 4;
  static_assert(T % 2 == 0, "products are of two tiles above each other");

  using Tiles = Tile[T][down];  ///< of the right-hand sides: 8 T of them, 32 rows
  struct alignas(16) TileOfLanes {
    double2 values[parts][32];  ///< of every lane
  };
  struct alignas(16) PairOfLanes {
    double2 values[parts][Tile::values][32];  ///< two tiles above each other, as a left operand
  };
  /// 32 rows of the solution, negative.
  struct Solution {
    PairOfLanes pairs[down][T / 2];
  };
  /// A block on the diagonal of the factor, conjugate.
  struct Diagonal {
    TileOfLanes tiles[down * (down + 1) / 2];
    TileOfLanes inverse[down];  ///< of the tiles on its diagonal
  };
  struct Shared {
    Solution solution[2];                  ///< of this step and the last
    alignas(16) int row[32 * most_warps];  ///< for the caller
  };
  /// Blocks on the diagonal that are in shared memory at once, at most.
  static constexpr int most_diagonals = Tile::is_complex ? 13 : most_warps;

  __host__ __device__ static constexpr int warps_for(int n) { return (n + 31) / 32; }
  __host__ __device__ static constexpr int diagonals_for(int n) {
    return warps_for(n) < most_diagonals ? warps_for(n) : most_diagonals;
  }
  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return sizeof(Shared) + static_cast<std::size_t>(diagonals_for(n)) * sizeof(Diagonal);
  }

  Shared& shared;  ///< followed by the blocks on the diagonal
  int n;

  /// Brings element (i, j) of the right-hand sides, of which there are `columns`, from where value(i, j) says.
  template <class Value>
  __device__ void load(Tiles& x, int columns, Value value) const {
    for_each(x, columns, [&](Tile& tile, int v, int i, int j, bool exists) {
      tile.set(v, exists ? widened(value(i, j)) : Wide{});
    });
  }
  template <class Put>
  __device__ void store(Tiles& x, int columns, Put put) const {
    for_each(x, columns, [&](Tile& tile, int v, int i, int j, bool exists) {
      if (exists) put(i, j, narrowed<C>(tile.get(v)));
    });
  }

  /// By a lower triangle if `forward`, else by an upper one. All warps that have rows.
  template <bool forward>
  __device__ void solve(Tiles& x, const TriangularFactor<C>& factor) const {
    const int steps = warps_for(n), slots = diagonals_for(n), own = forward ? warp() : steps - 1 - warp();
    Diagonal& diagonal = reinterpret_cast<Diagonal*>(&shared + 1)[own % slots];
    const bool early = own < slots;  // else another block is still there
    if (early) prepare<forward>(diagonal, factor);
    Stream stream = first_tiles<forward>(factor);
    // why all steps in one loop: as in CtaSubstitution
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      if (step > 0 && step <= own) subtract<forward>(x, stream, factor, shared.solution[(step - 1) % 2]);
      if (step == own) {
        if (!early) prepare<forward>(diagonal, factor);
        solve_own<forward>(x, diagonal, shared.solution[step % 2]);
        stream = {};  // why: the loop would keep it in registers while the rows are solved, although none follow
      }
      __syncthreads();
    }
  }

 private:
  __device__ static int lane() { return Tile::lane(); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  /// visit(tile, its value, row, right-hand side, whether they exist) for the tiles of this warp.
  template <class Visit>
  __device__ void for_each(Tiles& x, int columns, Visit visit) const {
    // why: what is made of them would stay in registers from the load to the store
    int row = 32 * warp() + Tile::column(0), column = Tile::row();
    asm volatile("" : "+r"(row), "+r"(column));
#pragma unroll
    for (int c = 0; c < T; ++c)
#pragma unroll
      for (int r = 0; r < down; ++r)
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) {
          const int i = row + 8 * r + 4 * v, j = column + 8 * c;
          visit(x[c][r], v, i, j, i < n && j < columns);
        }
  }

  /// An element of the factor as that of a right operand, which products conjugate.
  __device__ static Wide operand(const TriangularFactor<C>& factor, C value) {
    const Wide wide = widened(value);
    if constexpr (Tile::is_complex)
      return {wide.re, factor.conjugate ? wide.im : -wide.im};
    else
      return wide;
  }

  /// Tiles of the factor in the rows of this warp, on their way: the next ones down a column of them, then from the
  /// following one.
  struct Stream {
    C x[ahead][Tile::values];
    int column;  ///< of tiles
  };
  /// Zero behind the matrix and from the block on the diagonal on.
  template <bool forward>
  __device__ void fetch(Stream& stream, const TriangularFactor<C>& factor, int column, int r) const {
    // why: what is made of it would stay in registers from one tile to the next
    int i = 32 * warp() + 8 * r + Tile::row();
    asm volatile("" : "+r"(i));
    const int k = 8 * column + Tile::column(0);
    const bool exists = i < n && (forward ? column < down * warp() : column >= down * (warp() + 1));
    const C* const from = factor.data + i * factor.row + k * factor.column;
#pragma unroll
    for (int v = 0; v < Tile::values; ++v)
      stream.x[r % ahead][v] = exists && k + 4 * v < n ? from[4 * v * factor.column] : C{};
  }
  /// From the first column of tiles, or the last one.
  template <bool forward>
  __device__ Stream first_tiles(const TriangularFactor<C>& factor) const {
    Stream stream{};
    stream.column = forward ? 0 : down * warps_for(n) - 1;
#pragma unroll
    for (int r = 0; r < ahead; ++r) fetch<forward>(stream, factor, stream.column, r);
    return stream;
  }

  /// The products of four columns of tiles.
  template <bool forward>
  __device__ void subtract(Tiles& x, Stream& stream, const TriangularFactor<C>& factor,
                           const Solution& solution) const {
#pragma unroll 1
    for (int s = 0; s < down; ++s) {
      Tile left[T];
#pragma unroll
      for (int c = 0; c < T; c += 2) read(solution.pairs[stream.column % down][c / 2], left[c], left[c + 1]);
      const int following = stream.column + (forward ? 1 : -1);
#pragma unroll
      for (int r = 0; r < down; ++r) {
        Tile right;
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) right.set(v, operand(factor, stream.x[r % ahead][v]));
        fetch<forward>(stream, factor, r + ahead < down ? stream.column : following, (r + ahead) % down);
#pragma unroll
        for (int c = 0; c < T; c += 2) add_product(x[c][r], x[c + 1][r], left[c], left[c + 1], right);
      }
      stream.column = following;
    }
  }

  /// The rows of this warp, after all before them.
  template <bool forward>
  __device__ static void solve_own(Tiles& x, const Diagonal& diagonal, Solution& solution) {
#pragma unroll
    for (int s = 0; s < down; ++s) {
      const int r = forward ? s : down - 1 - s;
      const Tile inverse = read(diagonal.inverse[r]);
#pragma unroll
      for (int c = 0; c < T; c += 2) {
        Tile y[2]{};
        add_product(y[0], y[1], x[c][r], x[c + 1][r], inverse);
        if constexpr (refined) {
          add_product(x[c][r], x[c + 1][r], -y[0], -y[1], read(diagonal.tiles[number(r, r)]));
          add_product(y[0], y[1], x[c][r], x[c + 1][r], inverse);
        }
        x[c][r] = y[0];
        x[c + 1][r] = y[1];
        y[0] = -y[0];
        y[1] = -y[1];
        write(solution.pairs[r][c / 2], y[0], y[1]);
#pragma unroll
        for (int left = s + 1; left < down; ++left) {
          const int q = forward ? left : down - 1 - left;
          add_product(x[c][q], x[c + 1][q], y[0], y[1], read(diagonal.tiles[number(q, r)]));
        }
      }
    }
  }

  /// The block on the diagonal in the rows of this warp; behind the matrix the identity.
  template <bool forward>
  __device__ void prepare(Diagonal& diagonal, const TriangularFactor<C>& factor) const {
#pragma unroll 1
    for (int q = 0; q < down; ++q)
#pragma unroll 1
      for (int r = forward ? 0 : q; r < (forward ? q + 1 : down); ++r) {
        Tile tile;
#pragma unroll
        for (int v = 0; v < Tile::values; ++v) {
          const int i = 32 * warp() + 8 * q + Tile::row(), k = 32 * warp() + 8 * r + Tile::column(v);
          const bool one = i == k && (factor.unit || i >= n), inside = forward ? k <= i : k >= i;
          Wide value = detail::from_real<Wide>(one);
          if (!one && inside && i < n && k < n)
            value = operand(factor, factor.data[i * factor.row + k * factor.column]);
          tile.set(v, value);
        }
        write(diagonal.tiles[number(q, r)], tile);
      }
    __syncwarp();
    invert<forward>(diagonal);
    __syncwarp();
  }
  /// The tiles on its diagonal, a column a lane, which stays in shared memory: registers are full.
  template <bool forward>
  __device__ static void invert(Diagonal& diagonal) {
    int own_lane = lane();
    asm volatile("" : "+r"(own_lane));
    const int t = own_lane / 8, column = own_lane % 8;
    const TileOfLanes& tile = diagonal.tiles[number(t, t)];
    TileOfLanes& inverse = diagonal.inverse[t];
    const Wide own = detail::reciprocal(element(tile, column, column));
#pragma unroll 1
    for (int step = 0; step < 8; ++step) {
      const int i = forward ? step : 7 - step, begin = forward ? column : i + 1, end = forward ? i : column + 1;
      Wide y = detail::from_real<Wide>(i == column);
#pragma unroll 1
      for (int k = begin; k < end; ++k) y = fused_subtract(y, element(tile, i, k), element(inverse, k, column));
      // why: what is zero stays so where the reciprocal overflows
      const Wide reciprocal = Team<8>::broadcast(own, i);
      set(inverse, i, column, (forward ? i >= column : i <= column) ? y * reciprocal : Wide{});
    }
  }

  /// Of a tile in a block on the diagonal, above or below its own diagonal.
  __host__ __device__ static constexpr int number(int i, int k) {
    const int larger = i < k ? k : i, smaller = i < k ? i : k;
    return larger * (larger + 1) / 2 + smaller;
  }
  __device__ static Tile read(const TileOfLanes& from) {
    Tile tile;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const double2 values = from.values[p][lane()];
      tile.part[p][0] = values.x;
      tile.part[p][1] = values.y;
    }
    return tile;
  }
  __device__ static void write(TileOfLanes& to, const Tile& tile) {
#pragma unroll
    for (int p = 0; p < parts; ++p) to.values[p][lane()] = {tile.part[p][0], tile.part[p][1]};
  }
  __device__ static void read(const PairOfLanes& from, Tile& upper, Tile& lower) {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const double2 values = from.values[p][v][lane()];
        upper.part[p][v] = values.x;
        lower.part[p][v] = values.y;
      }
  }
  __device__ static void write(PairOfLanes& to, const Tile& upper, const Tile& lower) {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) to.values[p][v][lane()] = {upper.part[p][v], lower.part[p][v]};
  }
  /// Where element (i, c) of a tile lies in each of its parts.
  __device__ static int place(int i, int c) { return 2 * (Tile::lane_of_row(i) + c % 4) + c / 4; }
  __device__ static Wide element(const TileOfLanes& tile, int i, int c) {
    const auto* const values = reinterpret_cast<const double*>(tile.values);
    if constexpr (Tile::is_complex)
      return {values[place(i, c)], values[64 + place(i, c)]};
    else
      return values[place(i, c)];
  }
  __device__ static void set(TileOfLanes& tile, int i, int c, Wide value) {
    auto* const values = reinterpret_cast<double*>(tile.values);
    values[place(i, c)] = detail::real_part(value);
    if constexpr (Tile::is_complex) values[64 + place(i, c)] = value.im;
  }
};

}  // namespace blockjacobi::kernels
