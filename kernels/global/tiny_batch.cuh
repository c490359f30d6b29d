#pragma once

#include "kernels/check.hpp"
#include "kernels/launch_batched.hpp"
#include "kernels/subwarp/batch_source.cuh"
#include "kernels/tuning/setup.hpp"
#include "kernels/tuning/tiny.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

namespace blockjacobi::kernels {

/// Order of a kernel for matrices that are not packed, or of different orders: multiples of 4.
__host__ __device__ constexpr int tiny_class(int n) { return (n + 3) / 4 * 4; }

/// Matrices that a thread block looks through for those of its class.
inline constexpr int class_tile = 256;

/// The matrices of one class of orders among class_tile consecutive ones, by number within the tile. Which thread
/// block treats a matrix never depends on the orders of others, nor does the result.
struct ClassList {
  short member[class_tile];
  int size;
};

/// All threads of the block. Members are those of order in (N - 4, N], and with N = 4 also those of order 0.
template <int N, class C>
__device__ void collect_class(const MatrixBatchView<C>& view, offset_t first, ClassList& list) {
  if (threadIdx.x == 0) list.size = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < class_tile && first + i < view.count;
       i += static_cast<int>(blockDim.x)) {
    const int n = view.orders != nullptr ? view.orders[first + i] : view.rows;
    if (tiny_class(max(n, 1)) == N) list.member[atomicAdd(&list.size, 1)] = static_cast<short>(i);
  }
  __syncthreads();
}

/// Calls f.template operator()<N>() for N = n in 1..32.
template <class F>
void with_order(int n, F&& f) {
  const auto pick = [&]<int... I>(std::integer_sequence<int, I...>) {
    static_cast<void>(((n == I + 1 && (f.template operator()<I + 1>(), true)) || ...));
  };
  pick(std::make_integer_sequence<int, 32>{});
}

/// Calls f.template operator()<N>() for the classes N of the orders in the batch.
template <class C, class F>
void for_each_class_of(const MatrixBatchView<C>& view, F&& f) {
  const int largest = std::max(view.rows, 1);
  const auto try_class = [&]<int N>() {
    if (view.orders != nullptr ? N - 4 < largest : N == tiny_class(largest)) f.template operator()<N>();
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { (try_class.template operator()<4 * I + 4>(), ...); }
  (std::make_integer_sequence<int, 8>{});
}

/// Whether 16-byte accesses may run through the whole batch as one array.
template <class C>
bool is_packed_batch(const MatrixBatchView<C>& view) {
  return view.pointers == nullptr && view.orders == nullptr && view.rows > 0 && view.rows == view.cols &&
         view.ld == view.rows && (view.count == 1 || view.stride == static_cast<offset_t>(view.rows) * view.rows) &&
         reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}

/// Thread blocks for `count` items.
inline unsigned grid_for(offset_t count, offset_t per_block, const char* kernel) {
  const offset_t blocks = (count + per_block - 1) / per_block;
  if (blocks > INT_MAX) check(cudaErrorInvalidConfiguration, kernel);
  return static_cast<unsigned>(blocks);
}

/// Lets the kernel take more than 48 KB of shared memory where it needs them.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, std::size_t bytes) {
  if (bytes > 48 * 1024)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
}

template <class C>
inline constexpr int words_of = static_cast<int>(sizeof(C) / 4);

template <int N, class C>
inline constexpr TinyPolicy setup_policy = setup_team(words_of<C>, detail::Arithmetic<C>::is_complex, N);

template <int N, class C>
inline constexpr TinyPolicy inverse_policy = inverse_team(words_of<C>, detail::Arithmetic<C>::is_complex, N);

template <int N, class C>
inline constexpr TinyPolicy lu_policy = lu_team(words_of<C>, detail::Arithmetic<C>::is_complex, N);

template <int N, class C>
inline constexpr int thread_design_blocks = blocks_of_thread_design(words_of<C>, N);

/// Matrices of a thread block whose threads have theirs straight from global memory.
template <int N>
inline constexpr int straight_tile = straight_threads* straight_matrices<N>;

/// visit(m, k) for the matrices k of this thread in a batch of `count`, m = 0 .. straight_matrices<N> - 1.
template <int N, class Visit>
__device__ void for_each_straight(offset_t count, Visit visit) {
  const offset_t first = static_cast<offset_t>(blockIdx.x) * straight_tile<N> + threadIdx.x;
#pragma unroll
  for (int m = 0; m < straight_matrices<N>; ++m) {
    const offset_t k = first + m * straight_threads;
    if (k < count) visit(m, k);
  }
}

/// The matrices of this warp where each of its lanes has one: those from `first` on, 32 or as many as the batch still
/// has; none where `count` is not positive.
struct WarpShare {
  offset_t first;
  int count;

  __device__ static WarpShare of(offset_t batch) {
    const offset_t first = static_cast<offset_t>(blockIdx.x) * warp_design_threads + threadIdx.x / 32 * 32;
    return {first, static_cast<int>(min(offset_t{32}, batch - first))};
  }
};

template <int N>
inline constexpr int lu_phase_columns = lu_phase(N);

}  // namespace blockjacobi::kernels
