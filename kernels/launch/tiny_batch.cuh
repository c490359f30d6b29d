#pragma once

#include "kernels/collectives/batch_source.cuh"
#include "kernels/launch/grid.hpp"
#include "kernels/tiny.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace blockjacobi::kernels {

/// Matrices that a thread block looks through for those of its class.
inline constexpr int class_chunk = 256;

/// The matrices of one class of orders among class_chunk consecutive ones, by number within them. Which thread block
/// treats a matrix never depends on the orders of others, nor does the result.
struct ClassList {
  short member[class_chunk];
  int size;
};

/// By all threads of the thread block. Members are those of order in (N - 4, N], and with N = 4 also those of order 0.
template <int N, class C>
__device__ void collect_class(const MatrixBatchView<C>& view, offset_t first, ClassList& list) {
  if (threadIdx.x == 0) list.size = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < class_chunk && first + i < view.count;
       i += static_cast<int>(blockDim.x)) {
    const int n = view.orders != nullptr ? view.orders[first + i] : view.rows;
    if (tiny_class(max(n, 1)) == N) list.member[atomicAdd(&list.size, 1)] = static_cast<short>(i);
  }
  __syncthreads();
}

/// Calls f.template operator()<N>() for N = n in 1..largest_tiny_order.
template <class F>
void with_order(int n, F&& f) {
  const auto pick = [&]<int... I>(std::integer_sequence<int, I...>) {
    static_cast<void>(((n == I + 1 && (f.template operator()<I + 1>(), true)) || ...));
  };
  pick(std::make_integer_sequence<int, largest_tiny_order>{});
}

/// Calls f.template operator()<N>() for the classes N of the orders in the batch.
template <class C, class F>
void for_each_class_of(const MatrixBatchView<C>& view, F&& f) {
  const int largest = std::max(view.rows, 1);
  const auto try_class = [&]<int N>() {
    if (view.orders != nullptr ? N - 4 < largest : N == tiny_class(largest)) f.template operator()<N>();
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { (try_class.template operator()<4 * I + 4>(), ...); }
  (std::make_integer_sequence<int, largest_tiny_order / 4>{});
}

/// Whether 16-byte accesses may run through the whole batch as one array.
template <class C>
bool is_contiguous_batch(const MatrixBatchView<C>& view) {
  return view.pointers == nullptr && view.orders == nullptr && view.rows > 0 && view.rows == view.cols &&
         view.ld == view.rows && (view.count == 1 || view.stride == static_cast<offset_t>(view.rows) * view.rows) &&
         reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}

/// Matrices of a thread block whose threads have theirs straight from global memory.
template <int N>
inline constexpr int straight_share = straight_threads* straight_matrices(N);

/// visit(m, k) for the matrices k of this thread in a batch of `count`, m = 0 .. straight_matrices(N) - 1.
template <int N, class Visit>
__device__ void for_each_straight(offset_t count, Visit visit) {
  constexpr int share = straight_matrices(N);
  const offset_t first = static_cast<offset_t>(blockIdx.x) * straight_share<N> + threadIdx.x;
#pragma unroll
  for (int m = 0; m < share; ++m) {
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
    const offset_t first = static_cast<offset_t>(blockIdx.x) * shuffled_threads + threadIdx.x / 32 * 32;
    return {first, static_cast<int>(min(offset_t{32}, batch - first))};
  }
};

}  // namespace blockjacobi::kernels
