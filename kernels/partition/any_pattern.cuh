#pragma once

#include <blockjacobi/views.hpp>

#include <cstdint>

namespace blockjacobi::kernels {

/// A pattern with offsets of either width, where a kernel for each would be twice the code.
struct AnyPattern {
  struct Offsets {
    const void* data;
    bool are_wide;
    __device__ offset_t operator[](offset_t i) const {
      return are_wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
    }
  };
  Offsets row_offsets;
  const index_t* columns;
  IndexBase base;

  template <class O>
  explicit AnyPattern(const CsrView<const void, O>& pattern)
      : row_offsets{pattern.row_offsets, sizeof(O) == sizeof(std::int64_t)},
        columns(pattern.columns),
        base(pattern.base) {}
};

}  // namespace blockjacobi::kernels
