#pragma once

#include "backend/backend_impl.hpp"
#include "precond/position_map.hpp"

#include <blockjacobi/block_jacobi.hpp>

namespace blockjacobi::detail {

/// State of a BlockJacobi: the inverses, the position map and the status, in backend memory.
template <Scalar T>
class BlockJacobiImpl final : public PreconditionerImpl<T> {
 public:
  /// `inverse`: of the same partition, in the backend's memory.
  BlockJacobiImpl(const BlockPartition& partition, const BlockJacobiOptions& options, offset_t nnz,
                  const PositionMap& map, BlockBatch<T> inverse);

  /// Enqueued; `values` in backend memory.
  void setup(const T* values);

  index_t rows() const override { return partition.rows(); }
  void apply(const T* r, T* z) const override { apply(Op::none, r, z); }
  void apply(Op op, const T* r, T* z) const;
  bool capturable() const override { return true; }
  bool failed() const override;
  /// False until the first setup().
  bool is_set_up = false;

  Backend backend;
  BlockPartition partition;
  BlockJacobiOptions options;
  offset_t nnz;
  offset_t entries;  ///< of the matrix inside blocks
  BlockBatch<T> inverse;
  Array<MapSlot> map_slots;
  Array<std::uint32_t> map_narrow;
  Array<std::uint64_t> map_wide;  ///< one of the two is empty
  bool map_duplicates;
  Array<int> info;
  Array<real_t<T>> rcond;
  Array<int> defects;
};

}  // namespace blockjacobi::detail
