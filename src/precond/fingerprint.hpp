#pragma once

#include "core/shared/fingerprint.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// A number that tells a host pattern from another one; base and width of the offsets do not count.
template <Offset O>
std::uint64_t host_fingerprint(const CsrView<const void, O>& pattern, [[maybe_unused]] int threads) {
  const auto base = static_cast<index_t>(pattern.base);
  std::uint64_t sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum) if (pattern.nnz > 65536)
  {
#pragma omp for schedule(static)
    for (index_t i = 0; i <= pattern.rows; ++i) sum += mixed_offset(i, pattern.row_offsets[i] - base);
#pragma omp for schedule(static)
    for (offset_t k = 0; k < pattern.nnz; ++k) sum += mixed_column(k, pattern.columns[k] - base);
  }
  return sum;
}

}  // namespace blockjacobi::detail
