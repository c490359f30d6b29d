#pragma once

#include "ablations/lu_by_rows.cuh"

namespace bench {

/// One launch, after the paper: elimination on [A | I] by rows in registers with lazy swap, where column t of the
/// transformed identity that matters, that of pivot row t, takes the place of the eliminated column t of A; what
/// results goes to shared memory with the rows in their places; then every lane has one column and solves with U on its
/// own.
template <class T, int N>
__global__ void __launch_bounds__(lanes_of<N>* most_matrices_per_cta)
    inverse_fused(const T* a, T* x, int* info, offset_t count) {
  using Rows = RegisterRows<T, N>;
  using Matrix = SharedMatrix<T, N>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Member<Rows::lanes> member(count);
  const int rank = Team<Rows::lanes>::current().rank;
  const Matrix matrix{reinterpret_cast<T*>(shared) + member.group * Matrix::elements};
  Rows rows(nullptr, rank);
  rows.load(a + member.k * (N * N));

  int place = rank < N ? rank : -1, column = 0, outcome = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Pivot pivot = ButterflySearch::find<N>(rows, place, k);
    column = rank == k ? pivot.row : column;
    const int pivot_row = LazySwap::apply(rows, k, pivot, place);
    const T diagonal = rows.element(pivot_row, k);
    if (diagonal == T(0) && outcome == 0) outcome = k + 1;
    const T inverse = reciprocal_or_zero(diagonal);
    const bool below = place > k;
    const T multiplier = below ? rows.own(k) * inverse : T(0);
    // The diagonal keeps reciprocals, which are all that the solution with U asks for.
    rows.set_own(k, below, -multiplier);
    rows.set_own(k, rank == pivot_row, inverse);
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j != k) rows.x[j] -= multiplier * rows.element(pivot_row, j);
  }

  if (rank < N)
#pragma unroll
    for (int j = 0; j < N; ++j) matrix(place, j) = rows.x[j];
  __syncwarp();
  const int own = rank < N ? rank : 0;
  T y[N];
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] = i > own ? matrix(i, own) : T(i == own ? 1 : 0);
#pragma unroll
  for (int r = N - 1; r >= 0; --r) {
    y[r] *= matrix(r, r);
#pragma unroll
    for (int i = 0; i < r; ++i) y[i] -= matrix(i, r) * y[r];
  }
  __syncwarp();
  if (rank < N)
#pragma unroll
    for (int i = 0; i < N; ++i) matrix(i, column) = y[i];
  __syncwarp();
  if (!member.exists || rank >= N) return;
#pragma unroll
  for (int j = 0; j < N; ++j) x[member.k * (N * N) + j * N + rank] = matrix(rank, j);
  if (rank == 0) info[member.k] = outcome;
}

template <class T, int N>
Design<T> inverse_fused_design() {
  const LaunchShape<T> shape{lanes_of<N>, SharedMatrix<T, N>::elements * sizeof(T)};
  return {"fused", shape.most_matrices(), false, [shape](const AblationBatch<T>& b, int matrices) {
            shape(inverse_fused<T, N>, b.count, matrices, static_cast<const T*>(b.a), b.x, b.info);
          }};
}

}  // namespace bench
