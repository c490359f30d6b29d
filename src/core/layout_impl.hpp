#pragma once

#include "core/deferred.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What the copies of a BlockLayout share.
struct LayoutImpl {
  BlockPartition partition;
  std::size_t scalar_bytes = 0;
  std::vector<BlockGroup> groups;
  offset_t size = 0;
  Deferred<BlockSlot> slots;
};

/// The slots of a layout in the memory of a backend, which makes them there.
Array<BlockSlot> slots_in(const Backend& backend, const BlockLayout& layout);

}  // namespace blockjacobi::detail
