#pragma once

#include "backend/cuda_context.hpp"
#include "backend/operator_impl.hpp"
#include "core/shared/compute_type.hpp"
#include "kernels/krylov/launch_columns.hpp"
#include "kernels/krylov/launch_products.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// What is the same for every design of a product with a CSR matrix.
template <Scalar T, Offset O>
class CudaCsr : public OperatorImpl<T> {
 public:
  using C = compute_t<T>;

  /// `offsets` holds the offsets of the matrix if they do not belong to the user.
  CudaCsr(CudaContext& context, kernels::CsrProductDesign design, const CsrView<C, O>& matrix, CudaMemory offsets)
      : context_(context), matrix_(matrix), design_(design), offsets_(std::move(offsets)) {}

  index_t rows() const override { return matrix_.rows; }
  bool capturable() const override { return true; }
  bool residual(const C* b, const C* x, C* r) const override {
    if constexpr (has_double_sums) {
      return false;
    } else {
      const DeviceGuard guard(context_.device());
      kernels::csr_residual(matrix_, design_, b, x, r, context_.stream());
      return true;
    }
  }

 protected:
  /// Of apply().
  static constexpr bool has_double_sums = std::is_same_v<C, accumulator_t<C>>;

  CudaContext& context_;
  CsrView<C, O> matrix_;

 private:
  kernels::CsrProductDesign design_;
  CudaMemory offsets_;
};

/// y = A x by our own kernels, for rows of similar length. Solvers may take matrix() for products with more in them.
template <Scalar T>
class RowsCsr final : public CudaCsr<T, std::int32_t> {
  using Base = CudaCsr<T, std::int32_t>;
  using Base::context_, Base::matrix_, Base::has_double_sums;

 public:
  using Base::Base;
  using typename Base::C;

  void apply(const C* x, C* y) const override {
    const DeviceGuard guard(context_.device());
    kernels::csr_rows_product(matrix_, x, y, context_.stream());
  }
  bool residual(const C* b, const C* x, C* r) const override {
    if constexpr (has_double_sums) {
      const DeviceGuard guard(context_.device());
      kernels::csr_rows_residual(matrix_, b, x, r, context_.stream());
      return true;
    } else {
      return Base::residual(b, x, r);
    }
  }
  bool apply_bundles(const Bundles& bundles, const C* x, C* y) const override {
    const DeviceGuard guard(context_.device());
    kernels::bundles_product(matrix_, bundles, x, y, context_.stream());
    return true;
  }
  bool residual_bundles(const Bundles& bundles, const ColumnsView<const C>& b, const C* x, C* r) const override {
    const DeviceGuard guard(context_.device());
    kernels::bundles_residual(matrix_, bundles, b, x, r, context_.stream());
    return true;
  }
  const CsrView<C, std::int32_t>& matrix() const { return matrix_; }
};

/// y = A x, chosen by the lengths of the rows: RowsCsr where the longest is not too far from the mean, else cuSPARSE's
/// reproducible CSR algorithm; a slower kernel of our own for 2^31 entries and more, which cuSPARSE would only take
/// with 64-bit columns. 64-bit offsets that fit are narrowed once. Vectors of an empty matrix are zeroed. The arrays of
/// the matrix lie on the device of the context and outlive the operator, as does the context. Waits.
template <Scalar T, Offset O>
std::unique_ptr<OperatorImpl<T>> make_cuda_csr(CudaContext& context, const CsrView<T, O>& matrix);

}  // namespace blockjacobi::detail
