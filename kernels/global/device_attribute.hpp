#pragma once

#include "kernels/check.hpp"

namespace blockjacobi::kernels {

/// Of the device in use.
inline int device_attribute(cudaDeviceAttr name) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace blockjacobi::kernels
