#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// CSR product on CPU threads; the sum of a row runs in the order of its entries.
template <Scalar T, Offset O>
class HostCsr final : public OperatorImpl<T> {
 public:
  HostCsr(const CsrView<T, O>& matrix, int threads) : matrix_(matrix), threads_(threads) {}
  index_t rows() const override { return matrix_.rows; }
  bool capturable() const override { return true; }

  void apply(const T* x_, T* y_) const override {
    const O base = static_cast<O>(matrix_.base);
    const O* offsets = matrix_.row_offsets;
    const index_t* columns = matrix_.columns - base;
    const auto* values = compute_cast(matrix_.values) - base;
    const auto* x = compute_cast(x_) - base;
    auto* y = compute_cast(y_);
#pragma omp parallel for num_threads(threads_) schedule(static) if (matrix_.nnz > 8192)
    for (index_t i = 0; i < matrix_.rows; ++i) {
      compute_t<T> sum{};
      for (O k = offsets[i]; k < offsets[i + 1]; ++k) sum += values[k] * x[columns[k]];
      y[i] = sum;
    }
  }

 private:
  CsrView<T, O> matrix_;
  int threads_;
};

}  // namespace blockjacobi::detail
