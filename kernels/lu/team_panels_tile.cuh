#pragma once

#include "kernels/collectives/row_tile.cuh"

namespace blockjacobi::kernels {

/// Shared memory of a team for a matrix of order N that stays there while panels of its columns go through the
/// registers. Columns are padded to an odd number of 16-byte words: lanes that have a column each read any row, and
/// whole vectors of rows, without bank conflicts.
template <class C, int N, int L>
struct PaneledTile {
  static constexpr int size = static_cast<int>(sizeof(C)), vector = Vector16<C>::size;
  static constexpr int ld = ((N + vector - 1) / vector | 1) * vector;
  static constexpr int panel = 8;  ///< columns of a panel

  /// Of the tile, N bytes for pivots, and two lists of a byte for each row of a panel. Lanes of a team read
  /// neighbouring rows, and two teams go together in one access: the second finds the other banks.
  static constexpr int bytes = [] {
    constexpr int banks = 128;
    const int used = N * ld * size + 32 + 2 * panel;
    return (used - L * size % banks + banks - 1) / banks * banks + L * size % banks;
  }();

  C* a;
  unsigned char* pivots;
  unsigned char* source;  ///< [s] is the row that goes to row s of the panel
  unsigned char* target;  ///< [s] is the row to which row s of the panel goes

  __device__ PaneledTile(unsigned char* shared, int team)
      : a(reinterpret_cast<C*>(shared + team * bytes)),
        pivots(shared + team * bytes + N * ld * size),
        source(pivots + 32),
        target(source + panel) {}

  /// Starts to copy a contiguous matrix to the tile.
  __device__ void fetch(const C* matrix, int rank) const {
    auto* const to = reinterpret_cast<unsigned char*>(a);
    const auto* const from = reinterpret_cast<const unsigned char*>(matrix);
    for_each_chunk(rank, ld, [&](int place, int e) { __pipeline_memcpy_async(to + place, from + e, chunk); });
    __pipeline_commit();
  }

  __device__ static void wait() {
    __pipeline_wait_prior(0);
    Team<L>::sync();
  }

  /// Copies the tile to a contiguous matrix; `stride` is that of the columns in the tile.
  __device__ void store(C* matrix, int rank, int stride) const {
    struct alignas(chunk) Chunk {
      unsigned word[chunk / 4];
    };
    auto* const to = reinterpret_cast<unsigned char*>(matrix);
    const auto* const from = reinterpret_cast<const unsigned char*>(a);
    for_each_chunk(rank, stride, [&](int place, int e) {
      *reinterpret_cast<Chunk*>(to + e) = *reinterpret_cast<const Chunk*>(from + place);
    });
  }

 private:
  /// Bytes of an access between global and shared memory: the widest that divides a column.
  static constexpr int chunk = N * size % 16 == 0 ? 16 : N * size % 8 == 0 ? 8 : 4;

  /// visit(place in the tile, place in a contiguous matrix), in bytes.
  template <class Visit>
  __device__ static void for_each_chunk(int rank, int stride, Visit visit) {
    constexpr int column = N * size / chunk;
    if constexpr (column % 2 == 0) {
#pragma unroll 8
      for (int first = 0; first < column * N; first += L) {
        const int e = first + rank;
        if (e < column * N) visit(e / column * stride * size + e % column * chunk, e * chunk);
      }
    } else {
      // Column by column: division by odd numbers would take longer than the copy.
#pragma unroll 4
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int first = 0; first < column; first += L) {
          const int e = first + rank;
          if (first + L <= column || e < column) visit(j * stride * size + e * chunk, j * N * size + e * chunk);
        }
    }
  }
};

/// Eight bytes of shared memory.
struct RowList {
  uint2 bytes;

  __device__ static RowList read(const unsigned char* list) { return {*reinterpret_cast<const uint2*>(list)}; }
  __device__ int operator[](int s) const { return __byte_perm(s < 4 ? bytes.x : bytes.y, 0, 0x4440 | s % 4); }
};

/// Rows of a column in shared memory, at a 16-byte boundary.
template <class C, int Rows>
struct RowVector {
  static constexpr int width = Vector16<C>::size;
  C value[(Rows + width - 1) / width * width];

  __device__ void load(const C* from) {
#pragma unroll
    for (int i = 0; i < Rows; i += width) {
      const auto part = *reinterpret_cast<const Vector16<C>*>(from + i);
#pragma unroll
      for (int u = 0; u < width; ++u) value[i + u] = part.value[u];
    }
  }
  __device__ void store(C* to) const {
#pragma unroll
    for (int i = 0; i < Rows; i += width) {
      Vector16<C> part;
#pragma unroll
      for (int u = 0; u < width; ++u) part.value[u] = value[i + u];
      *reinterpret_cast<Vector16<C>*>(to + i) = part;
    }
  }
};

/// Moves rows of a column to and from its `Rows` rows at `first`, in place, as the lists of a panel say. Those of the
/// panel itself become `rows` only; they are written back by others.
template <int Rows, class C>
__device__ void exchange_rows(C* column, int first, RowList source, RowList target, RowVector<C, Rows>& rows) {
  RowVector<C, Rows> leaving;
  leaving.load(column + first);
#pragma unroll
  for (int s = 0; s < Rows; ++s) rows.value[s] = column[source[s]];
#pragma unroll
  for (int s = 0; s < Rows; ++s) column[target[s]] = leaving.value[s];
}

}  // namespace blockjacobi::kernels
