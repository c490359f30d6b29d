#pragma once

#include "kernels/collectives/team.cuh"

#include <bit>

namespace bench {

using blockjacobi::kernels::Team;

/// Lanes of a team that gives a row to each: shuffles want a power of two.
template <int N>
inline constexpr int lanes_of = static_cast<int>(std::bit_ceil(static_cast<unsigned>(N)));

/// A matrix in shared memory, column-major. The leading dimension is odd, so that rows are read without bank conflicts.
template <class T, int N>
struct SharedMatrix {
  static constexpr int ld = N | 1;
  static constexpr int elements = N * ld;
  T* tile;

  __device__ T& operator()(int i, int j) const { return tile[j * ld + i]; }
};

/// A matrix of order N with its rows in the registers of a team, lane r having row r; lanes from N on have zeros. All
/// lanes of the warp call all functions together.
template <class T, int N>
struct RegisterRows {
  static constexpr int lanes = lanes_of<N>;
  static constexpr int shared_elements = 0;
  int rank;
  T x[N];

  __device__ RegisterRows(T*, int rank_) : rank(rank_) {}

  __device__ void load(const T* a) {
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = rank < N ? a[j * N + rank] : T(0);
  }
  /// The lane's row becomes row `place` of `a`.
  __device__ void store(T* a, int place) const {
#pragma unroll
    for (int j = 0; j < N; ++j) a[j * N + place] = x[j];
  }

  /// Element j of the lane's row.
  __device__ T own(int j) const { return x[j]; }
  __device__ void set_own(int j, bool select, T value) { x[j] = select ? value : x[j]; }
  __device__ T element(int row, int j) const { return Team<lanes>::broadcast(x[j], row); }

  __device__ void interchange(int k, int p) {
    const int source = rank == k ? p : rank == p ? k : rank;
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = Team<lanes>::broadcast(x[j], source);
  }

  /// Subtracts `factor` times row `pivot` from the lane's row, in columns first .. N - 1; factor is 0 unless `below`.
  __device__ void subtract_row(int first, int pivot, T factor, bool) {
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j >= first) x[j] -= factor * element(pivot, j);
  }
};

/// The same matrix in shared memory: every lane still works on one row, but sees them all.
template <class T, int N>
struct SharedRows {
  static constexpr int lanes = lanes_of<N>;
  static constexpr int shared_elements = SharedMatrix<T, N>::elements;
  int rank;
  SharedMatrix<T, N> matrix;

  __device__ SharedRows(T* shared, int rank_) : rank(rank_), matrix{shared} {}

  __device__ void load(const T* a) {
    if (rank < N)
#pragma unroll
      for (int j = 0; j < N; ++j) matrix(rank, j) = a[j * N + rank];
    __syncwarp();
  }
  __device__ void store(T* a, int place) const {
#pragma unroll
    for (int j = 0; j < N; ++j) a[j * N + place] = matrix(rank, j);
  }

  __device__ T own(int j) const { return matrix(rank < N ? rank : 0, j); }
  __device__ void set_own(int j, bool select, T value) {
    if (select) matrix(rank, j) = value;
  }
  __device__ T element(int row, int j) const { return matrix(row, j); }

  /// One column a lane.
  __device__ void interchange(int k, int p) {
    __syncwarp();  // the search has read the column
    if (rank < N && p != k) {
      const T upper = matrix(k, rank);
      matrix(k, rank) = matrix(p, rank);
      matrix(p, rank) = upper;
    }
    __syncwarp();
  }

  __device__ void subtract_row(int first, int pivot, T factor, bool below) {
    if (below)
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (j >= first) matrix(rank, j) -= factor * matrix(pivot, j);
    __syncwarp();
  }
};

}  // namespace bench
