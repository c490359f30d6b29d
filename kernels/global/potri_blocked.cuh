#pragma once

#include "kernels/block/block_potri.cuh"
#include "kernels/global/blocked_launch.cuh"
#include "kernels/launch_batched.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Where an inverse goes: to the triangle that the factor is in, to both triangles, or packed.
enum class SpdPlace { triangle, full, packed };

template <class C, bool upper>
struct SpdResult {
  detail::MatrixRef<C> x;
  SpdPlace place;

  /// Element (i, j) of the lower triangle, or its conjugate that of an upper one.
  __device__ void operator()(int i, int j, C value) const {
    const int row = upper ? j : i, column = upper ? i : j;
    if (place == SpdPlace::packed) {
      x.data[upper ? row + column * (column + 1) / 2 : row + column * (2 * x.rows - column - 1) / 2] = value;
      return;
    }
    x(row, column) = value;
    if (place == SpdPlace::full && row != column) x(column, row) = detail::conj(value);
  }

  __device__ void fill(C value) const {
    for (int j = static_cast<int>(threadIdx.x) / 32; j < x.rows; j += static_cast<int>(blockDim.x) / 32)
      for (int i = j + static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) (*this)(i, j, value);
  }
};

/// One matrix a thread block. If the result is not in the place of the factor, info has the outcome of the
/// factorization.
template <class C, int T, bool upper>
__global__ void __launch_bounds__(32 * potri_warps, 1)
    potri_blocked_kernel(const MatrixBatchView<C> factors, const MatrixBatchView<C> x, const SpdPlace place,
                         int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto factor = detail::matrix_of(factors, k);
  const int n = factor.rows;
  if (n <= largest_tiny_order) return;
  const SpdResult<C, upper> result{detail::matrix_of(x, k, n, n), place};
  if (place != SpdPlace::triangle && info[k] != 0) return result.fill(quiet_nan<C>());
  const auto outcome = BlockPotri<C, T, upper>(factor, shared).run(result);
  if (!outcome.regular) result.fill(quiet_nan<C>());
  if (threadIdx.x == 0 && (place == SpdPlace::triangle || outcome.info != 0)) info[k] = outcome.info;
}

template <class C, int T>
void potri_blocked(bool upper, const MatrixBatchView<C>& factors, const MatrixBatchView<C>& x, SpdPlace place,
                   int* info, CUstream_st* stream) {
  const int warps = std::min((factors.rows + 15) / 16, potri_warps);
  launch_blocked(upper ? potri_blocked_kernel<C, T, true> : potri_blocked_kernel<C, T, false>, "potri_blocked",
                 32 * warps, factors.count, BlockPotri<C, T, false>::shared_bytes(factors.rows), stream, factors, x,
                 place, info);
}

template <class C>
void potri_blocked(bool upper, const MatrixBatchView<C>& factors, const MatrixBatchView<C>& x, SpdPlace place,
                   int* info, CUstream_st* stream) {
  if constexpr (!detail::Arithmetic<C>::is_complex)
    if (factors.rows > largest_narrow_potri_order) return potri_blocked<C, 4>(upper, factors, x, place, info, stream);
  potri_blocked<C, 2>(upper, factors, x, place, info, stream);
}

template <class C>
void potri_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  potri_blocked(triangle == batched::Triangle::upper, a, a, SpdPlace::triangle, info, stream);
}

template <class C>
__global__ void __launch_bounds__(copy_triangle_threads)
    copy_triangle_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const bool upper) {
  const auto from = detail::matrix_of(a, blockIdx.x);
  const int n = from.rows;
  if (n <= largest_tiny_order) return;
  const auto to = detail::matrix_of(x, blockIdx.x, n, n);
  for (int j = static_cast<int>(threadIdx.x) / 32; j < n; j += copy_triangle_threads / 32)
    for (int i = (upper ? 0 : j) + static_cast<int>(threadIdx.x) % 32; i < (upper ? j + 1 : n); i += 32)
      to(i, j) = from(i, j);
}

/// The matrices from `first` on.
template <class T>
MatrixBatchView<T> slice(MatrixBatchView<T> batch, offset_t first, offset_t count) {
  if (batch.data != nullptr) batch.data += first * batch.stride;
  if (batch.pointers != nullptr) batch.pointers += first;
  if (batch.orders != nullptr) batch.orders += first;
  batch.count = count;
  return batch;
}

/// Factorizes and inverts where the full result goes; what will be packed as many matrices at a time as `work` takes.
template <class C>
void spd_inverse_blocked(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                         batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream) {
  const bool upper = triangle == batched::Triangle::upper, packed = storage == batched::SpdStorage::packed;
  const auto invert = [&](const MatrixBatchView<const C>& input, const MatrixBatchView<C>& factors,
                          const MatrixBatchView<C>& result, int* outcomes) {
    if (input.data != factors.data || input.pointers != factors.pointers)
      launch_blocked(copy_triangle_kernel<C>, "copy_triangle", copy_triangle_threads, input.count, 0, stream, input,
                     factors, upper);
    potrf_blocked(triangle, factors, outcomes, stream);
    potri_blocked(upper, factors, result, packed ? SpdPlace::packed : SpdPlace::full, outcomes, stream);
  };
  if (!packed) return invert(a, x, x, info);
  for (offset_t first = 0; first < a.count; first += work.count) {
    const offset_t count = std::min(work.count, a.count - first);
    const auto input = slice(a, first, count);
    auto factors = slice(work, 0, count);
    factors.orders = input.orders;
    invert(input, factors, slice(x, first, count), info + first);
  }
}

}  // namespace blockjacobi::kernels
