#pragma once

#include "core/shared/apply_tiles.hpp"
#include "core/shared/cg_recurrence.hpp"
#include "core/shared/position_map.hpp"
#include "core/shared/singular_rule.hpp"
#include "core/shared/stored_blocks_view.hpp"

#include <blockjacobi/views.hpp>

#include <optional>
#include <span>

struct CUstream_st;

/// The launchers of what happens to the inverses of BlockJacobi after setup_blocks(); conventions as in launch.hpp.
namespace blockjacobi::kernels {

// launch.hpp
template <class C>
struct SetupArguments;
template <class C>
struct CgVectors;
struct ReductionWorkspace;

/// Elements that repair_blocks() and the launchers with `scratch` need for blocks of order up to `largest`.
template <class C>
offset_t storage_scratch(index_t largest, index_t blocks);

template <class C>
struct ScratchView {
  C* data;
  offset_t size;
};

/// Replaces the blocks with info > 0; `arguments` are those of setup_blocks().
template <class C>
void repair_blocks(const SetupArguments<C>& arguments, detail::Repair repair, std::span<const BlockGroup> groups,
                   const ScratchView<C>& scratch, CUstream_st* stream);

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

void count_defects(const int* info, index_t blocks, int* defects, CUstream_st* stream);

/// Element (i, k) of a block of vectors is data[i row_stride + k column_stride].
template <class C>
struct Columns {
  C* data;
  offset_t row_stride;
  offset_t column_stride;
  index_t count;
};

/// Z = alpha op(X) R + beta Z; Z is not read if beta is zero.
template <class C>
struct ApplyColumns {
  Op op;
  C alpha;
  Columns<const C> r;
  C beta;
  Columns<C> z;
};
template <class C>
void apply_columns(const BlockBatchView<const C>& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream);
template <class C>
void apply_columns(const detail::StoredBlocksView& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream);

/// Whether cg_update() takes these blocks: up to order 32, all in one narrow format and, if that has 16 bits, all of
/// one order, a multiple of 4.
bool cg_update_takes(std::span<const detail::StoredGroup> groups);

/// r -= alpha q, z = X r for blocks that cg_update_takes(), rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_update(const detail::StoredBlocksView& inverse, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream);

/// Of tiles with which apply_tiled() is faster for such blocks than apply_columns(); none if it is not.
template <class C>
std::optional<detail::TileLimits> tile_limits(std::span<const BlockGroup> groups);

/// apply_columns() with Op::none for one column whose elements follow each other in memory, by tiles within
/// tile_limits(). A row is summed up from its first column to the last, whatever the tiles and the device.
template <class C>
void apply_tiled(const BlockBatchView<const C>& inverse, const detail::ApplyTilesView& tiles,
                 const ApplyColumns<C>& arguments, CUstream_st* stream);

/// extended = the values with the entry of l1 block-Jacobi behind each row.
template <class C>
void append_l1_entries(const C* values, const offset_t* row_offsets, const index_t* columns, const index_t* block_begin,
                       const index_t* block_end, index_t rows, C* extended, CUstream_st* stream);

/// *sum = the fingerprint of a pattern.
template <Offset O>
void fingerprint(const CsrView<const void, O>& pattern, unsigned long long* sum, CUstream_st* stream);

}  // namespace blockjacobi::kernels
