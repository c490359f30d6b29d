#pragma once

#include "kernels/launch/grid.hpp"
#include "kernels/scalar.hpp"

#include <climits>
#include <utility>

namespace blockjacobi::kernels {

/// Bytes, such that what follows is aligned for all.
__host__ __device__ constexpr std::size_t aligned_bytes(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// A thread for each row.
__host__ __device__ constexpr int threads_for_rows(int n) { return (n + 31) / 32 * 32; }

/// One thread block with a thread for each of `rows` for each of `count` matrices, with `bytes` of dynamic shared
/// memory.
template <class... Parameters, class... Arguments>
void launch_ctas(void (*kernel)(Parameters...), const char* name, int rows, offset_t count, std::size_t bytes,
                 CUstream_st* stream, Arguments... arguments) {
  if (count > INT_MAX) check(cudaErrorInvalidConfiguration, name);
  // why the limit and not `bytes`: a launch recorded in a graph must not lose its right to a later, smaller one
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(current_device().shared_bytes)),
        "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(count), static_cast<unsigned>(threads_for_rows(rows)), bytes, stream>>>(arguments...);
  check_launch(name);
}

/// Whether what was asked for is there; an error is answered, so that no later call takes it for its own.
inline bool is_granted(cudaError_t status) {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status == cudaSuccess;
}

/// Whether the code that runs here was compiled for devices with clusters, whatever this one is.
template <class... Parameters>
bool has_clusters(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  return attributes.ptxVersion >= 90;
}

/// The same with a cluster of `ctas` thread blocks for each matrix, if the device has such clusters and needs no more
/// than `turns` turns of them for all matrices; returns whether it does.
template <class... Parameters, class... Arguments>
bool launch_clusters(void (*kernel)(Parameters...), const char* name, int rows, offset_t count, int ctas, int turns,
                     std::size_t bytes, CUstream_st* stream, Arguments... arguments) {
  const std::size_t limit = current_device().shared_bytes;
  if (bytes > limit || !has_clusters(kernel)) return false;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limit)),
        "cudaFuncSetAttribute");
  if (!is_granted(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1))) return false;
  cudaLaunchAttribute shape{};
  shape.id = cudaLaunchAttributeClusterDimension;
  shape.val.clusterDim = {static_cast<unsigned>(ctas), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(count * ctas));
  config.blockDim = dim3(static_cast<unsigned>(threads_for_rows(rows)));
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &shape;
  config.numAttrs = 1;
  int at_a_time = 0;
  if (!is_granted(cudaOccupancyMaxActiveClusters(&at_a_time, kernel, &config))) return false;
  if (count > static_cast<offset_t>(at_a_time) * turns) return false;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
  return true;
}

template <auto policy, class F>
void call_with_policy(F& f) {
  f.template operator()<policy>();
}

/// Calls f.template operator()<policy>() for the policy that of_order has for `scalar` and order n on the device in
/// use, as long as some order above largest_tiny_order has it on compiled_device too; an error else.
template <auto of_order, ScalarType scalar, class F>
void with_large_policy(int n, const char* name, F f) {
  constexpr int first = largest_tiny_order + 1, count = largest_order - largest_tiny_order;
  const auto call = [&]<int... i>(std::integer_sequence<int, i...>) {
    static constexpr void (*calls[])(F&) = {call_with_policy<of_order(compiled_device, scalar, first + i), F>...};
    const auto wanted = of_order(current_device(), scalar, n);
    int alike = n;
    if (!(wanted == of_order(compiled_device, scalar, n)))
      for (alike = first; alike <= largest_order; ++alike)
        if (wanted == of_order(compiled_device, scalar, alike)) break;
    if (alike > largest_order) check(cudaErrorInvalidConfiguration, name);
    calls[alike - first](f);
  };
  call(std::make_integer_sequence<int, count>{});
}

}  // namespace blockjacobi::kernels
