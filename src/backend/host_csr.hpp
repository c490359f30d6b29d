#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/scalar.hpp"

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <array>

namespace blockjacobi::detail {

/// CSR product on CPU threads; the sum of a row runs in the order of its entries.
template <Scalar T, Offset O>
class HostCsr final : public OperatorImpl<T> {
  using C = compute_t<T>;

 public:
  HostCsr(const CsrView<T, O>& matrix, int threads) : matrix_(matrix), threads_(threads) {}
  index_t rows() const override { return matrix_.rows; }
  bool capturable() const override { return true; }

  void apply(const C* x, C* y) const override {
    for_row_sums(
        x, [](C a) { return a; }, [y](index_t i, C sum) { y[i] = sum; });
  }

  bool apply_bundles(const Bundles& bundles, const C* x, C* y) const override {
    for_all_bundles(
        bundles, x, [](C a) { return a; },
        [y](index_t, index_t, offset_t at, const auto& sums) { std::copy(sums.begin(), sums.end(), y + at); });
    return true;
  }

  bool residual_bundles(const Bundles& bundles, const ColumnsView<const C>& b, const C* x, C* r) const override {
    for_all_bundles(
        bundles, x, [](C a) { return widen(a); },
        [&bundles, &b, r](index_t bundle, index_t i, offset_t at, const auto& sums) {
          const index_t count = bundles.columns_of(bundle);
          const C* const own = b.data + i * b.row_stride + bundle * offset_t{bundle_width} * b.column_stride;
          for (index_t w = 0; w < count; ++w)
            r[at + w] = narrow<C>(widen(own[w * b.column_stride]) - sums[static_cast<std::size_t>(w)]);
        });
    return true;
  }

  /// take(i, place of row i, sums of to(a_ij) to(x_j) for its columns) for the rows begin .. end - 1 of the bundle
  /// whose first element is `first`, on one thread.
  template <class To, class Take>
  void for_bundle_rows(index_t begin, index_t end, offset_t first, const C* x, To to, Take take) const {
    constexpr auto width = static_cast<std::size_t>(bundle_width);
    const C* const bundle = x + first;
    const O base = static_cast<O>(matrix_.base);
    const O* const offsets = matrix_.row_offsets;
    const index_t* const columns = matrix_.columns;
    const C* const values = compute_cast(matrix_.values);
    for (index_t i = begin; i < end; ++i) {
      std::array<decltype(to(C{})), width> sums{};
      for (O k = offsets[i] - base; k < offsets[i + 1] - base; ++k) {
        const auto value = to(values[k]);
        const C* const row = bundle + (columns[k] - static_cast<index_t>(base)) * offset_t{bundle_width};
        for (std::size_t w = 0; w < width; ++w) sums[w] += value * to(row[w]);
      }
      take(i, first + i * offset_t{bundle_width}, sums);
    }
  }

  bool residual(const C* b, const C* x, C* r) const override {
    for_row_sums(
        x, [](C a) { return widen(a); },
        [b, r](index_t i, accumulator_t<C> sum) { r[i] = narrow<C>(widen(b[i]) - sum); });
    return true;
  }

 private:
  /// take(i, sum of to(a_ij) to(x_j) over the entries of row i).
  template <class To, class Take>
  void for_row_sums(const C* x, To to, Take take) const {
    if (matrix_.base == IndexBase::zero)
      sum_rows<0>(x, to, take);
    else
      sum_rows<1>(x, to, take);
  }

  /// take(bundle, i, place of row i, its sums) for every row and bundle; entries serve all bundles while they are in a
  /// cache.
  template <class To, class Take>
  void for_all_bundles(const Bundles& bundles, const C* x, To to, Take take) const {
    constexpr index_t strip = 64;
#pragma omp parallel for num_threads(threads_) schedule(static) if (matrix_.nnz > 1024)
    for (index_t begin = 0; begin < matrix_.rows; begin += strip) {
      const index_t end = begin + std::min(strip, matrix_.rows - begin);
      for (index_t b = 0; b < bundles.count(); ++b)
        for_bundle_rows(begin, end, bundles.first(b * bundle_width), x, to,
                        [&take, b](index_t i, offset_t at, const auto& sums) { take(b, i, at, sums); });
    }
  }

  template <index_t base, class To, class Take>
  void sum_rows(const C* x, To to, Take take) const {
    const O* const offsets = matrix_.row_offsets;
    const index_t* const columns = matrix_.columns;
    const C* const values = compute_cast(matrix_.values);
#pragma omp parallel for num_threads(threads_) schedule(static) if (matrix_.nnz > 8192)
    for (index_t i = 0; i < matrix_.rows; ++i) {
      decltype(to(C{})) sum{};
      const O end = offsets[i + 1] - base;
      for (O k = offsets[i] - base; k < end; ++k) sum += to(values[k]) * to(x[columns[k] - base]);
      take(i, sum);
    }
  }

  CsrView<T, O> matrix_;
  int threads_;
};

}  // namespace blockjacobi::detail
