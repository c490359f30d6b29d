#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/scalar.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// CSR product on CPU threads; the sum of a row runs in the order of its entries.
template <Scalar T, Offset O>
class HostCsr final : public OperatorImpl<T> {
  using C = compute_t<T>;

 public:
  HostCsr(const CsrView<T, O>& matrix, int threads) : matrix_(matrix), threads_(threads) {}
  index_t rows() const override { return matrix_.rows; }
  bool capturable() const override { return true; }

  void apply(const T* x, T* y_) const override {
    C* const y = compute_cast(y_);
    for_row_sums(
        x, [](C a) { return a; }, [y](index_t i, C sum) { y[i] = sum; });
  }

  bool residual(const T* b_, const T* x, T* r_) const override {
    const C* const b = compute_cast(b_);
    C* const r = compute_cast(r_);
    for_row_sums(
        x, [](C a) { return widen(a); },
        [b, r](index_t i, accumulator_t<C> sum) { r[i] = narrow<C>(widen(b[i]) - sum); });
    return true;
  }

 private:
  /// take(i, sum of to(a_ij) to(x_j) over the entries of row i).
  template <class To, class Take>
  void for_row_sums(const T* x, To to, Take take) const {
    if (matrix_.base == IndexBase::zero)
      sum_rows<0>(compute_cast(x), to, take);
    else
      sum_rows<1>(compute_cast(x), to, take);
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
