#pragma once

#include "core/shared/compute_type.hpp"
#include "core/shared/position_map.hpp"
#include "core/shared/scratch_view.hpp"
#include "core/shared/singular_rule.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// What l1 block-Jacobi needs of a matrix: its pattern from base 0, and the columns of the block of each row.
struct L1PatternView {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  const index_t* block_begin = nullptr;  ///< by row
  const index_t* block_end = nullptr;
  index_t rows = 0;
};

/// Outcome of set-up, by block number; see BlockJacobi::info() and rcond().
template <Scalar T>
struct BlockStatusView {
  int* info = nullptr;
  real_t<T>* rcond = nullptr;
  int* defects = nullptr;  ///< defect_words(blocks) of them; the first counts blocks with info != 0
};

/// The set-up of batches of blocks, and products with them. All pointers are in backend memory, all calls are enqueued.
template <Scalar T>
class BlockOps {
 public:
  using C = compute_t<T>;

  virtual ~BlockOps() = default;

  /// Extracts, equilibrates, inverts and stores every block; fills all of `status`. `hermitian`: the matrix is, so that
  /// the inverses of large blocks may be made exactly Hermitian, on CUDA of definite ones without a search for pivots.
  virtual void setup(const C* values, const PositionMapView& map, const BlockBatchView<C>& inverse, bool hermitian,
                     Fallback fallback, const BlockStatusView<T>& status) = 0;

  /// Replaces the blocks of `work` with info > 0 as `repair` says; see SingularPolicy. info and rcond stay. Where the
  /// rows of the matrix have rounding scales, a block is singular beside them as well: info > 0 then, and rcond is
  /// 1 / ||X|| of the inverse X of the block scaled by them. The pseudo-inverse goes by them, too.
  virtual void repair(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, Repair repair,
                      const real_t<T>* rounding_scales, const BlockStatusView<T>& status,
                      const ScratchView<C>& scratch) = 0;

  /// *defects = how many of `blocks` have info != 0.
  virtual void count_defects(const int* info, index_t blocks, int* defects) = 0;

  /// The values of the matrix with one more entry at the end of each row: what l1 block-Jacobi adds to its diagonal.
  virtual void append_l1_entries(const C* values, const L1PatternView& pattern, C* extended) = 0;

  /// Pivot growth of every block, by block number; see BlockJacobi::pivot_growth(). What `work` holds is lost;
  /// `pivots` has room for the rows, and `info` for the blocks, of its largest group.
  virtual void pivot_growth(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, index_t* pivots,
                            int* info, real_t<T>* growth) = 0;

  /// z = op(X) r block by block.
  virtual void apply(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z) = 0;
};

}  // namespace blockjacobi::detail
