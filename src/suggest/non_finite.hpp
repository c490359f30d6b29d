#pragma once

#include "core/worth_threads.hpp"

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <utility>

namespace blockjacobi::detail {

/// Row and column of the first entry that is NaN or Inf.
template <Scalar T, Offset O>
std::optional<std::pair<index_t, index_t>> first_non_finite(const CsrView<T, O>& matrix, int threads) {
  const auto base = static_cast<index_t>(matrix.base);
  const auto is_finite = [&](O k) {
    return std::isfinite(std::real(matrix.values[k])) && std::isfinite(std::imag(matrix.values[k]));
  };
  index_t first = matrix.rows;
#pragma omp parallel for num_threads(threads) reduction(min : first) if (matrix.nnz > worth_threads)
  for (index_t i = 0; i < matrix.rows; ++i) {
    bool is_all_finite = true;
    for (O k = matrix.row_offsets[i] - base; k < matrix.row_offsets[i + 1] - base; ++k)
      is_all_finite = is_all_finite && is_finite(k);
    if (!is_all_finite) first = std::min(first, i);
  }
  if (first == matrix.rows) return {};
  O k = matrix.row_offsets[first] - base;
  while (is_finite(k)) ++k;
  return std::pair{first, matrix.columns[k] - base};
}

}  // namespace blockjacobi::detail
