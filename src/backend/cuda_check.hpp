#pragma once

#include "kernels/launch/check.hpp"

#include <cusparse.h>

#include <source_location>

namespace blockjacobi::detail {

using kernels::check;

/// The same for cuSPARSE.
inline void check(cusparseStatus_t status, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw CudaError(static_cast<int>(status), std::string(what) + " failed: " + cusparseGetErrorName(status) + " (" +
                                                cusparseGetErrorString(status) + ") at " + where.file_name() + ":" +
                                                std::to_string(where.line()));
}

}  // namespace blockjacobi::detail
