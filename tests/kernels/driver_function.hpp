#pragma once

#include <cuda_runtime_api.h>

namespace blockjacobi::test {

/// A function of the driver as of a version of CUDA (12050 is 12.5), without linking it; null where there is none.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult outcome{};
  const bool found =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &outcome) == cudaSuccess &&
      outcome == cudaDriverEntryPointSuccess;
  return found ? reinterpret_cast<Function>(address) : nullptr;
}

}  // namespace blockjacobi::test
