#pragma once

#include "kernels/block/block_gauss_jordan.cuh"
#include "kernels/block/block_lu_inverse.cuh"
#include "kernels/block/cluster_gauss_jordan.cuh"
#include "kernels/block/interchanged_rows.cuh"
#include "kernels/block/permute_columns.cuh"
#include "kernels/global/blocked_launch.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

/// Fills the matrix, by the thread block.
template <class C>
__device__ void fill_matrix(const detail::MatrixRef<C>& x, C value) {
  for (int j = static_cast<int>(threadIdx.x) / 32; j < x.cols; j += static_cast<int>(blockDim.x) / 32)
    for (int i = static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) x(i, j) = value;
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
  const auto outcome = Elimination{shared, n, layout}.template run_in<Place>(matrix, inverse);
  if (!outcome.regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = outcome.info;
}

/// The same, one matrix a cluster.
template <class C, int W>
__global__ void __launch_bounds__(largest_blocked_order, 1)
    inverse_cluster_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const auto cluster = cooperative_groups::this_cluster();
  const offset_t k = blockIdx.x / cluster.num_blocks();
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const auto outcome = ClusterGaussJordan<C, W>(shared, n).run(matrix, inverse);
  if (cluster.block_rank() != 0) return;
  if (!outcome.regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = outcome.info;
}

/// Shared memory of the inversion from the factors, before what BlockLuInverse has.
struct GetriLayout {
  int* column;      ///< n and up to 3 more: getrf's interchanges, then of x, for each of U
  int* source_row;  ///< n: which row of A is at each position
  int* zero;        ///< first zero of the diagonal of U (1-based), or INT_MAX
  int* non_finite;
  unsigned char* scratch;

  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return aligned_bytes(static_cast<std::size_t>(2 * n + 5) * sizeof(int));
  }
  __device__ GetriLayout(unsigned char* shared, int n)
      : column(reinterpret_cast<int*>(shared)),
        source_row(column + n + 3),
        zero(source_row + n),
        non_finite(zero + 1),
        scratch(shared + bytes(n)) {}
};

/// The inverse from the factors of getrf, one matrix a thread block with a thread for each row; looks for what has no
/// inverse first.
template <class C, int W, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    getri_blocked_kernel(const MatrixBatchView<const C> lu, const index_t* ipiv, const MatrixBatchView<C> x,
                         const int stages, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto factors = detail::matrix_of(lu, k);
  const int n = factors.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const GetriLayout memory(shared, n);
  if (thread < (n + 3) / 4 * 4) memory.column[thread] = thread < n ? ipiv[k * lu.rows + thread] : thread + 1;
  if (thread == 0) {
    *memory.zero = INT_MAX;
    *memory.non_finite = 0;
  }
  __syncthreads();
  if (thread < n && detail::is_zero(factors(thread, thread))) atomicMin(memory.zero, thread + 1);
  bool finite = true;
  for (int j = thread / 32; j < n; j += static_cast<int>(blockDim.x) / 32)
#pragma unroll 4
    for (int i = thread % 32; i < n; i += 32) {
      const C value = factors(i, j);  // not only while all are finite, so that loads overlap
      finite = detail::finite(value) && finite;
    }
  if (!finite) atomicOr(memory.non_finite, 1);
  if (thread < n) memory.source_row[place_after_interchanges(memory.column, n, thread)] = thread;
  __syncthreads();
  const int zero = *memory.zero;
  if (thread == 0) info[k] = zero == INT_MAX ? 0 : zero;
  if (zero != INT_MAX || *memory.non_finite != 0) return fill_matrix(inverse, quiet_nan<C>());

  const bool in_place = factors.data == inverse.data;
  if (thread < n) memory.column[thread] = in_place ? thread : memory.source_row[thread];
  __syncthreads();
  const BlockLuInverse<C, W> from_lu(factors, inverse, memory.column, memory.scratch, stages);
  from_lu.run();
  if (in_place)
    permute_columns(
        inverse, [&](int j) { return memory.source_row[j]; }, reinterpret_cast<C*>(memory.scratch),
        from_lu.staged_elements(n) * static_cast<int>(sizeof(double) / sizeof(float)) / scalar_words<C>);
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

/// By a cluster for each of few matrices; returns whether the device has room for that.
template <class C>
bool inverse_by_clusters(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                         CUstream_st* stream) {
  constexpr int width = gauss_jordan_width(scalar_words<C>, detail::Arithmetic<C>::is_complex);
  using Elimination = ClusterGaussJordan<C, width>;
  if (a.rows < least_cluster_order) return false;
  for (const ClusterPolicy& policy : cluster_policies) {
    if (a.count > policy.matrices || (policy.turns > 1 && a.rows <= largest_one_turn_order)) continue;
    const int blocks = std::min(policy.blocks, Elimination::panels(a.rows));
    if (launch_clusters(inverse_cluster_kernel<C, width>, "inverse_clusters", a.rows, a.count, blocks, policy.turns,
                        Elimination::bytes(a.rows, blocks), stream, a, x, info))
      return true;
  }
  return false;
}

template <class C>
void inverse_blocked(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream) {
  using enum GaussJordanPlace;
  constexpr int words = scalar_words<C>, n_whole = largest_whole_order(words);
  constexpr bool is_complex = detail::Arithmetic<C>::is_complex;
  constexpr OrderRange range = resident_orders(words, is_complex);
  constexpr int few = 64, more = threads_for_rows(range.largest);
  using Resident = ResidentGaussJordan<C, gauss_jordan_width(words, is_complex), more / 32>;
  static_assert(range.largest <= Resident::most_panels * Resident::Layout::outer);
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
  if constexpr (!is_complex)
    if (inverse_by_clusters(a, x, info, stream)) return;
  if (a.rows <= largest_four_warp_order)
    inverse_blocked_in<C, streamed, largest_four_warp_order, 4>(a, x, info, stream);
  else
    inverse_blocked_in<C, streamed, largest_blocked_order, 1>(a, x, info, stream);
}

template <class C, int W, int Threads, int Blocks>
void getri_blocked_in(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
                      CUstream_st* stream) {
  const int n = lu.rows, stages = getri_stages(scalar_words<C>, detail::Arithmetic<C>::is_complex, n);
  launch_blocked(getri_blocked_kernel<C, W, Threads, Blocks>, "getri_blocked", n, lu.count,
                 GetriLayout::bytes(n) + BlockLuInverse<C, W>::scratch_bytes(n, stages), stream, lu, ipiv, x, stages,
                 info);
}

template <class C>
void getri_blocked(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
                   CUstream_st* stream) {
  if constexpr (detail::Arithmetic<C>::is_complex)
    getri_blocked_in<C, 16, largest_blocked_order, 1>(lu, ipiv, x, info, stream);
  else if (lu.rows <= largest_four_warp_order)
    getri_blocked_in<C, 16, largest_four_warp_order, narrow_getri_blocks>(lu, ipiv, x, info, stream);
  else
    getri_blocked_in<C, 32, largest_blocked_order, 1>(lu, ipiv, x, info, stream);
}

}  // namespace blockjacobi::kernels
