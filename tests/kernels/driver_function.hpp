#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

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

/// The same of a driver that must have it; throws if not.
template <class Function>
Function needed_driver_function(const char* name, unsigned version) {
  const auto function = driver_function<Function>(name, version);
  if (function == nullptr) throw std::runtime_error(std::string("the driver does not give ") + name);
  return function;
}

}  // namespace blockjacobi::test
