#pragma once

#include "kernels/block/block_lu.cuh"
#include "kernels/block/block_lu_inverse.cuh"
#include "kernels/global/blocked_launch.cuh"

#include <algorithm>

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

/// Column j of the result becomes column place[j] of x, by the thread block.
template <class C, int W>
__device__ void write_columns(const SharedStore<C, W>& store, const detail::MatrixRef<C>& x, const int* place) {
  const auto matrix = store.panel(0);
  for (int j = static_cast<int>(threadIdx.x) / 32; j < x.cols; j += static_cast<int>(blockDim.x) / 32)
    for (int i = static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) x(i, place[j]) = matrix(i, j);
}

/// The same in place, H rows at a time through `buffer` of H x n elements; H divides 32.
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

/// The matrix in shared memory, or in its place in global memory.
template <class C, bool cached>
using InverseStore = std::conditional_t<cached, SharedStore<C, panel_width<C>>, GlobalStore<C, panel_width<C>>>;

/// LU and inverse of one matrix a thread block.
template <class C, bool cached>
struct BlockedInverse {
  static constexpr int W = panel_width<C>;
  using Lu = BlockLu<C, W>;
  using FromLu = BlockLuInverse<C, W>;

  __host__ __device__ static constexpr std::size_t lu_bytes(int n, int threads) {
    return aligned_bytes(Lu::scratch_bytes(n, threads));
  }
  __host__ __device__ static constexpr std::size_t inverse_bytes(int n) {
    return aligned_bytes(FromLu::scratch_bytes(n));
  }
  static std::size_t bytes(int n) {
    const auto store_bytes = static_cast<std::size_t>(InverseStore<C, cached>::elements(n)) * sizeof(C);
    return lu_bytes(n, threads_for_rows(n)) +
           (cached ? inverse_bytes(n) + store_bytes : std::max(inverse_bytes(n), store_bytes));
  }

  /// Returns info.
  __device__ static int run(const detail::MatrixRef<const C>& a, const detail::MatrixRef<C>& x, unsigned char* shared) {
    const int n = a.rows;
    const Lu lu(shared, n);
    unsigned char* const scratch = shared + lu_bytes(n, Lu::threads());
    // What a store in global memory has in shared memory is not needed after the factorization.
    C* const elements = reinterpret_cast<C*>(scratch + (cached ? inverse_bytes(n) : 0));
    const auto invert = [&](const auto& store, const detail::MatrixRef<C>& factors) {
      lu.run(a, factors, store);
      const bool regular = *lu.info == 0 && *lu.non_finite == 0;
      if (regular) FromLu(factors, scratch).run();
      return regular;
    };
    bool regular;
    if constexpr (cached) {
      const InverseStore<C, cached> store(elements, n);
      regular = invert(store, store.matrix());
      if (regular) write_columns(store, x, lu.source_row);
    } else {
      regular = invert(InverseStore<C, cached>(x, elements), x);
      if (regular) permute_columns<W>(x, lu.source_row, reinterpret_cast<C*>(scratch));
    }
    if (!regular) fill_matrix(x, quiet_nan<C>());
    return *lu.info;
  }
};

template <class C, bool cached>
__global__ void __launch_bounds__(cached ? cached_threads : uncached_threads, cached ? cached_blocks : 1)
    inverse_blocked_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= largest_tiny_order) return;
  const int outcome = BlockedInverse<C, cached>::run(matrix, detail::matrix_of(x, k, matrix.rows, matrix.rows), shared);
  if (threadIdx.x == 0) info[k] = outcome;
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

template <class C>
void inverse_blocked(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream) {
  const auto launch = [&]<bool cached>() {
    launch_blocked(inverse_blocked_kernel<C, cached>, "inverse_blocked", a.rows, a.count,
                   BlockedInverse<C, cached>::bytes(a.rows), stream, a, x, info);
  };
  if (a.rows <= largest_cached_inverse(static_cast<int>(sizeof(C) / 4)) &&
      BlockedInverse<C, true>::bytes(a.rows) <= shared_memory_limit())
    launch.template operator()<true>();
  else
    launch.template operator()<false>();
}

template <class C>
void getri_blocked(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
                   CUstream_st* stream) {
  const std::size_t bytes = aligned_bytes(static_cast<std::size_t>(lu.rows + 2) * sizeof(int)) +
                            BlockLuInverse<C, panel_width<C>>::scratch_bytes(lu.rows);
  launch_blocked(getri_blocked_kernel<C>, "getri_blocked", lu.rows, lu.count, bytes, stream, lu, ipiv, x, info);
}

}  // namespace blockjacobi::kernels
