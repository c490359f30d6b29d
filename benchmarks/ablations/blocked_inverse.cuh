#pragma once

#include "ablations/blocked_panel.cuh"

#include <blockjacobi/types.hpp>

namespace bench {

/// The matrices of one inversion after LU. Where columns are interchanged in a pass of their own, `result` is `x`; else
/// it takes the place of the factors, panel by panel, as these have been used.
template <class T>
struct InverseMatrices {
  BlockedMatrix<T> lu, x, result;
};

/// Makes the diagonal of a block in shared memory reciprocal, an element a thread; two barriers.
template <int NB, class T>
__device__ void invert_diagonal(T* block, int ld) {
  __syncthreads();
  const int j = static_cast<int>(threadIdx.x);
  if (j < NB) block[j * ld + j] = reciprocal_or_zero(block[j * ld + j]);
  __syncthreads();
}

/// x <- x U^-1 with `u(k, j)`, the diagonal of which is reciprocal.
template <class T, int NB, class U>
__device__ void solve_upper(RegisterPanel<T, NB>& panel, U u) {
#pragma unroll
  for (int j = 0; j < NB; ++j) {
    panel.x[j] *= u(j, j);
#pragma unroll
    for (int i = j + 1; i < NB; ++i) panel.x[i] -= panel.x[j] * u(j, i);
  }
}

/// x <- x L^-1 with `l(k, j)`, L unit lower triangular.
template <class T, int NB, class L>
__device__ void solve_lower(RegisterPanel<T, NB>& panel, L l) {
#pragma unroll
  for (int j = NB - 1; j > 0; --j)
#pragma unroll
    for (int i = 0; i < j; ++i) panel.x[i] -= panel.x[j] * l(j, i);
}

/// Columns p .. p + NB - 1 of rows first .. first + count - 1 in shared memory, by rows.
template <class T, int NB>
__device__ void fetch_columns(const BlockedMatrix<T>& a, int first, int count, int p, T* piece) {
#pragma unroll 4
  for (int j = 0; j < NB; ++j)
    for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x))
      piece[k * RegisterPanel<T, NB>::ld + j] = a(first + k, p + j);
}

/// Rows p .. p + NB - 1 of columns first .. first + count - 1 in shared memory, by columns.
template <class T, int NB>
__device__ void fetch_rows(const BlockedMatrix<T>& a, int p, int first, int count, T* piece) {
  for (int e = static_cast<int>(threadIdx.x); e < NB * count; e += static_cast<int>(blockDim.x))
    piece[e / NB * RegisterPanel<T, NB>::ld + e % NB] = a(p + e % NB, first + e / NB);
}

/// A solved panel is subtracted from columns first .. first + count - 1, by `piece` from fetch_rows.
template <class T, int NB>
__device__ void correct(const BlockedMatrix<T>& x, int row, int first, int count, const RegisterPanel<T, NB>& panel,
                        const T* piece) {
  for (int c = 0; c < count; c += 4) {
    T sum[4] = {};
#pragma unroll
    for (int j = 0; j < NB; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += panel.x[j] * piece[(c + i) * RegisterPanel<T, NB>::ld + j];
#pragma unroll
    for (int i = 0; i < 4; ++i) x(row, first + c + i) -= sum[i];
  }
}

/// X U = I by panels from the left, X L = X by panels from the right. Every thread has a row of a panel in registers,
/// what it is multiplied with is in shared memory. Delayed: all solved panels are subtracted from a panel before it is
/// solved.
template <class T, int NB>
struct DelayedCorrection {
  static constexpr const char* name = "delayed";
  static constexpr int ld = RegisterPanel<T, NB>::ld;

  __device__ static void prepare(const BlockedMatrix<T>&) {}

  __device__ static void solve_with_upper(const InverseMatrices<T>& m, int p, T* piece) {
    const int row = static_cast<int>(threadIdx.x);
    fetch_columns<T, NB>(m.lu, 0, p + NB, p, piece);
    T* const diagonal = piece + p * ld;
    invert_diagonal<NB>(diagonal, ld);
    if (row >= p + NB) return;
    RegisterPanel<T, NB> panel;
#pragma unroll
    for (int j = 0; j < NB; ++j) panel.x[j] = T(row == p + j ? 1 : 0);
    for (int q = 0; q < p; q += NB)
      if (row < q + NB) panel.subtract(m.x, row, q, NB, piece + q * ld);
    solve_upper(panel, [&](int k, int j) { return diagonal[k * ld + j]; });
    panel.store(m.x, row, p);
  }

  __device__ static void solve_with_lower(const InverseMatrices<T>& m, int p, T* piece) {
    const int row = static_cast<int>(threadIdx.x), after = p + NB;
    fetch_columns<T, NB>(m.lu, p, m.lu.n - p, p, piece);
    __syncthreads();
    RegisterPanel<T, NB> panel{};
    if (row < after) panel.load(m.x, row, p);
    panel.subtract(m.result, row, after, m.lu.n - after, piece + NB * ld);
    solve_lower(panel, [&](int k, int j) { return piece[k * ld + j]; });
    panel.store(m.result, row, p);
  }
};

/// Timely: a solved panel is subtracted at once from all that are not.
template <class T, int NB>
struct TimelyCorrection {
  static constexpr const char* name = "timely";
  static constexpr int ld = RegisterPanel<T, NB>::ld;

  __device__ static void prepare(const BlockedMatrix<T>& x) {
    const int row = static_cast<int>(threadIdx.x);
    for (int j = 0; j < x.n; ++j) x(row, j) = T(row == j ? 1 : 0);
  }

  __device__ static void solve_with_upper(const InverseMatrices<T>& m, int p, T* piece) {
    const int row = static_cast<int>(threadIdx.x), after = p + NB;
    fetch_rows<T, NB>(m.lu, p, p, m.lu.n - p, piece);
    invert_diagonal<NB>(piece, ld);
    if (row >= after) return;
    RegisterPanel<T, NB> panel;
    panel.load(m.x, row, p);
    solve_upper(panel, [&](int k, int j) { return piece[j * ld + k]; });
    panel.store(m.x, row, p);
    correct(m.x, row, after, m.lu.n - after, panel, piece + NB * ld);
  }

  __device__ static void solve_with_lower(const InverseMatrices<T>& m, int p, T* piece) {
    const int row = static_cast<int>(threadIdx.x);
    fetch_rows<T, NB>(m.lu, p, 0, p + NB, piece);
    __syncthreads();
    RegisterPanel<T, NB> panel;
    panel.load(m.x, row, p);
    solve_lower(panel, [&](int k, int j) { return piece[(p + j) * ld + k]; });
    panel.store(m.result, row, p);
    correct(m.x, row, 0, p, panel, piece);
  }
};

/// The matrices of the thread block.
template <class T>
__device__ InverseMatrices<T> inverse_matrices(T* lu, T* x, T* result, int n) {
  const blockjacobi::offset_t first = static_cast<blockjacobi::offset_t>(blockIdx.x) * n * n;
  return {{lu + first, n}, {x + first, n}, {result + first, n}};
}

/// Panels first .. last - 1 of X U = I, with as many threads as the last of them has rows, or more.
template <class T, int NB, template <class, int> class Correction>
__global__ void __launch_bounds__(largest_blocked_order)
    invert_upper(T* lu, T* x, T* result, int n, int first, int last, blockjacobi::offset_t) {
  extern __shared__ __align__(16) unsigned char memory[];
  const InverseMatrices<T> m = inverse_matrices(lu, x, result, n);
  if (first == 0) Correction<T, NB>::prepare(m.x);
  for (int i = first; i < last; ++i) {
    Correction<T, NB>::solve_with_upper(m, i * NB, reinterpret_cast<T*>(memory));
    __syncthreads();
  }
}

/// Panels first .. last - 1, from the right, of X L = X.
template <class T, int NB, template <class, int> class Correction>
__global__ void __launch_bounds__(largest_blocked_order)
    invert_lower(T* lu, T* x, T* result, int n, int first, int last, blockjacobi::offset_t) {
  extern __shared__ __align__(16) unsigned char memory[];
  const InverseMatrices<T> m = inverse_matrices(lu, x, result, n);
  for (int i = first; i < last; ++i) {
    Correction<T, NB>::solve_with_lower(m, n - (i + 1) * NB, reinterpret_cast<T*>(memory));
    __syncthreads();
  }
}

/// Columns go to their places from `result` to `x`, or within `x` if they are the same: 2 N^2 words and 4 N^2.
template <class T>
__global__ void interchange_columns(const T* result, T* x, const int* ipiv, int n, blockjacobi::offset_t) {
  __shared__ int pivot[largest_blocked_order], column[largest_blocked_order];
  const blockjacobi::offset_t matrix = blockIdx.x;
  const int row = static_cast<int>(threadIdx.x);
  const BlockedMatrix<const T> from{result + matrix * n * n, n};
  const BlockedMatrix<T> to{x + matrix * n * n, n};
  pivot[row] = ipiv[matrix * n + row] - 1;
  __syncthreads();
  if (result == x) {
    for (int k = n - 1; k >= 0; --k) {
      const T element = to(row, k);
      to(row, k) = to(row, pivot[k]);
      to(row, pivot[k]) = element;
    }
  } else {
    int place = row;
    for (int k = 0; k < n; ++k) place = interchanged(place, k, pivot[k]);
    column[place] = row;
    __syncthreads();
    for (int j = 0; j < n; ++j) to(row, column[j]) = from(row, j);
  }
}

}  // namespace bench
