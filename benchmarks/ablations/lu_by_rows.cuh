#pragma once

#include "ablations/launch.cuh"
#include "ablations/row_swap.cuh"

namespace bench {

/// Threads in one dimension: a row of the matrix each, a team of at most one warp for the matrix, no barrier of the
/// thread block. The thread block has as many teams as its size says.
template <class T, int N, template <class, int> class Store, class Search, class Swap>
__global__ void __launch_bounds__(lanes_of<N>* most_matrices_per_cta)
    lu_by_rows(T* a, int* ipiv, int* info, offset_t count) {
  using Rows = Store<T, N>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Member<Rows::lanes> member(count);
  const int rank = Team<Rows::lanes>::current().rank;
  Rows rows(reinterpret_cast<T*>(shared) + member.group * Rows::shared_elements, rank);
  rows.load(a + member.k * (N * N));

  int place = rank < N ? rank : -1, interchange = 0, outcome = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Pivot pivot = Search::template find<N>(rows, place, k);
    interchange = rank == k ? pivot.place : interchange;
    const int pivot_row = Swap::apply(rows, k, pivot, place);
    const T diagonal = rows.element(pivot_row, k);
    if (diagonal == T(0) && outcome == 0) outcome = k + 1;
    const bool below = place > k;
    const T multiplier = below ? rows.own(k) * reciprocal_or_zero(diagonal) : T(0);
    rows.set_own(k, below, multiplier);
    rows.subtract_row(k + 1, pivot_row, multiplier, below);
  }

  if (!member.exists || rank >= N) return;
  rows.store(a + member.k * (N * N), place);
  ipiv[member.k * N + rank] = interchange + 1;
  if (rank == 0) info[member.k] = outcome;
}

template <class T, int N, template <class, int> class Store, class Search, class Swap>
Design<T> lu_by_rows_design(const char* name, bool swept) {
  using Rows = Store<T, N>;
  const LaunchShape<T> shape{Rows::lanes, Rows::shared_elements * sizeof(T)};
  return {name, shape.most_matrices(), swept, [shape](const AblationBatch<T>& b, int matrices) {
            shape(lu_by_rows<T, N, Store, Search, Swap>, b.count, matrices, b.a, b.ipiv, b.info);
          }};
}

}  // namespace bench
