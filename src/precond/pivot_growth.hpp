#pragma once

#include "backend/backend_impl.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

namespace blockjacobi::detail {

/// Pivot growth of every block, by block number, in the backend's memory; see BlockJacobi::pivot_growth(). The blocks
/// are factored chunk by chunk in memory that is given back. `values` in backend memory.
template <Scalar T>
Array<real_t<T>> pivot_growth(const Backend& backend, const BlockLayout& layout, const PositionMapView& map,
                              const compute_t<T>* values);

}  // namespace blockjacobi::detail
