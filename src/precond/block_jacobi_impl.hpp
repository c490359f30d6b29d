#pragma once

#include "backend/backend_impl.hpp"
#include "precond/position_map.hpp"

#include <blockjacobi/block_jacobi.hpp>

namespace blockjacobi::detail {

/// State of a BlockJacobi: the inverses, the position map and the status, in backend memory.
template <Scalar T>
class BlockJacobiImpl final : public PreconditionerImpl<T> {
 public:
  BlockJacobiImpl(const Backend& backend, const BlockPartition& partition, const BlockJacobiOptions& options,
                  offset_t nnz, const PositionMap& map);

  /// Enqueued; `values` in backend memory.
  void setup(const T* values);

  index_t rows() const override { return partition.rows(); }
  void apply(const T* r, T* z) const override;
  bool capturable() const override { return true; }
  bool failed() const override;

  Backend backend;
  BlockPartition partition;
  BlockJacobiOptions options;
  offset_t nnz;
  BlockBatch<T> inverse;
  Array<offset_t> map_begin;
  Array<offset_t> map_source;
  Array<index_t> map_position;
  Array<int> info;
  Array<real_t<T>> rcond;
  Array<int> defects;
};

}  // namespace blockjacobi::detail
