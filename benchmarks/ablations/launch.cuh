#pragma once

#include "ablations/design.hpp"
#include "kernels/launch/tiny_batch.cuh"

#include <algorithm>

namespace bench {

using blockjacobi::offset_t;

/// What a thread block may have.
inline constexpr std::size_t most_shared_bytes = 227 * 1024;

/// The matrix of a group of `width` threads. Groups past the end take the last one too, as the lanes of a warp work
/// together, but must not store.
template <int width>
struct Member {
  int group;
  offset_t k;
  bool exists;

  __device__ explicit Member(offset_t count) : group(static_cast<int>(threadIdx.x) / width) {
    const offset_t mine = static_cast<offset_t>(blockIdx.x) * (blockDim.x / width) + group;
    exists = mine < count;
    k = exists ? mine : count - 1;
  }
};

/// A design as launch: `threads` and `shared_bytes` a matrix.
template <class T>
struct LaunchShape {
  int threads;
  std::size_t shared_bytes;

  int most_matrices() const {
    const int by_shared =
        shared_bytes == 0 ? most_matrices_per_cta : static_cast<int>(most_shared_bytes / shared_bytes);
    return std::min({most_matrices_per_cta, 1024 / threads, by_shared});
  }

  template <class... Parameters, class... Arguments>
  void operator()(void (*kernel)(Parameters...), std::size_t count, int matrices, Arguments... arguments) const {
    namespace kernels = blockjacobi::kernels;
    const std::size_t bytes = static_cast<std::size_t>(matrices) * shared_bytes;
    if (bytes > 0)  // why always: a design may have static shared memory beside it
      kernels::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                     "cudaFuncSetAttribute");
    const unsigned blocks = kernels::grid_for(static_cast<offset_t>(count), matrices, "ablation");
    kernel<<<blocks, static_cast<unsigned>(matrices * threads), bytes>>>(arguments..., static_cast<offset_t>(count));
    kernels::check_launch("ablation");
  }
};

/// make(N) for N = n of AblationOrders, N a constant.
template <class T, class Make>
std::vector<Design<T>> designs_of_order(int n, Make make) {
  std::vector<Design<T>> designs;
  [&]<int... N>(std::integer_sequence<int, N...>) {
    ((N == n ? static_cast<void>(designs = make(std::integral_constant<int, N>())) : static_cast<void>(0)), ...);
  }
  (AblationOrders());
  return designs;
}

}  // namespace bench
