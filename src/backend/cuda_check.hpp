#pragma once

#include "kernels/launch/check.hpp"

#include <cusolverDn.h>
#include <cusparse.h>

#include <source_location>

namespace blockjacobi::detail {

using kernels::check;

/// For calls whose failure is of no consequence, those of destructors: no later launch takes it for its own error.
inline void forget(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

/// Forgets what other code leaves behind in this scope; an error from before it is somebody's and stays.
class ForgetErrors {
 public:
  ForgetErrors() = default;
  ~ForgetErrors() {
    if (is_clean_) forget(cudaPeekAtLastError());
  }
  ForgetErrors(const ForgetErrors&) = delete;
  ForgetErrors& operator=(const ForgetErrors&) = delete;

 private:
  bool is_clean_ = cudaPeekAtLastError() == cudaSuccess;
};

/// The same for cuSPARSE.
inline void check(cusparseStatus_t status, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: " + cusparseGetErrorName(status) + " (" +
                                                cusparseGetErrorString(status) + ") at " + where.file_name() + ":" +
                                                std::to_string(where.line()));
}

/// The same for cuSOLVER.
inline void check(cusolverStatus_t status, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: status " + std::to_string(status) + " at " +
                                                where.file_name() + ":" + std::to_string(where.line()));
}

}  // namespace blockjacobi::detail
