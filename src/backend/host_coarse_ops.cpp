#include "backend/host_coarse_ops.hpp"

#include "backend/host_rows.hpp"
#include "core/message.hpp"
#include "core/shared/sparse_rows.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <limits>

namespace blockjacobi::detail {

namespace {

/// Products with fewer rows of a dense matrix, or fewer entries of a sparse one, are not worth the threads.
constexpr index_t few_rows = 64;
constexpr offset_t few_entries = 1024;

/// c = D X D s.
template <class C, class S, class R>
void multiply_scaled(index_t m, const S* x, const R* scale, const C* s, C* c, int threads) {
  constexpr index_t chunk = 64;
#pragma omp parallel for num_threads(threads) schedule(static) if (m > few_rows)
  for (index_t first = 0; first < m; first += chunk) {
    const index_t rows = std::min(chunk, m - first);
    C sums[chunk] = {};
    for (index_t j = 0; j < m; ++j) {
      const C factor = scale != nullptr ? scale[j] * s[j] : s[j];
      const S* const column = x + offset_t{j} * m + first;
      for (index_t i = 0; i < rows; ++i) sums[i] += convert<C>(column[i]) * factor;
    }
    for (index_t i = 0; i < rows; ++i) c[first + i] = scale != nullptr ? scale[first + i] * sums[i] : sums[i];
  }
}

}  // namespace

void require_coarse_elements(offset_t count) {
  constexpr offset_t most = std::numeric_limits<std::int32_t>::max();
  if (count > most)
    throw InvalidArgument(
        message("coarse level: a product with the coarse space has {} elements, can have {}", count, most));
}

template <Scalar T>
void HostCoarseOps<T>::fill_restriction(const CoarsePattern& restriction, const CoarseBasis<T>& z, C* values) {
  const auto rows = restriction.with<const C>(nullptr);
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 8) if (rows.nnz > few_entries)
  for (index_t g = 0; g < z.groups; ++g)
    for (index_t v = 0; v < z.columns(g); ++v) {
      const index_t c = z.first_column(g) + v;
      for (std::int32_t k = rows.row_offsets[c]; k < rows.row_offsets[c + 1]; ++k)
        values[k] = conj(z.value(rows.columns[k], v));
    }
}

template <Scalar T>
void HostCoarseOps<T>::multiply(const CoarsePatterns& patterns, const CoarseBasis<T>& z, const C* values, C* product,
                                C* e) {
  const CoarseSums sums = patterns.sums.view(patterns.side);
  for_rows(sums.segments, threads_, [&](index_t s) {
    for (index_t v = 0; v < z.columns(sums.group[s]); ++v)
      product[place_in_product(sums, s, v)] = product_element(sums, z, s, v, values);
  });
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 8) if (sums.segments > few_entries)
  for (index_t p = 0; p < sums.pairs; ++p) {
    const index_t row = sums.pair_row[p];
    for (index_t v = 0; v < z.columns(row); ++v)
      for (index_t u = 0; u < z.columns(sums.pair_column[p]); ++u) {
        C sum{};
        for (std::int32_t q = sums.pair_begin[p]; q < sums.pair_begin[p + 1]; ++q)
          sum += galerkin_term(sums, z, sums.segment[q], v, u, static_cast<const C*>(product));
        e[sums.pair_place[p] + offset_t{v} * sums.pair_stride[row] + u] = sum;
      }
  }
}

template <Scalar T>
void HostCoarseOps<T>::solve(const CoarseView<T>& coarse, const C* r, const C* y) {
  C* const s = coarse.partials;
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 8) if (coarse.restriction.nnz > few_entries)
  for (index_t c = 0; c < coarse.restriction.rows; ++c) {
    s[c] = row_product(coarse.restriction, c, r);
    if (y != nullptr) s[c] -= row_product(coarse.left_product, c, y);
  }
  const CoarseInverseView<T>& inverse = coarse.inverse;
  if (inverse.single != nullptr && *inverse.is_single != 0)
    multiply_scaled(inverse.order, inverse.single, inverse.scale, s, coarse.correction, threads_);
  else
    multiply_scaled(inverse.order, inverse.full, inverse.scale, s, coarse.correction, threads_);
}

template <Scalar T>
void HostCoarseOps<T>::prolong(const CoarseView<T>& coarse, const C* in, C* z) {
  for_rows(coarse.basis.rows, threads_, [&](index_t i) {
    const C sum = prolonged(coarse.basis, i, static_cast<const C*>(coarse.correction));
    z[i] = in != nullptr ? in[i] + sum : sum;
  });
}

template <Scalar T>
void HostCoarseOps<T>::subtract_product(const CsrView<C, std::int32_t>& matrix, const C* c, const C* in, C* out) {
  for_rows(matrix.rows, threads_, [&](index_t i) { out[i] = in[i] - row_product(matrix, i, c); });
}

template class HostCoarseOps<float>;
template class HostCoarseOps<double>;
template class HostCoarseOps<std::complex<float>>;
template class HostCoarseOps<std::complex<double>>;

}  // namespace blockjacobi::detail
