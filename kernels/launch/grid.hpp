#pragma once

#include "kernels/device.hpp"
#include "kernels/launch/check.hpp"

#include <climits>

namespace blockjacobi::kernels {

/// Of the device in use.
inline int device_attribute(cudaDeviceAttr name) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

/// The device in use; asked for once a thread, since every launch of a large order wants to know.
inline const Device& current_device() {
  thread_local int known = -1;
  thread_local Device device{};
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == known) return device;
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  device = {10 * major + device_attribute(cudaDevAttrComputeCapabilityMinor),
            device_attribute(cudaDevAttrMultiProcessorCount),
            static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin))};
  known = current;
  return device;
}

/// Whether the code that runs on the device in use was compiled for 9.0 or later, which has clusters and launches that
/// begin early, whatever the device is.
bool runs_hopper_code();

/// Thread blocks for `count` items.
inline unsigned grid_for(offset_t count, offset_t per_cta, const char* kernel) {
  const offset_t ctas = (count + per_cta - 1) / per_cta;
  if (ctas > INT_MAX) check(cudaErrorInvalidConfiguration, kernel);
  return static_cast<unsigned>(ctas);
}

/// Lets the kernel take more than 48 KB of shared memory where it needs them.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, std::size_t bytes) {
  if (bytes > 48 * 1024)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
}

}  // namespace blockjacobi::kernels
