#pragma once

#include "core/shared/bundles.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/krylov/vector.hpp"
#include "kernels/launch/persistent_ctas.hpp"

#include <algorithm>

// Thread blocks of launches on the device in use, of those that stride over their work.

namespace blockjacobi::kernels {

/// Of a reduction over n elements; one at least, since it also runs the scalar step.
inline unsigned reduction_ctas(index_t n) { return persistent_ctas(vector_policy, elementwise_ctas(n)); }

/// Of csr_policy.
template <class Shape>
unsigned csr_ctas(index_t rows) {
  constexpr offset_t rows_per_cta = csr_policy.threads / Shape::lanes;
  return persistent_ctas(csr_policy, (rows + rows_per_cta - 1) / rows_per_cta);
}

/// Of over_blocks_policy, for so many tasks of a warp.
inline unsigned over_blocks_ctas(offset_t tasks) {
  constexpr offset_t warps = over_blocks_policy.threads / 32;
  return persistent_ctas(over_blocks_policy, (tasks + warps - 1) / warps);
}

/// For several columns, if each bundle has `pieces` of work.
inline unsigned columns_ctas(const PersistentPolicy& policy, const detail::Bundles& shape, offset_t pieces) {
  static_assert(static_cast<std::size_t>(columns_policy.most_ctas()) * 3 * detail::bundle_width <= reduction_partials);
  const offset_t room = policy.ctas(current_device()) / shape.count();
  return static_cast<unsigned>(std::max<offset_t>(1, std::min(pieces, room)) * shape.count());
}
inline unsigned columns_product_ctas(const detail::Bundles& shape) {
  return columns_ctas(columns_product_policy, shape,
                      (static_cast<offset_t>(shape.n) + columns_product_rows - 1) / columns_product_rows);
}
/// Of columns_policy, which have eight lanes a row.
inline unsigned columns_ctas(const detail::Bundles& shape) {
  constexpr offset_t rows = columns_policy.threads / detail::bundle_width;
  return columns_ctas(columns_policy, shape, (static_cast<offset_t>(shape.n) + rows - 1) / rows);
}

}  // namespace blockjacobi::kernels
