#pragma once

#include "ablations/lu_by_rows.cuh"

namespace bench {

/// X = P, the identity with the rows interchanged as `ipiv` says.
template <class T, int N>
__global__ void __launch_bounds__(lanes_of<N>* most_matrices_per_cta)
    interchange_identity(const int* ipiv, T* x, offset_t count) {
  constexpr int lanes = lanes_of<N>;
  const Member<lanes> member(count);
  const int rank = Team<lanes>::current().rank;
  int place = rank;  // of the row `rank` of the identity
#pragma unroll
  for (int k = 0; k < N; ++k) place = interchanged(place, k, ipiv[member.k * N + k] - 1);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int one = Team<lanes>::broadcast(place, j);
    if (member.exists && rank < N) x[member.k * (N * N) + j * N + rank] = T(rank == one ? 1 : 0);
  }
}

/// X <- L^-1 X or U^-1 X with the factors from getrf in `lu`; every lane has one column of X in registers. Both
/// matrices come through the same shared memory, one after the other.
template <class T, int N, bool upper>
__global__ void __launch_bounds__(lanes_of<N>* most_matrices_per_cta)
    solve_triangle(const T* lu, T* x, offset_t count) {
  constexpr int lanes = lanes_of<N>;
  using Matrix = SharedMatrix<T, N>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Member<lanes> member(count);
  const int rank = Team<lanes>::current().rank, own = rank < N ? rank : 0;
  const Matrix matrix{reinterpret_cast<T*>(shared) + member.group * Matrix::elements};
  const auto fetch = [&](const T* source) {
    if (rank < N)
#pragma unroll
      for (int j = 0; j < N; ++j) matrix(rank, j) = source[member.k * (N * N) + j * N + rank];
    __syncwarp();
  };
  T y[N];
  fetch(x);
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] = matrix(i, own);
  __syncwarp();
  fetch(lu);
  if constexpr (upper) {
    if (rank < N) matrix(rank, rank) = reciprocal_or_zero(matrix(rank, rank));
    __syncwarp();
#pragma unroll
    for (int r = N - 1; r >= 0; --r) {
      y[r] *= matrix(r, r);
#pragma unroll
      for (int i = 0; i < r; ++i) y[i] -= matrix(i, r) * y[r];
    }
  } else {
#pragma unroll
    for (int r = 0; r < N; ++r)
#pragma unroll
      for (int i = r + 1; i < N; ++i) y[i] -= matrix(i, r) * y[r];
  }
  __syncwarp();
  if (rank < N)
#pragma unroll
    for (int i = 0; i < N; ++i) matrix(i, rank) = y[i];
  __syncwarp();
  if (!member.exists || rank >= N) return;
#pragma unroll
  for (int j = 0; j < N; ++j) x[member.k * (N * N) + j * N + rank] = matrix(rank, j);
}

/// The four launches that the fused kernel replaces, each with as many matrices a thread block.
template <class T, int N>
Design<T> inverse_separate_design() {
  const LaunchShape<T> plain{lanes_of<N>, 0}, solve{lanes_of<N>, SharedMatrix<T, N>::elements * sizeof(T)};
  return {"separate", solve.most_matrices(), false, [=](const AblationBatch<T>& b, int matrices) {
            const T* const factors = b.a;
            const int* const ipiv = b.ipiv;
            plain(lu_by_rows<T, N, RegisterRows, ButterflySearch, LazySwap>, b.count, matrices, b.a, b.ipiv, b.info);
            plain(interchange_identity<T, N>, b.count, matrices, ipiv, b.x);
            solve(solve_triangle<T, N, false>, b.count, matrices, factors, b.x);
            solve(solve_triangle<T, N, true>, b.count, matrices, factors, b.x);
          }};
}

}  // namespace bench
