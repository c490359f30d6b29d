#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// For every block J of `offsets` the number of the last block I < J that is strongly coupled to it, or -1, by the rule
/// of BlockPartition::detect; only pairs that lie within max_size rows are looked at. The matrix lies on the host and
/// passed validate(). Each entry decides alone, so that entries can be taken in any order and the largest I of each J
/// be kept.
template <Scalar T, Offset O>
std::vector<index_t> last_coupled(const CsrView<T, O>& matrix, std::span<const index_t> offsets, index_t max_size,
                                  double threshold);

}  // namespace blockjacobi::detail
