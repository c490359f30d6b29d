#pragma once

#include "core/shared/macros.hpp"
#include "core/shared/scratch_view.hpp"
#include "kernels/device.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Matrices of order `order` that are in a launcher's scratch at once: one for each multiprocessor, more of small ones.
constexpr offset_t matrices_in_scratch(int multiprocessors, index_t order, offset_t count, std::size_t element) {
  const offset_t least = multiprocessors, bytes = offset_t{64} << 20;
  const offset_t of_matrix = offset_t{order} * order * static_cast<offset_t>(element);
  const offset_t most = of_matrix * least < bytes ? bytes / of_matrix : least;
  return count < most ? count : most;
}

using detail::ScratchView;

/// Elements that a thread block has for itself to work on a block of order up to `largest`.
BLOCKJACOBI_HD constexpr offset_t block_scratch(index_t largest) { return offset_t{largest} * largest; }

/// Thread blocks of which each has such scratch, and the bytes that all of them together may have.
inline constexpr int most_scratch_ctas = 2048;
inline constexpr offset_t most_scratch_bytes = offset_t{64} << 20;

/// Elements that repair_blocks() and the launchers of storage/ need for `blocks` blocks of order up to `largest`.
template <class C>
constexpr offset_t storage_scratch(index_t largest, index_t blocks) {
  const offset_t own = block_scratch(largest);
  const offset_t most = most_scratch_bytes / static_cast<offset_t>(sizeof(C)) / own;
  return own * std::clamp<offset_t>(std::min<offset_t>(most, most_scratch_ctas), 1, std::max<index_t>(blocks, 1));
}

/// Thread blocks that have scratch for orders up to `largest`.
template <class C>
unsigned ctas_with_scratch(const ScratchView<C>& scratch, index_t largest, offset_t work) {
  const offset_t most = std::min<offset_t>(scratch.size / block_scratch(largest), most_scratch_ctas);
  return static_cast<unsigned>(std::clamp<offset_t>(work, 1, most));
}

}  // namespace blockjacobi::kernels
