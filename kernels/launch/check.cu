#include "kernels/launch.hpp"
#include "kernels/launch/grid.hpp"

#include <string>

namespace blockjacobi::kernels {

namespace {

/// Compiled as all others are.
__global__ void specimen_kernel() {}

}  // namespace

void throw_cuda_error(cudaError_t status, const char* what, std::source_location where) {
  static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: " + cudaGetErrorName(status) + " (" +
                                                cudaGetErrorString(status) + ") at " + where.file_name() + ":" +
                                                std::to_string(where.line()));
}

bool runs_hopper_code() {
  thread_local int known = -1;
  thread_local bool answer = false;
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == known) return answer;
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, specimen_kernel), "cudaFuncGetAttributes");
  answer = attributes.ptxVersion >= 90;
  known = current;
  return answer;
}

int device_status() noexcept {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, specimen_kernel);
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
  return static_cast<int>(status);
}

}  // namespace blockjacobi::kernels
