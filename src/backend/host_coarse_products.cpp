#include "backend/host_coarse_ops.hpp"

#include "backend/host_rows.hpp"
#include "core/compute_views.hpp"
#include "core/csr_pattern.hpp"
#include "core/first_exception.hpp"
#include "core/shared/rounding_scales.hpp"
#include "core/shared/sparse_rows.hpp"
#include "core/worth_threads.hpp"

#include <algorithm>
#include <numeric>
#include <variant>
#include <vector>

// Products of sparse matrices for a Multigrid: row by row of the first factor (Gustavson, Two fast algorithms for
// sparse matrices, 1978).

namespace blockjacobi::detail {

namespace {

/// Rows of a product that a thread takes at a time.
constexpr int rows_at_once = 256;

/// The columns of row i of A B, ascending; `seen` remembers rows for each column.
template <class Matrix>
void find_columns(const Matrix& a, const CoarsePattern& b, index_t i, std::vector<index_t>& seen,
                  std::vector<index_t>& columns) {
  columns.clear();
  for (auto k = a.begin(i); k < a.end(i); ++k) {
    const index_t j = a.column(k);
    for (std::int32_t e = b.offsets.data()[j]; e < b.offsets.data()[j + 1]; ++e) {
      const index_t c = b.columns.data()[e];
      if (seen[static_cast<std::size_t>(c)] == i) continue;
      seen[static_cast<std::size_t>(c)] = i;
      columns.push_back(c);
    }
  }
  std::ranges::sort(columns);
}

CoarsePattern product_of_patterns(const Backend& backend, const AnyPattern& matrix, const CoarsePattern& b,
                                  int threads) {
  return std::visit(
      [&](const auto& view) {
        const SparseRows a{view};
        const auto rows = static_cast<std::size_t>(view.rows);
        std::vector<std::vector<index_t>> found(rows / rows_at_once + 1);
        std::vector<std::int32_t> lengths(rows + 1);
        FirstException failure;
#pragma omp parallel num_threads(threads) if (view.nnz > worth_threads)
        {
          std::vector<index_t> seen, columns;
          failure.run([&] { seen.assign(static_cast<std::size_t>(b.cols), -1); });
#pragma omp for schedule(dynamic)
          for (index_t chunk = 0; chunk < static_cast<index_t>(found.size()); ++chunk)
            failure.run([&] {
              const index_t first = chunk * rows_at_once, end = std::min(first + rows_at_once, view.rows);
              for (index_t i = first; i < end; ++i) {
                find_columns(a, b, i, seen, columns);
                lengths[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(columns.size());
                auto& own = found[static_cast<std::size_t>(chunk)];
                own.insert(own.end(), columns.begin(), columns.end());
              }
            });
        }
        failure.rethrow();
        require_coarse_elements(std::accumulate(lengths.begin(), lengths.end(), offset_t{0}));
        std::exclusive_scan(lengths.begin(), lengths.end(), lengths.begin(), std::int32_t{0});
        std::vector<index_t> all;
        all.reserve(static_cast<std::size_t>(lengths.back()));
        for (const auto& own : found) all.insert(all.end(), own.begin(), own.end());
        return CoarsePattern{view.rows, b.cols, Array<std::int32_t>(backend, lengths), Array<index_t>(backend, all)};
      },
      matrix);
}

std::pair<CoarsePattern, Array<std::int32_t>> transposed_pattern(const Backend& backend, const CoarsePattern& pattern) {
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(pattern.cols) + 1), order(pattern.columns.size());
  std::vector<index_t> rows(pattern.columns.size());
  for (std::size_t k = 0; k < pattern.columns.size(); ++k)
    ++offsets[static_cast<std::size_t>(pattern.columns.data()[k]) + 1];
  std::inclusive_scan(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::int32_t> next(offsets);
  for (index_t i = 0; i < pattern.rows; ++i)
    for (std::int32_t k = pattern.offsets.data()[i]; k < pattern.offsets.data()[i + 1]; ++k) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(pattern.columns.data()[k])]++);
      rows[place] = i;
      order[place] = k;
    }
  return {
      CoarsePattern{pattern.cols, pattern.rows, Array<std::int32_t>(backend, offsets), Array<index_t>(backend, rows)},
      Array<std::int32_t>(backend, order)};
}

/// Row i of P = Z - relaxation D^-1 (A Z), D the real diagonal of A; that of Z where the row has no diagonal.
template <class C, class O, class R>
void smooth_row(const SparseRows<C, O>& a, const CoarseBasisArrays<C>& z, R relaxation, index_t i,
                const std::int32_t* offsets, const index_t* columns, C* values) {
  const std::int32_t begin = offsets[i], count = offsets[i + 1] - begin;
  std::fill_n(values + begin, count, C{});
  R diagonal{};
  for (O k = a.begin(i); k < a.end(i); ++k) {
    const index_t j = a.column(k), g = z.group[j];
    if (j == i) diagonal += real_part(a.m.values[k]);
    if (g == no_group) continue;
    C* const sums = values + begin + place_of(z.first_column(g), columns + begin, count);
    for (index_t v = 0; v < z.columns(g); ++v) sums[v] += a.m.values[k] * z.value(j, v);
  }
  const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
  const index_t g = z.group[i];
  const index_t first = g == no_group ? 0 : z.first_column(g), own = g == no_group ? 0 : z.columns(g);
  for (std::int32_t k = begin; k < begin + count; ++k) {
    const index_t v = columns[k] - first;
    values[k] = (v >= 0 && v < own ? z.value(i, v) : C{}) - factor * values[k];
  }
}

}  // namespace

template <Scalar T>
CoarseMatrix<T> HostCoarseOps<T>::rows_of(const Backend& backend, const CoarseSpace<T>& z) {
  const CoarseBasis<T> basis = z.view();
  require_coarse_elements(offset_t{basis.rows} * basis.width);
  std::vector<std::int32_t> offsets(z.group.size() + 1);
  for (index_t i = 0; i < basis.rows; ++i) {
    const index_t g = basis.group[i];
    offsets[static_cast<std::size_t>(i) + 1] =
        offsets[static_cast<std::size_t>(i)] + (g == no_group ? 0 : basis.columns(g));
  }
  const auto count = static_cast<std::size_t>(offsets.back());
  CoarseMatrix<T> rows{{basis.rows, z.order, Array<std::int32_t>(backend, offsets), Array<index_t>(backend, count)},
                       Array<T>(backend, count)};
  index_t* const columns = rows.pattern.columns.data();
  C* const values = compute_cast(rows.values.data());
  for_rows(basis.rows, threads_, [&](index_t i) {
    const index_t g = basis.group[i];
    const std::int32_t first = offsets[static_cast<std::size_t>(i)];
    for (std::int32_t v = 0; v < offsets[static_cast<std::size_t>(i) + 1] - first; ++v) {
      columns[first + v] = basis.first_column(g) + v;
      values[first + v] = basis.value(i, v);
    }
  });
  return rows;
}

template <Scalar T>
CoarsePattern HostCoarseOps<T>::product_pattern(const Backend& backend, const AnyCsrView<T>& a,
                                                const CoarsePattern& b) {
  return product_of_patterns(backend, any_pattern_of(a), b, threads_);
}

template <Scalar T>
std::pair<CoarsePattern, Array<std::int32_t>> HostCoarseOps<T>::transposed(const Backend& backend,
                                                                           const CoarsePattern& pattern) {
  return transposed_pattern(backend, pattern);
}

template <Scalar T>
void HostCoarseOps<T>::multiply(const AnyCsrView<T>& matrix, const CsrView<C, std::int32_t>& b,
                                const CoarsePattern& product, C* values) {
  const std::int32_t* const offsets = product.offsets.data();
  std::visit(
      [&](const auto& view) {
        const SparseRows a{compute_view(view)};
#pragma omp parallel for num_threads(threads_) schedule(static) if (view.nnz > worth_threads)
        for (index_t i = 0; i < product.rows; ++i) {
          const index_t* const columns = product.columns.data() + offsets[i];
          const std::int32_t count = offsets[i + 1] - offsets[i];
          C* const sums = values + offsets[i];
          std::fill_n(sums, count, C{});
          for (auto k = a.begin(i); k < a.end(i); ++k) {
            const index_t j = a.column(k);
            for (std::int32_t e = b.row_offsets[j]; e < b.row_offsets[j + 1]; ++e)
              sums[place_of(b.columns[e], columns, count)] += a.m.values[k] * b.values[e];
          }
        }
      },
      matrix);
}

template <Scalar T>
void HostCoarseOps<T>::conjugate(const Array<std::int32_t>& order, const C* from, C* to) {
  const std::int32_t* const source = order.data();
  for_rows(static_cast<index_t>(order.size()), threads_, [&](index_t k) { to[k] = conj(from[source[k]]); });
}

template <Scalar T>
void HostCoarseOps<T>::smooth(const AnyCsrView<T>& matrix, const CoarseBasis<T>& z, real_t<T> relaxation,
                              const CoarsePattern& p, C* values) {
  std::visit(
      [&](const auto& view) {
        const SparseRows a{compute_view(view)};
        for_rows(p.rows, threads_,
                 [&](index_t i) { smooth_row(a, z, relaxation, i, p.offsets.data(), p.columns.data(), values); });
      },
      matrix);
}

template <Scalar T>
void HostCoarseOps<T>::rounding_scales(const AnyCsrView<T>& matrix, real_t<T>* rounding_scales) {
  std::visit(
      [&](const auto& view) {
        const SparseRows a{compute_view(view)};
        for_rows(view.rows, threads_, [&](index_t i) { rounding_scales[i] = modulus(diagonal_element(a, i)); });
      },
      matrix);
}

template <Scalar T>
void HostCoarseOps<T>::restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const real_t<T>* fine,
                                                real_t<T>* coarse) {
  for_rows(adjoint.rows, threads_, [&](index_t k) {
    real_t<T> sum = 0;
    for (std::int32_t e = adjoint.row_offsets[k]; e < adjoint.row_offsets[k + 1]; ++e)
      sum += rounding_scale_term(adjoint, e, fine);
    coarse[k] = sum;
  });
}

template <Scalar T>
void HostCoarseOps<T>::add_product(const CsrView<C, std::int32_t>& matrix, const C* c, C* x) {
  for_rows(matrix.rows, threads_, [&](index_t i) { x[i] += row_product(matrix, i, c); });
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                     \
  template CoarseMatrix<T> HostCoarseOps<T>::rows_of(const Backend&, const CoarseSpace<T>&);                           \
  template CoarsePattern HostCoarseOps<T>::product_pattern(const Backend&, const AnyCsrView<T>&,                       \
                                                           const CoarsePattern&);                                      \
  template void HostCoarseOps<T>::multiply(const AnyCsrView<T>&, const CsrView<C, std::int32_t>&,                      \
                                           const CoarsePattern&, C*);                                                  \
  template std::pair<CoarsePattern, Array<std::int32_t>> HostCoarseOps<T>::transposed(const Backend&,                  \
                                                                                      const CoarsePattern&);           \
  template void HostCoarseOps<T>::conjugate(const Array<std::int32_t>&, const C*, C*);                                 \
  template void HostCoarseOps<T>::smooth(const AnyCsrView<T>&, const CoarseBasis<T>&, real_t<T>, const CoarsePattern&, \
                                         C*);                                                                          \
  template void HostCoarseOps<T>::rounding_scales(const AnyCsrView<T>&, real_t<T>*);                                   \
  template void HostCoarseOps<T>::restrict_rounding_scales(const CsrView<C, std::int32_t>&, const real_t<T>*,          \
                                                           real_t<T>*);                                                \
  template void HostCoarseOps<T>::add_product(const CsrView<C, std::int32_t>&, const C*, C*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
