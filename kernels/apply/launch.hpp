#pragma once

#include "core/shared/apply_tiles.hpp"
#include "core/shared/columns_view.hpp"
#include "core/shared/stored_blocks_view.hpp"

#include <blockjacobi/views.hpp>

#include <optional>
#include <span>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

/// z = op(X) r block by block.
template <class C>
void apply_blocks(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z, CUstream_st* stream);

/// Z = alpha op(X) R + beta Z; Z is not read if beta is zero.
template <class C>
struct ApplyColumns {
  Op op;
  C alpha;
  detail::ColumnsView<const C> r;
  C beta;
  detail::ColumnsView<C> z;
};
template <class C>
void apply_columns(const BlockBatchView<const C>& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream);
template <class C>
void apply_columns(const detail::StoredBlocksView& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream);

/// Of tiles with which apply_tiled() is faster for such blocks than apply_columns(); none if it is not.
template <class C>
std::optional<detail::TileLimits> tile_limits(std::span<const BlockGroup> groups);

/// apply_columns() with Op::none for one column whose elements follow each other in memory, by tiles within
/// tile_limits(). A row is summed up from its first column to the last, whatever the tiles and the device.
template <class C>
void apply_tiled(const BlockBatchView<const C>& inverse, const detail::ApplyTilesView& tiles,
                 const ApplyColumns<C>& arguments, CUstream_st* stream);

}  // namespace blockjacobi::kernels
