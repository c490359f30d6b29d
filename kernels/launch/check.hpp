#pragma once

#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

namespace blockjacobi::kernels {

/// Throws CudaError if `status` is not success; `what` names the call or the kernel. Safe during stream capture.
inline void check(cudaError_t status, const char* what, std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: " + cudaGetErrorName(status) + " (" +
                                                cudaGetErrorString(status) + ") at " + where.file_name() + ":" +
                                                std::to_string(where.line()));
}

/// To be called after every launch of `kernel`.
inline void check_launch(const char* kernel, std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), kernel, where);
}

}  // namespace blockjacobi::kernels
