#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/batch_source.cuh"
#include "kernels/collectives/team.cuh"

#include <cuda_pipeline.h>

#include <algorithm>

namespace blockjacobi::kernels {

/// By value: `?:` between two elements of arrays selects an address, which puts the arrays into memory.
template <class C>
__device__ C select(bool condition, C a, C b) {
  return condition ? a : b;
}

/// A team as a mesh of Rows x Columns lanes among which a matrix is distributed cyclically in both directions.
template <int Rows, int Columns>
struct LaneMesh {
  static constexpr int rows = Rows, columns = Columns, lanes = Rows * Columns;
  int row, column;

  __device__ static LaneMesh current() {
    const int rank = static_cast<int>(threadIdx.x) % lanes;
    return {rank % Rows, rank / Rows};
  }
  __device__ int rank() const { return row + Rows * column; }

  /// The value of lane (source_row, source_column).
  template <class V>
  __device__ static V broadcast(V v, int source_row, int source_column) {
    return Team<lanes>::broadcast(v, source_row + Rows * source_column);
  }

  /// Sum over the lanes of a mesh column.
  template <class V>
  __device__ static V sum_rows(V v) {
#pragma unroll
    for (int distance = Rows / 2; distance > 0; distance /= 2) v = v + Team<lanes>::exchange(v, distance);
    return v;
  }
};

/// Shared memory of a team on a LaneMesh: a matrix of order n <= N with padded columns, in which the lanes meet no
/// bank conflicts that padding can avoid.
template <class C, int N, class Mesh>
struct MeshTile {
  static constexpr int size = static_cast<int>(sizeof(C));
  /// Bytes of an access between global and shared memory: the widest that divides a column.
  static constexpr int chunk = N * size % 16 == 0 ? 16 : N * size % 8 == 0 ? 8 : 4;

  struct Layout {
    int ld;
    int stride;  ///< of the teams
    int passes;  ///< an access of the warp takes
  };

  static constexpr int passes(int ld, int stride) {
    constexpr int words = size / 4, together = 32 / words;  // lanes that one pass can serve
    int worst = 0;
    for (int first = 0; first < 32; first += together) {
      int load[32] = {};
      for (int lane = first; lane < first + together; ++lane) {
        const int rank = lane % Mesh::lanes;
        const int element = lane / Mesh::lanes * stride + rank % Mesh::rows + rank / Mesh::rows * ld;
        for (int w = 0; w < words; ++w) worst = std::max(worst, ++load[(element * words + w) % 32]);
      }
    }
    return worst;
  }

  static constexpr Layout search() {
    constexpr int step = std::max(chunk / size, 1), align = 16 / size;
    Layout best{0, 0, 1000};
    for (int ld = N; ld <= N + 16; ld += step)
      for (int pad = 0; pad < 32 / (size / 4); pad += align) {
        const int stride = (N * ld + align - 1) / align * align + pad;
        const int cost = passes(ld, stride);
        if (cost < best.passes) best = {ld, stride, cost};
      }
    return best;
  }
  static constexpr Layout layout = search();
  static constexpr int ld = layout.ld, stride = layout.stride;

  /// Starts to copy the matrix to `tile`.
  template <class Matrix>
  __device__ static void fetch(C* tile, const Matrix& a, int rank) {
    if constexpr (is_contiguous<Matrix>) {
      auto* target = reinterpret_cast<unsigned char*>(tile);
      const auto* source = reinterpret_cast<const unsigned char*>(a.data);
      for_each_chunk(rank, [&](int place, int e) { __pipeline_memcpy_async(target + place, source + e, chunk); });
      __pipeline_commit();
    } else {
      for_each(a.n, rank, [&](int i, int j) { tile[i + j * ld] = a.data[i + j * static_cast<offset_t>(a.ld)]; });
    }
  }

  __device__ static void wait() {
    __pipeline_wait_prior(0);
    Team<Mesh::lanes>::sync();
  }

  /// Copies the tile to the matrix.
  template <class Matrix>
  __device__ static void store(const C* tile, const Matrix& b, int rank) {
    if constexpr (is_contiguous<Matrix>) {
      struct alignas(chunk) Chunk {
        unsigned word[chunk / 4];
      };
      auto* target = reinterpret_cast<unsigned char*>(b.data);
      const auto* source = reinterpret_cast<const unsigned char*>(tile);
      for_each_chunk(rank, [&](int place, int e) {
        *reinterpret_cast<Chunk*>(target + e) = *reinterpret_cast<const Chunk*>(source + place);
      });
    } else {
      for_each(b.n, rank, [&](int i, int j) { b.data[i + j * static_cast<offset_t>(b.ld)] = tile[i + j * ld]; });
    }
  }

 private:
  /// visit(place in the tile, place in a contiguous matrix), in bytes.
  template <class Visit>
  __device__ static void for_each_chunk(int rank, Visit visit) {
    constexpr int column = N * size / chunk;
    // All at once, their addresses would take too many registers.
#pragma unroll 8
    for (int first = 0; first < column * N; first += Mesh::lanes) {
      const int e = first + rank;
      if (e < column * N) visit(e / column * ld * size + e % column * chunk, e * chunk);
    }
  }

  /// visit(i, j) for the elements of this lane; neighbouring lanes take neighbouring elements.
  template <class Visit>
  __device__ static void for_each(int n, int rank, Visit visit) {
    int i = rank, j = 0;
    for (int e = rank; e < n * n; e += Mesh::lanes) {
      while (i >= n) {
        i -= n;
        ++j;
      }
      visit(i, j);
      i += Mesh::lanes;
    }
  }
};

}  // namespace blockjacobi::kernels
