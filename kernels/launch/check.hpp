#pragma once

#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <source_location>

namespace blockjacobi::kernels {

/// Throws CudaError for a status that is no success; `what` names the call or the kernel. Not inline: the making of the
/// message would be 8 KB in every object file.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* what, std::source_location where);

/// Throws CudaError if `status` is not success. Safe during stream capture.
inline void check(cudaError_t status, const char* what, std::source_location where = std::source_location::current()) {
  if (status != cudaSuccess) throw_cuda_error(status, what, where);
}

/// To be called after every launch of `kernel`.
inline void check_launch(const char* kernel, std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), kernel, where);
}

}  // namespace blockjacobi::kernels
