#pragma once

#include "core/shared/compute_type.hpp"
#include "core/shared/position_map.hpp"
#include "core/shared/singular_rule.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// Outcome of set-up, by block number; see BlockJacobi::info() and rcond().
template <Scalar T>
struct BlockStatusView {
  int* info = nullptr;
  real_t<T>* rcond = nullptr;
  int* defects = nullptr;  ///< defect_words(blocks) of them; the first counts blocks with info != 0
};

/// What a backend does with batches of blocks. All pointers are in backend memory, all calls are enqueued.
template <Scalar T>
class BlockOps {
 public:
  using C = compute_t<T>;

  virtual ~BlockOps() = default;

  /// Extracts, equilibrates, inverts and stores every block; fills all of `status`.
  virtual void setup(const C* values, const PositionMapView& map, const BlockBatchView<C>& inverse, Fallback fallback,
                     const BlockStatusView<T>& status) = 0;

  /// Pivot growth of every block, by block number; see BlockJacobi::pivot_growth(). What `work` holds is lost;
  /// `pivots` has room for the rows, and `info` for the blocks, of its largest group.
  virtual void pivot_growth(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, index_t* pivots,
                            int* info, real_t<T>* growth) = 0;

  /// z = op(X) r block by block.
  virtual void apply(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z) = 0;
};

}  // namespace blockjacobi::detail
