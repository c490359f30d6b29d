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

/// Each policy that some order above largest_tiny_order has on compiled_device, once.
template <auto of_order, ScalarType scalar>
struct LargePolicies {
  using Policy = decltype(of_order(compiled_device, scalar, largest_order));
  static constexpr int first = largest_tiny_order + 1;

  /// Whether no order below n has the policy of n; of most it is that of the order before.
  static constexpr bool is_new(int n) {
    const Policy wanted = of_order(compiled_device, scalar, n);
    for (int m = n - 1; m >= first; --m)
      if (of_order(compiled_device, scalar, m) == wanted) return false;
    return true;
  }
  static constexpr int count() {
    int found = 0;
    for (int n = first; n <= largest_order; ++n) found += is_new(n) ? 1 : 0;
    return found;
  }
  /// An order that has the policy of that index.
  static constexpr int order(int index) {
    int n = first;
    while (!is_new(n) || index-- > 0) ++n;
    return n;
  }
};

/// Calls f.template operator()<policy>() if that policy is the wanted one; whether it is.
template <auto policy, class Policy, class F>
bool call_if_wanted(const Policy& wanted, F& f) {
  if (!(wanted == policy)) return false;
  f.template operator()<policy>();
  return true;
}

/// Calls f.template operator()<policy>() for the policy that of_order has for `scalar` and order n on the device in
/// use, as long as some order above largest_tiny_order has it on compiled_device too; an error else.
template <auto of_order, ScalarType scalar, class F>
void with_large_policy(int n, const char* name, F f) {
  using Policies = LargePolicies<of_order, scalar>;
  const auto wanted = of_order(current_device(), scalar, n);
  const auto call = [&]<int... i>(std::integer_sequence<int, i...>) {
    return (call_if_wanted<of_order(compiled_device, scalar, Policies::order(i))>(wanted, f) || ...);
  };
  if (!call(std::make_integer_sequence<int, Policies::count()>{})) check(cudaErrorInvalidConfiguration, name);
}

}  // namespace blockjacobi::kernels
