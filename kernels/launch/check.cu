#include "kernels/launch/check.hpp"

#include <string>

namespace blockjacobi::kernels {

void throw_cuda_error(cudaError_t status, const char* what, std::source_location where) {
  static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: " + cudaGetErrorName(status) + " (" +
                                                cudaGetErrorString(status) + ") at " + where.file_name() + ":" +
                                                std::to_string(where.line()));
}

}  // namespace blockjacobi::kernels
