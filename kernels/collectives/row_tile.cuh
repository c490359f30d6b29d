#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/batch_source.cuh"
#include "kernels/collectives/team.cuh"

#include <cuda_pipeline.h>

#include <cstdint>

namespace blockjacobi::kernels {

/// Which R rows of a matrix a lane of a team has.
enum class RowOrder {
  cyclic,     ///< r, r + L, r + 2 L, ...
  neighbours  ///< R r, R r + 1, ..., R r + R - 1
};

template <int L, int R, RowOrder order>
__device__ int row_of_lane(int rank, int q) {
  return order == RowOrder::cyclic ? q * L + rank : rank * R + q;
}

/// A matrix of order n <= N in the registers of a team; rows and columns n .. N - 1 hold zeros.
template <class C, int N, int L, int R, RowOrder order = RowOrder::cyclic>
struct RowTile {
  static_assert(L * R >= N);
  C x[R][N];

  __device__ static int row(int rank, int q) { return row_of_lane<L, R, order>(rank, q); }

  template <class Matrix>
  __device__ void load(const Matrix& a, int rank) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q)
        x[q][j] = row(rank, q) < a.n && j < a.n ? a.data[row(rank, q) + j * static_cast<offset_t>(a.ld)] : C{};
  }

  /// Ones on the diagonal of rows n .. N - 1: factorizations leave them alone, and all teams of a warp can take N
  /// steps.
  template <class Matrix>
  __device__ void embed(const Matrix& a, int rank) {
    if constexpr (!is_contiguous<Matrix>) {
#pragma unroll
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int q = 0; q < R; ++q)
          // why a selection: a conditional store would index the registers
          x[q][j] = row(rank, q) == j && j >= a.n ? detail::from_real<C>(1) : x[q][j];
    }
  }

  /// The largest magnitude word in the matrix, of the numbers that magnitude_key() compares.
  __device__ unsigned largest() const {
    float key = 0;
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q) key = larger_key(key, magnitude_key(x[q][j]));
    return Team<L>::max(__float_as_uint(key) & 0x7fffffffu);
  }

  /// Magnitude word of a bound of the elements, which are NaN or Inf only if the bound is.
  __device__ unsigned bound() const {
    detail::arithmetic_real_t<C> sum = 0;
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q) sum += detail::abs1(x[q][j]);
    return Team<L>::max(magnitude_word(sum));
  }

  __device__ void scale(detail::arithmetic_real_t<C> power) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q) x[q][j] = scaled(x[q][j], power);
  }

  /// Column j of the lane's rows.
  __device__ void column(int j, C (&rows)[R]) const {
#pragma unroll
    for (int q = 0; q < R; ++q) rows[q] = x[q][j];
  }
};

/// v[q] for a q known at run time only, without indexing registers.
template <class C, int R>
__device__ C pick(const C (&v)[R], int q) {
  C picked = v[0];
#pragma unroll
  for (int i = 1; i < R; ++i) picked = q == i ? v[i] : picked;
  return picked;
}

/// In shared memory: a matrix of order n <= N, column-major and contiguous.
template <class C, int N>
struct TeamTile {
  static constexpr int vector = Vector16<C>::size;

  /// Calls visit(i, j, e) for the elements of this lane, e = i + j n; neighbouring lanes take neighbouring elements.
  template <int L, class Visit>
  __device__ static void for_each(int n, int rank, Visit visit) {
    int i = rank, j = 0;
    for (int e = rank; e < n * n; e += L) {
      while (i >= n) {
        i -= n;
        ++j;
      }
      visit(i, j, e);
      i += L;
    }
  }

  /// Copies the matrix to `tile`.
  template <int L, class Matrix>
  __device__ static void fetch(C* tile, const Matrix& a, int rank) {
    for_each<L>(a.n, rank, [&](int i, int j, int e) { tile[e] = a.data[i + j * static_cast<offset_t>(a.ld)]; });
  }

  /// Copies the n x n elements at `tile` to the matrix.
  template <int L, class Matrix>
  __device__ static void store(const C* tile, const Matrix& b, int rank) {
    if constexpr (!is_contiguous<Matrix>) {
      for_each<L>(b.n, rank, [&](int i, int j, int e) { b.data[i + j * static_cast<offset_t>(b.ld)] = tile[e]; });
    } else if constexpr (N * N % vector == 0) {
#pragma unroll
      for (int e = rank * vector; e < N * N; e += L * vector)
        *reinterpret_cast<Vector16<C>*>(b.data + e) = *reinterpret_cast<const Vector16<C>*>(tile + e);
    } else {
#pragma unroll
      for (int e = rank; e < N * N; e += L) b.data[e] = tile[e];
    }
  }
};

/// Shared memory of team `team` of a thread block, of L lanes: a matrix, and a byte a row for pivots. Matrices of an
/// odd number of elements stand back to back as in a contiguous batch, so that those of a warp can be moved as one
/// array. Between others the accesses of a team to neighbouring elements go to other banks than those of the next team;
/// with an odd leading dimension `ld` those to neighbours in a row, too.
template <class C, int N, int L, int ld = N>
struct TeamScratch {
  static constexpr int banks = 128;  ///< bytes
  static constexpr int teams = Team<L>::per_warp;
  static constexpr int matrix_bytes = N * ld * static_cast<int>(sizeof(C));
  /// Whether the matrices of every warp start at a multiple of 16 bytes in a contiguous batch.
  static constexpr bool aligned = matrix_bytes * teams % 16 == 0;
  static constexpr bool back_to_back = ld == N && matrix_bytes % 16 != 0 && (aligned || !Team<L>::power_of_two);
  /// By which the teams of a warp meet in the fewest banks.
  static constexpr RowOrder rows = back_to_back ? RowOrder::neighbours : RowOrder::cyclic;
  static constexpr int stride =
      back_to_back ? matrix_bytes
                   : (matrix_bytes + banks - 1) / banks * banks + L * static_cast<int>(sizeof(C)) % banks;
  /// Of a warp; room to start as far from a multiple of 16 as in the batch.
  static constexpr int warp_stride = back_to_back && !aligned ? (teams * stride + 15) / 16 * 16 + 16 : teams * stride;
  static constexpr int bytes = (warp_stride + teams - 1) / teams + 32;
  C* tile;
  unsigned char* pivots;

  /// `shift`: bytes between a multiple of 16 and the first matrix of the warp.
  __device__ TeamScratch(unsigned char* shared, int team, int shift = 0)
      : tile(reinterpret_cast<C*>(shared + place(team) + shift)),
        pivots(shared + static_cast<int>(blockDim.x) / 32 * warp_stride + team * 32) {}

 private:
  __device__ static int place(int team) {
    if constexpr (warp_stride == teams * stride)
      return team * stride;
    else
      return team / teams * warp_stride + team % teams * stride;
  }
};

/// The contiguous matrices of a warp, one a team, on their way through shared memory: the warp moves them together, in
/// whole lines. Where they do not stand back to back that pays up to 4 lanes a team, if an access is wider than 4
/// bytes, and where the lanes of a team are no power of two.
template <class C, int N, int L>
struct WarpTiles {
  using Scratch = TeamScratch<C, N, L>;
  static constexpr int matrices = Team<L>::per_warp;
  static constexpr int bytes = Scratch::matrix_bytes, all = matrices * bytes;
  static constexpr int alignment = Scratch::back_to_back ? 0 : bytes | Scratch::stride;
  static constexpr int chunk = alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : 4;  ///< of an access
  static constexpr bool pays = Scratch::back_to_back || !Team<L>::power_of_two || (L <= 4 && chunk > 4);

  /// What TeamScratch wants for matrices at `data`.
  __device__ static int shift(const C* data) {
    if constexpr (Scratch::back_to_back && !Scratch::aligned)
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % 16);
    else
      return 0;
  }

  /// Brings `count` <= matrices of them from `source` to the tiles; `scratch` is that of the first team. Tiles that are
  /// left become copies of the last one.
  __device__ static void fetch(const Scratch& scratch, const C* source, int count) {
    auto* const tiles = reinterpret_cast<unsigned char*>(scratch.tile);
    const auto* const from = reinterpret_cast<const unsigned char*>(source);
    if (count == matrices) {
      const int shift = WarpTiles::shift(source);
      for_each_chunk(shift, [&](int place, int e) { __pipeline_memcpy_async(tiles + place, from + e, chunk); });
      for_each_loose_element(shift, [&](int e) { scratch.tile[e] = source[e]; });
    } else {
      for_each_element(matrices,
                       [&](int t, int e) { scratch.tile[t * stride + e] = source[min(t, count - 1) * N * N + e]; });
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
  }

  /// Takes them back, after a barrier of the warp.
  __device__ static void store(const Scratch& scratch, C* target, int count) {
    struct alignas(chunk) Chunk {
      unsigned word[chunk / 4];
    };
    __syncwarp();
    const auto* const tiles = reinterpret_cast<const unsigned char*>(scratch.tile);
    auto* const to = reinterpret_cast<unsigned char*>(target);
    if (count == matrices) {
      const int shift = WarpTiles::shift(target);
      for_each_chunk(shift, [&](int place, int e) {
        *reinterpret_cast<Chunk*>(to + e) = *reinterpret_cast<const Chunk*>(tiles + place);
      });
      for_each_loose_element(shift, [&](int e) { target[e] = scratch.tile[e]; });
    } else {
      for_each_element(count, [&](int t, int e) { target[t * N * N + e] = scratch.tile[t * stride + e]; });
    }
  }

 private:
  static constexpr int stride = Scratch::stride / static_cast<int>(sizeof(C));  ///< elements from tile to tile

  /// visit(place among the tiles, place in the batch), in bytes, for the chunks of this lane. Where matrices stand back
  /// to back the first starts where 16 bytes do.
  template <class Visit>
  __device__ static void for_each_chunk(int shift, Visit visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (Scratch::back_to_back) {
      const int head = head_bytes(shift), chunks = (all - head) / chunk;
#pragma unroll 8
      for (int first = 0; first < all / chunk; first += 32)
        if (first + lane < chunks) visit(head + (first + lane) * chunk, head + (first + lane) * chunk);
    } else {
      constexpr int per_matrix = bytes / chunk, chunks = matrices * per_matrix, gap = Scratch::stride - bytes;
      static_assert(per_matrix >= 32);
      // Unrolled, so that the matrix is known but where an access belongs to two.
#pragma unroll
      for (int first = 0; first < chunks; first += 32) {
        const int c = first + lane, left = per_matrix - first % per_matrix;
        const int t = first / per_matrix + (left < 32 && lane >= left ? 1 : 0);
        if (first + 32 <= chunks || c < chunks) visit(c * chunk + t * gap, c * chunk);
      }
    }
  }

  /// visit(element) for those before the first chunk and after the last.
  template <class Visit>
  __device__ static void for_each_loose_element(int shift, Visit visit) {
    if constexpr (!Scratch::aligned) {
      constexpr int size = static_cast<int>(sizeof(C)), most = 16 / size - 1;
      const int lane = static_cast<int>(threadIdx.x) % 32;
      const int head = head_bytes(shift), tail = (all - head) % chunk;
      if (lane * size < head) visit(lane);
      if (lane >= most && (lane - most) * size < tail) visit((all - tail) / size + lane - most);
    }
  }

  __device__ static int head_bytes(int shift) { return (16 - shift) % 16; }

  /// visit(matrix, element in it) for `count` matrices.
  template <class Visit>
  __device__ static void for_each_element(int count, Visit visit) {
    for (int e = static_cast<int>(threadIdx.x) % 32; e < count * N * N; e += 32) visit(e / (N * N), e % (N * N));
  }
};

}  // namespace blockjacobi::kernels
