#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// Memory in which single blocks are worked on; `size` elements, at least StorageOps::scratch_size().
template <class C>
struct ScratchView {
  C* data = nullptr;
  offset_t size = 0;
};

}  // namespace blockjacobi::detail
