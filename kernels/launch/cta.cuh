#pragma once

#include "kernels/launch/grid.hpp"
#include "kernels/scalar.hpp"

#include <array>
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

/// The launch of a kernel with a cluster of `ctas` thread blocks for each of `count` matrices.
template <class... Parameters>
class ClusterLaunch {
 public:
  ClusterLaunch(void (*kernel)(Parameters...), int rows, offset_t count, int ctas, std::size_t bytes,
                CUstream_st* stream)
      : kernel_(kernel) {
    shape_.id = cudaLaunchAttributeClusterDimension;
    shape_.val.clusterDim = {static_cast<unsigned>(ctas), 1, 1};
    config_.gridDim = dim3(static_cast<unsigned>(count * ctas));
    config_.blockDim = dim3(static_cast<unsigned>(threads_for_rows(rows)));
    config_.dynamicSmemBytes = bytes;
    config_.stream = stream;
    config_.attrs = &shape_;
    config_.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  /// How many of the clusters the device runs at a time; 0 if it has no such clusters, or no room for them.
  int at_a_time() const {
    const std::size_t limit = current_device().shared_bytes;
    int found = 0;
    if (config_.dynamicSmemBytes > limit || !runs_hopper_code()) return 0;
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limit)),
          "cudaFuncSetAttribute");
    const bool granted = is_granted(cudaFuncSetAttribute(kernel_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)) &&
                         is_granted(cudaOccupancyMaxActiveClusters(&found, kernel_, &config_));
    return granted ? found : 0;
  }

  /// Where at_a_time() is not 0.
  template <class... Arguments>
  void run(const char* name, Arguments... arguments) const {
    check(cudaLaunchKernelEx(&config_, kernel_, Parameters(arguments)...), name);
  }

 private:
  void (*kernel_)(Parameters...);
  cudaLaunchAttribute shape_{};
  cudaLaunchConfig_t config_{};
};

/// Each policy that some order above largest_tiny_order has on compiled_device, or with less shared memory, once.
template <auto of_order, ScalarType scalar>
struct LargePolicies {
  using Policy = decltype(of_order(compiled_device, scalar, largest_order));
  std::array<Policy, 64> policies{};
  int count = 0;

  constexpr void add(const Policy& policy) {
    for (int i = 0; i < count; ++i)
      if (policies[i] == policy) return;
    policies[count++] = policy;
  }
  static constexpr LargePolicies find() {
    constexpr int first = largest_tiny_order + 1;
    LargePolicies found;
    for (int n = first; n <= largest_order; ++n) found.add(of_order(compiled_device, scalar, n));
    for (const Device& device : {a100, l40})
      for (int n = 64; n <= largest_order; n += 32) found.add(of_order(device, scalar, n));
    return found;
  }
};
template <auto of_order, ScalarType scalar>
inline constexpr LargePolicies<of_order, scalar> large_policies = LargePolicies<of_order, scalar>::find();

/// Whether a thread block has room for bytes(n) of shared memory wherever an order n has the policy.
template <auto of_order, ScalarType scalar, auto policy, class Bytes>
constexpr bool has_room(Bytes bytes) {
  for (const Device& device : {h200, a100, l40})
    for (int n = largest_tiny_order + 1; n <= largest_order; ++n)
      if (of_order(device, scalar, n) == policy && bytes(n) > device.shared_bytes) return false;
  return true;
}

/// Calls f.template operator()<policy>() if that policy is the wanted one; whether it is.
template <auto policy, class Policy, class F>
bool call_if_wanted(const Policy& wanted, F& f) {
  if (!(wanted == policy)) return false;
  f.template operator()<policy>();
  return true;
}

/// Calls f.template operator()<policy>() for the policy that of_order has for `scalar` and order n on the device in
/// use, as long as it is among large_policies; an error else.
template <auto of_order, ScalarType scalar, class F>
void with_large_policy(int n, const char* name, F f) {
  const auto wanted = of_order(current_device(), scalar, n);
  const auto call = [&]<int... i>(std::integer_sequence<int, i...>) {
    return (call_if_wanted<large_policies<of_order, scalar>.policies[i]>(wanted, f) || ...);
  };
  if (!call(std::make_integer_sequence<int, large_policies<of_order, scalar>.count>{}))
    check(cudaErrorInvalidConfiguration, name);
}

}  // namespace blockjacobi::kernels
