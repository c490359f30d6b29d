#pragma once

#include "ablations/blocked_lu.cuh"
#include "ablations/launch.cuh"

namespace bench {

/// No blocking of the panel: its steps are launches of their own, as generic LAPACK has them, and read and write
/// memory.
template <class T>
__global__ void search_pivot(const T* a, int* ipiv, int* info, int n, int column, offset_t) {
  __shared__ BlockSearch<T> block;
  const offset_t k = blockIdx.x;
  const int row = static_cast<int>(threadIdx.x);
  const T element = BlockedMatrix<const T>{a + k * n * n, n}(row, column);
  const Pivot pivot = block.search(element, row, column);
  if (row != pivot.row) return;
  ipiv[k * n + column] = row + 1;
  const int before = column == 0 ? 0 : info[k];
  info[k] = before == 0 && element == T(0) ? column + 1 : before;
}

/// Within the panel of columns p .. p + width - 1.
template <class T>
__global__ void interchange_pivot(T* a, const int* ipiv, int n, int p, int width, int column, offset_t) {
  const offset_t k = blockIdx.x;
  interchange_in_panel(BlockedMatrix<T>{a + k * n * n, n}, p, width, column, ipiv[k * n + column] - 1, -1);
}

template <class T>
__global__ void scale_and_update(T* a, int n, int p, int width, int column, offset_t) {
  const BlockedMatrix<T> matrix{a + static_cast<offset_t>(blockIdx.x) * n * n, n};
  const int row = static_cast<int>(threadIdx.x);
  if (row <= column) return;
  const T multiplier = matrix(row, column) * reciprocal_or_zero(matrix(column, column));
  matrix(row, column) = multiplier;
  for (int j = column + 1; j < p + width; ++j) matrix(row, j) -= multiplier * matrix(column, j);
}

/// What follows the panel at p.
template <class T, class Algorithm>
__global__ void __launch_bounds__(most_panel_threads<T>(Algorithm::width))
    finish_panel(T* a, const int* ipiv, int n, int p, offset_t) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& state = reinterpret_cast<typename Algorithm::Shared*>(memory)->panel;
  const offset_t k = blockIdx.x;
  const int row = static_cast<int>(threadIdx.x);
  if (row < Algorithm::width) state.pivot[row] = ipiv[k * n + p + row] - 1;
  __syncthreads();
  int place = row;
  for (int i = 0; i < Algorithm::width; ++i) place = interchanged(place, p + i, state.pivot[i]);
  state.note(p, row, place);
  __syncthreads();
  Algorithm::finish(BlockedMatrix<T>{a + k * n * n, n}, p, memory);
}

template <class T, class Algorithm>
void run_panel_by_launches(const AblationBatch<T>& b) {
  constexpr int width = Algorithm::width;
  const LaunchShape<T> rows{b.n, 0}, columns{width < 32 ? 32 : width, 0}, finish{b.n, Algorithm::shared_bytes(b.n)};
  const T* const a = b.a;
  const int* const ipiv = b.ipiv;
  for (int p = 0; p < b.n; p += width) {
    for (int column = p; column < p + width; ++column) {
      rows(search_pivot<T>, b.count, 1, a, b.ipiv, b.info, b.n, column);
      columns(interchange_pivot<T>, b.count, 1, b.a, ipiv, b.n, p, width, column);
      rows(scale_and_update<T>, b.count, 1, b.a, b.n, p, width, column);
    }
    finish(finish_panel<T, Algorithm>, b.count, 1, b.a, ipiv, b.n, p);
  }
}

}  // namespace bench
