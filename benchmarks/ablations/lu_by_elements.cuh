#pragma once

#include "ablations/lu_by_rows.cuh"

namespace bench {

/// Threads of a matrix of order N with an element each, in whole teams, the first of which finds the pivots.
template <int N>
inline constexpr int element_threads = (N * N + lanes_of<N> - 1) / lanes_of<N>* lanes_of<N>;

/// What the threads must know of a step. Aligned, so that they read it at once and nothing else with it.
template <class T>
struct alignas(16) Step {
  Pivot pivot;
  T inverse;
};

/// In shared memory.
template <class T, int N>
struct ElementTile {
  Step<T> step;
  T matrix[SharedMatrix<T, N>::elements];
};

/// Threads in two dimensions: an element of the matrix each, the matrix in shared memory, and barriers of the thread
/// block, of which lazy needs two a step and eager three. Multipliers are written one step late, when nobody reads the
/// pivot column any more; otherwise the update would need another barrier.
template <class T, int N, bool lazy>
__global__ void __launch_bounds__(1024) lu_by_elements(T* a, int* ipiv, int* info, offset_t count) {
  constexpr int threads = element_threads<N>, lanes = lanes_of<N>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Member<threads> member(count);
  auto& tile = reinterpret_cast<ElementTile<T, N>*>(shared)[member.group];
  const SharedMatrix<T, N> matrix{tile.matrix};
  T* const own = a + member.k * (N * N);
  const int e = static_cast<int>(threadIdx.x) % threads;
  const bool element = e < N * N;
  const int i = element ? e % N : -1, j = element ? e / N : -1;
  if (element) matrix(i, j) = own[e];
  __syncthreads();

  // Whole warps search, for the sake of the shuffles; other teams than the first do so in vain.
  const bool searches = Team<lanes>::any_in_warp(e < lanes);
  const int rank = Team<lanes>::current().rank, row = rank < N ? rank : 0;
  int place = i, place_of_search = rank < N ? rank : -1, interchange = 0, outcome = 0;
  T multiplier{};
  bool late = false;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (late) matrix(i, k - 1) = multiplier;
    if (searches) {
      const Pivot found = ButterflySearch::among_lanes<lanes>(matrix(row, k), place_of_search, rank, k);
      if (lazy) place_of_search = LazySwap::moved(place_of_search, rank, k, found);
      if (e == 0) tile.step = {found, reciprocal_or_zero(matrix(found.row, k))};
    }
    __syncthreads();
    const auto [pivot, inverse] = tile.step;
    interchange = e == k ? pivot.place : interchange;
    if constexpr (lazy) {
      place = LazySwap::moved(place, i, k, pivot);
    } else {
      if (i == k && pivot.row != k) {
        const T upper = matrix(k, j);
        matrix(k, j) = matrix(pivot.row, j);
        matrix(pivot.row, j) = upper;
      }
      __syncthreads();
    }
    const int pivot_row = lazy ? pivot.row : k;
    if (inverse == T(0) && outcome == 0) outcome = k + 1;
    const bool below = place > k;
    late = below && j == k;
    if (below && j >= k) {
      multiplier = matrix(i, k) * inverse;
      if (j > k) matrix(i, j) -= multiplier * matrix(pivot_row, j);
    }
    __syncthreads();
  }

  if (!member.exists || !element) return;
  own[j * N + place] = matrix(i, j);
  if (e < N) ipiv[member.k * N + e] = interchange + 1;
  if (e == 0) info[member.k] = outcome;
}

template <class T, int N, bool lazy>
Design<T> lu_by_elements_design(const char* name) {
  const LaunchShape<T> shape{element_threads<N>, sizeof(ElementTile<T, N>)};
  return {name, shape.most_matrices(), false, [shape](const AblationBatch<T>& b, int matrices) {
            shape(lu_by_elements<T, N, lazy>, b.count, matrices, b.a, b.ipiv, b.info);
          }};
}

}  // namespace bench
