#pragma once

#include <blockjacobi/block_batch.hpp>
#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// The pattern analysis of BlockJacobi: where the entries of each block lie in the value array. Layout as in
/// PositionMapView.
struct PositionMap {
  std::vector<offset_t> begin;
  std::vector<offset_t> source;
  std::vector<index_t> position;
};

/// O(nnz) on `threads` threads for a host pattern that passed validate(); `layout` belongs to a partition of its rows.
template <Offset O>
PositionMap build_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads);

}  // namespace blockjacobi::detail
