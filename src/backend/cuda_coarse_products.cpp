#include "backend/cuda_check.hpp"
#include "backend/cuda_coarse_ops.hpp"
#include "backend/cuda_key_runs.hpp"
#include "core/compute_views.hpp"
#include "core/csr_pattern.hpp"
#include "kernels/coarse/launch.hpp"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/policy.hpp"

#include <optional>
#include <utility>
#include <variant>

// Products of sparse matrices for a Multigrid, by rows; patterns with very long ones by sorting the keys of all terms.

namespace blockjacobi::detail {

namespace {

using kernels::SortKey;

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// The pattern whose elements have these keys, (row, column).
CoarsePattern pattern_of_runs(CudaContext& context, const Backend& backend, index_t rows, index_t cols,
                              const SortedKeys& sorted) {
  const std::int32_t count = sorted.found.runs;
  CoarsePattern pattern{rows, cols, Array<std::int32_t>(backend, at(rows) + 1), Array<index_t>(backend, at(count))};
  const StepMemory<index_t> of_row(context, count);
  kernels::split_keys(count, sorted.begin, sorted.keys, static_cast<SortKey>(cols), of_row, pattern.columns.data(),
                      context.stream());
  kernels::find_bounds(count, static_cast<const index_t*>(of_row), rows, pattern.offsets.data(), context.stream());
  return pattern;
}

/// By hash tables; nothing if a row has more columns than there is room for.
template <Offset O>
std::optional<CoarsePattern> product_by_tables(CudaContext& context, const Backend& backend,
                                               const CsrView<const void, O>& a, const CoarsePattern& b) {
  const auto b_view = b.with<const void>(nullptr);
  const int lanes = kernels::sparse_pattern_lanes({a.rows, a.nnz, b.rows, b_view.nnz});
  Array<std::int32_t> offsets(backend, at(a.rows) + 1);
  const StepMemory<kernels::ColumnCounts> counts(context, 1);
  const auto read_counts = [&] { return context.read(static_cast<const kernels::ColumnCounts*>(counts)); };
  context.zero(counts, sizeof(kernels::ColumnCounts));
  kernels::count_columns(lanes, a, b_view, offsets.data(), counts, context.stream());
  kernels::ColumnCounts found = read_counts();
  const bool are_left = found.left != 0;
  if (are_left) {
    if (lanes == kernels::coarse_threads) return std::nullopt;
    kernels::count_left(a, b_view, offsets.data(), counts, context.stream());
    found = read_counts();
    if (found.too_many != 0) return std::nullopt;
  }
  require_coarse_elements(static_cast<offset_t>(found.columns));
  const StepMemory<std::byte> scratch(context, static_cast<offset_t>(kernels::scan_bytes(a.rows + 1)));
  kernels::sum_before(a.rows + 1, offsets.data(), offsets.data(), scratch, context.stream());
  CoarsePattern product{a.rows, b.cols, std::move(offsets), Array<index_t>(backend, found.columns)};
  kernels::list_columns(lanes, a, b_view, product.offsets.data(), product.columns.data(), context.stream());
  if (are_left) kernels::list_left(lanes, a, b_view, product.offsets.data(), product.columns.data(), context.stream());
  return product;
}

template <Offset O>
CoarsePattern product_by_sorting(CudaContext& context, const Backend& backend, const CsrView<const void, O>& a,
                                 const CoarsePattern& b) {
  require_coarse_elements(a.nnz + 1);  // which are scanned
  const auto entries = static_cast<index_t>(a.nnz);
  const StepMemory<std::int32_t> before(context, a.nnz + 1);
  const StepMemory<unsigned long long> all(context, 1);
  context.zero(all, sizeof(unsigned long long));
  kernels::count_terms(a, b.offsets.data(), before, all, context.stream());
  const auto terms = static_cast<offset_t>(context.read(static_cast<const unsigned long long*>(all)));
  require_coarse_elements(terms);
  const StepMemory<std::byte> scratch(context, static_cast<offset_t>(kernels::scan_bytes(entries + 1)));
  kernels::sum_before(entries + 1, before, before, scratch, context.stream());
  const SortKey limit = static_cast<SortKey>(a.rows) * static_cast<SortKey>(b.cols);
  const SortedKeys sorted = sorted_keys(context, terms, limit, [&](SortKey* keys, std::int32_t* numbers) {
    kernels::key_terms(a, b.with<const void>(nullptr), before, keys, numbers, context.stream());
  });
  return pattern_of_runs(context, backend, a.rows, b.cols, sorted);
}

CoarsePattern product_of_patterns(CudaContext& context, const Backend& backend, const AnyPattern& matrix,
                                  const CoarsePattern& b) {
  const DeviceGuard guard(context.device());
  return std::visit(
      [&](const auto& a) {
        std::optional<CoarsePattern> product = product_by_tables(context, backend, a, b);
        return product ? *std::move(product) : product_by_sorting(context, backend, a, b);
      },
      matrix);
}

std::pair<CoarsePattern, Array<std::int32_t>> transposed_pattern(CudaContext& context, const Backend& backend,
                                                                 const CoarsePattern& pattern) {
  const DeviceGuard guard(context.device());
  const auto count = static_cast<offset_t>(pattern.columns.size());
  const SortKey limit = static_cast<SortKey>(pattern.rows) * static_cast<SortKey>(pattern.cols);
  const SortedKeys sorted = sorted_keys(context, count, limit, [&](SortKey* keys, std::int32_t* numbers) {
    kernels::key_transposed(pattern.with<const void>(nullptr), keys, numbers, context.stream());
  });
  Array<std::int32_t> order(backend, at(count));
  backend.impl().copy(order.data(), static_cast<const std::int32_t*>(sorted.numbers), order.bytes());
  return {pattern_of_runs(context, backend, pattern.cols, pattern.rows, sorted), std::move(order)};
}

}  // namespace

template <Scalar T>
CoarseMatrix<T> CudaCoarseOps<T>::rows_of(const Backend& backend, const CoarseSpace<T>& z) {
  const DeviceGuard guard(context_.device());
  const CoarseBasis<T> basis = z.view();
  require_coarse_elements(offset_t{basis.rows} * basis.width);
  Array<std::int32_t> offsets(backend, at(basis.rows) + 1);
  const StepMemory<std::byte> scratch(context_, static_cast<offset_t>(kernels::scan_bytes(basis.rows + 1)));
  kernels::count_basis(basis, offsets.data(), context_.stream());
  kernels::sum_before(basis.rows + 1, offsets.data(), offsets.data(), scratch, context_.stream());
  const std::size_t count = at(context_.read(static_cast<const std::int32_t*>(offsets.data()) + basis.rows));
  CoarseMatrix<T> rows{{basis.rows, z.order, std::move(offsets), Array<index_t>(backend, count)},
                       Array<T>(backend, count)};
  kernels::fill_basis(basis, rows.pattern.offsets.data(), rows.pattern.columns.data(), compute_cast(rows.values.data()),
                      context_.stream());
  return rows;
}

template <Scalar T>
CoarsePattern CudaCoarseOps<T>::product_pattern(const Backend& backend, const AnyCsrView<T>& a,
                                                const CoarsePattern& b) {
  return product_of_patterns(context_, backend, any_pattern_of(a), b);
}

template <Scalar T>
std::pair<CoarsePattern, Array<std::int32_t>> CudaCoarseOps<T>::transposed(const Backend& backend,
                                                                           const CoarsePattern& pattern) {
  return transposed_pattern(context_, backend, pattern);
}

template <Scalar T>
void CudaCoarseOps<T>::multiply(const AnyCsrView<T>& matrix, const CsrView<C, std::int32_t>& b,
                                const CoarsePattern& product, C* values) {
  const DeviceGuard guard(context_.device());
  std::visit(
      [&](const auto& view) {
        const int lanes = kernels::sparse_product_lanes({view.rows, view.nnz, b.rows, b.nnz,
                                                         static_cast<offset_t>(product.columns.size()),
                                                         sizeof(*view.row_offsets) == sizeof(std::int64_t)});
        kernels::sparse_product(lanes, compute_view(view), b, product.offsets.data(), product.columns.data(), values,
                                context_.stream());
      },
      matrix);
}

template <Scalar T>
void CudaCoarseOps<T>::conjugate(const Array<std::int32_t>& order, const C* from, C* to) {
  const DeviceGuard guard(context_.device());
  kernels::conjugate(static_cast<std::int32_t>(order.size()), static_cast<const std::int32_t*>(order.data()), from, to,
                     context_.stream());
}

template <Scalar T>
void CudaCoarseOps<T>::smooth(const AnyCsrView<T>& matrix, const CoarseBasis<T>& z, real_t<T> relaxation,
                              const CoarsePattern& p, C* values) {
  const DeviceGuard guard(context_.device());
  std::visit(
      [&](const auto& view) {
        kernels::smooth_basis(compute_view(view), z, relaxation, p.offsets.data(), p.columns.data(), values,
                              context_.stream());
      },
      matrix);
}

template <Scalar T>
void CudaCoarseOps<T>::rounding_scales(const AnyCsrView<T>& matrix, real_t<T>* rounding_scales) {
  const DeviceGuard guard(context_.device());
  std::visit(
      [&](const auto& view) { kernels::rounding_scales(compute_view(view), rounding_scales, context_.stream()); },
      matrix);
}

template <Scalar T>
void CudaCoarseOps<T>::restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const real_t<T>* fine,
                                                real_t<T>* coarse) {
  const DeviceGuard guard(context_.device());
  kernels::restrict_rounding_scales(adjoint, fine, coarse, context_.stream());
}

template <Scalar T>
void CudaCoarseOps<T>::add_product(const CsrView<C, std::int32_t>& matrix, const C* c, C* x) {
  const DeviceGuard guard(context_.device());
  kernels::add_product(matrix, c, x, context_.stream());
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                     \
  template CoarseMatrix<T> CudaCoarseOps<T>::rows_of(const Backend&, const CoarseSpace<T>&);                           \
  template CoarsePattern CudaCoarseOps<T>::product_pattern(const Backend&, const AnyCsrView<T>&,                       \
                                                           const CoarsePattern&);                                      \
  template void CudaCoarseOps<T>::multiply(const AnyCsrView<T>&, const CsrView<C, std::int32_t>&,                      \
                                           const CoarsePattern&, C*);                                                  \
  template std::pair<CoarsePattern, Array<std::int32_t>> CudaCoarseOps<T>::transposed(const Backend&,                  \
                                                                                      const CoarsePattern&);           \
  template void CudaCoarseOps<T>::conjugate(const Array<std::int32_t>&, const C*, C*);                                 \
  template void CudaCoarseOps<T>::smooth(const AnyCsrView<T>&, const CoarseBasis<T>&, real_t<T>, const CoarsePattern&, \
                                         C*);                                                                          \
  template void CudaCoarseOps<T>::rounding_scales(const AnyCsrView<T>&, real_t<T>*);                                   \
  template void CudaCoarseOps<T>::restrict_rounding_scales(const CsrView<C, std::int32_t>&, const real_t<T>*,          \
                                                           real_t<T>*);                                                \
  template void CudaCoarseOps<T>::add_product(const CsrView<C, std::int32_t>&, const C*, C*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
