#pragma once

#include "core/shared/position_map.hpp"
#include "core/shared/singular_rule.hpp"
#include "core/shared/stored_blocks_view.hpp"
#include "kernels/scratch.hpp"

#include <blockjacobi/views.hpp>

#include <span>

struct CUstream_st;

/// What happens to the inverses of BlockJacobi after setup_blocks(). Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

/// Inverses where setup_blocks() left them, and the matrix that they belong to.
template <class C>
struct InvertedBlocks {
  const C* values;
  detail::PositionMapView map;
  const C* inverse;
  const BlockSlot* slots;
  const int* info;
};

template <class C>
void choose_formats(const InvertedBlocks<C>& blocks, double accuracy, detail::Format* formats,
                    std::span<const BlockGroup> groups, const ScratchView<C>& scratch, CUstream_st* stream);

/// Where stored blocks go, and what is counted on the way.
struct StoreTarget {
  detail::StoredBlocksView stored;
  double accuracy;
  detail::StorageStatusView status;
};
template <class C>
void store_blocks(const InvertedBlocks<C>& blocks, const StoreTarget& target, std::span<const BlockGroup> groups,
                  const ScratchView<C>& scratch, CUstream_st* stream);

/// The way back: the blocks as apply_columns() has them, rounded as they are, each at its place in `full`.
template <class C>
void widen_blocks(const detail::StoredBlocksView& stored, const BlockBatchView<C>& full, CUstream_st* stream);

}  // namespace blockjacobi::kernels
