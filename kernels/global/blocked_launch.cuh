#pragma once

#include "kernels/check.hpp"
#include "kernels/global/blocked.hpp"
#include "kernels/tuning/blocked.hpp"
#include "kernels/tuning/setup.hpp"

#include <climits>

namespace blockjacobi::kernels {

/// The scalar in words of 4 bytes, for the policies.
template <class C>
inline constexpr int scalar_words = static_cast<int>(sizeof(C) / 4);

/// Bytes, such that what follows is aligned for all.
__host__ __device__ constexpr std::size_t aligned_bytes(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// A thread for each row.
__host__ __device__ constexpr int threads_for_rows(int n) { return (n + 31) / 32 * 32; }

/// Dynamic shared memory that a thread block may have.
inline std::size_t shared_memory_limit() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(bytes);
}

/// One thread block with a thread for each of `rows` for each of `count` matrices, with `bytes` of dynamic shared
/// memory.
template <class... Parameters, class... Arguments>
void launch_blocked(void (*kernel)(Parameters...), const char* name, int rows, offset_t count, std::size_t bytes,
                    CUstream_st* stream, Arguments... arguments) {
  if (count > INT_MAX) check(cudaErrorInvalidConfiguration, name);
  // why the limit and not `bytes`: a launch recorded in a graph must not lose its right to a later, smaller one
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_memory_limit())),
        "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(count), static_cast<unsigned>(threads_for_rows(rows)), bytes, stream>>>(arguments...);
  check_launch(name);
}

/// The same with a cluster of `blocks` thread blocks for each matrix, if the device needs no more than `turns` turns of
/// clusters for all of them; returns whether it does.
template <class... Parameters, class... Arguments>
bool launch_clusters(void (*kernel)(Parameters...), const char* name, int rows, offset_t count, int blocks, int turns,
                     std::size_t bytes, CUstream_st* stream, Arguments... arguments) {
  const std::size_t limit = shared_memory_limit();
  if (bytes > limit) return false;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limit)),
        "cudaFuncSetAttribute");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
  cudaLaunchAttribute shape{};
  shape.id = cudaLaunchAttributeClusterDimension;
  shape.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(count * blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads_for_rows(rows)));
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &shape;
  config.numAttrs = 1;
  int at_a_time = 0;
  check(cudaOccupancyMaxActiveClusters(&at_a_time, kernel, &config), "cudaOccupancyMaxActiveClusters");
  if (count > static_cast<offset_t>(at_a_time) * turns) return false;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
  return true;
}

}  // namespace blockjacobi::kernels
