#pragma once

#include "kernels/block/block_gauss_jordan.cuh"
#include "kernels/block/block_lu_inverse.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// Fills the matrix, by the thread block.
template <class C>
__device__ void fill_matrix(const detail::MatrixRef<C>& x, C value) {
  for (int j = static_cast<int>(threadIdx.x) / 32; j < x.cols; j += static_cast<int>(blockDim.x) / 32)
    for (int i = static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) x(i, j) = value;
}

/// Which row of A is at each position after getrf's interchanges; by one thread.
__device__ inline void apply_interchanges(const index_t* ipiv, int n, int* source_row) {
  for (int i = 0; i < n; ++i) source_row[i] = i;
  for (int i = 0; i < n; ++i) {
    const int p = ipiv[i] - 1, row = source_row[p];
    source_row[p] = source_row[i];
    source_row[i] = row;
  }
}

/// Column j becomes column place[j], in place, H rows at a time through `buffer` of H x n elements; H divides 32.
template <int H, class C>
__device__ void permute_columns(const detail::MatrixRef<C>& x, const int* place, C* buffer) {
  const int row = static_cast<int>(threadIdx.x) % H, group = static_cast<int>(threadIdx.x) / H;
  const int groups = static_cast<int>(blockDim.x) / H;
  for (int first = 0; first < x.rows; first += H) {
    const bool exists = first + row < x.rows;
    for (int j = group; j < x.cols && exists; j += groups) buffer[j * H + row] = x(first + row, j);
    __syncthreads();
    for (int j = group; j < x.cols && exists; j += groups) x(first + row, place[j]) = buffer[j * H + row];
    __syncthreads();
  }
}

/// By Gauss-Jordan elimination, one matrix a thread block of at most Threads threads. Blocks thread blocks a
/// multiprocessor bound the registers.
template <class C, int W, GaussJordanPlace Place, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    inverse_blocked_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const GaussJordanPolicy policy,
                           int* info) {
  using Elimination = BlockGaussJordan<C, W, Threads / 32>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const auto layout = Elimination::Layout::of(n, policy);
  const auto outcome = Elimination(shared, n, layout).template run_in<Place>(matrix, inverse);
  if (!outcome.regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = outcome.info;
}

/// The inverse from the factors of getrf: the block's threads copy them to x if they are elsewhere, and look for what
/// has no inverse.
template <class C>
__global__ void __launch_bounds__(uncached_threads, 1)
    getri_blocked_kernel(const MatrixBatchView<const C> lu, const index_t* ipiv, const MatrixBatchView<C> x,
                         int* info) {
  using FromLu = BlockLuInverse<C, panel_width<C>>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto factors = detail::matrix_of(lu, k);
  const int n = factors.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  int* const source_row = reinterpret_cast<int*>(shared);
  int &zero = source_row[n], &non_finite = source_row[n + 1];
  if (thread == 0) {
    zero = INT_MAX;
    non_finite = 0;
  }
  __syncthreads();
  if (thread < n && detail::is_zero(factors(thread, thread))) atomicMin(&zero, thread + 1);
  bool finite = true;
  for (int j = thread / 32; j < n; j += static_cast<int>(blockDim.x) / 32)
    for (int i = thread % 32; i < n; i += 32) {
      const C value = factors(i, j);
      finite = finite && detail::finite(value);
      inverse(i, j) = value;
    }
  if (!finite) atomicOr(&non_finite, 1);

  unsigned char* const scratch = shared + aligned_bytes(static_cast<std::size_t>(n + 2) * sizeof(int));
  if (thread == 0) apply_interchanges(ipiv + k * lu.rows, n, source_row);
  __syncthreads();
  const bool regular = zero == INT_MAX && non_finite == 0;
  if (regular) {
    FromLu(inverse, scratch).run();
    permute_columns<panel_width<C>>(inverse, source_row, reinterpret_cast<C*>(scratch));
  } else {
    fill_matrix(inverse, quiet_nan<C>());
  }
  if (thread == 0) info[k] = zero == INT_MAX ? 0 : zero;
}

template <class C, GaussJordanPlace Place, int Threads, int Blocks>
void inverse_blocked_in(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                        CUstream_st* stream) {
  constexpr int width = gauss_jordan_width(scalar_words<C>, detail::Arithmetic<C>::is_complex);
  using Elimination = BlockGaussJordan<C, width, Threads / 32>;
  const GaussJordanPolicy policy{Place, gauss_jordan_policy(scalar_words<C>, a.rows).stages};
  launch_blocked(inverse_blocked_kernel<C, width, Place, Threads, Blocks>, "inverse_blocked", a.rows, a.count,
                 Elimination::bytes(a.rows, Elimination::Layout::of(a.rows, policy)), stream, a, x, policy, info);
}

template <class C>
void inverse_blocked(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream) {
  using enum GaussJordanPlace;
  constexpr int words = scalar_words<C>, n_whole = largest_whole_order(words);
  constexpr bool is_complex = detail::Arithmetic<C>::is_complex;
  constexpr OrderRange range = resident_orders(words, is_complex);
  using Elimination = BlockGaussJordan<C, gauss_jordan_width(words, is_complex)>;
  static_assert(range.largest <= Elimination::most_resident_panels * Elimination::outer);
  constexpr int few = 64, more = threads_for_rows(range.largest);
  if (a.rows >= range.least && a.rows <= range.largest) {
    if constexpr (range.least <= few)
      if (a.rows <= few)
        return inverse_blocked_in<C, resident, few, resident_blocks(is_complex, few)>(a, x, info, stream);
    return inverse_blocked_in<C, resident, more, resident_blocks(is_complex, more)>(a, x, info, stream);
  }
  if constexpr (n_whole > largest_tiny_order)
    if (a.rows <= n_whole)
      return inverse_blocked_in<C, whole, threads_for_rows(n_whole), whole_blocks(words, is_complex)>(a, x, info,
                                                                                                      stream);
  if (a.rows <= largest_four_warp_order)
    inverse_blocked_in<C, streamed, largest_four_warp_order, 4>(a, x, info, stream);
  else
    inverse_blocked_in<C, streamed, largest_blocked_order, 1>(a, x, info, stream);
}

template <class C>
void getri_blocked(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
                   CUstream_st* stream) {
  const std::size_t bytes = aligned_bytes(static_cast<std::size_t>(lu.rows + 2) * sizeof(int)) +
                            BlockLuInverse<C, panel_width<C>>::scratch_bytes(lu.rows);
  launch_blocked(getri_blocked_kernel<C>, "getri_blocked", lu.rows, lu.count, bytes, stream, lu, ipiv, x, info);
}

}  // namespace blockjacobi::kernels
