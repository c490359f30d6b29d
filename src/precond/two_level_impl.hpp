#pragma once

#include "backend/backend_impl.hpp"
#include "precond/coarse_space.hpp"

#include <blockjacobi/two_level.hpp>

#include <optional>

namespace blockjacobi::detail {

/// A matrix of any shape in backend memory, as a product.
template <Scalar T>
struct SparseProduct {
  /// May wait.
  SparseProduct(const Backend& backend, const CsrMatrix<T>& host_matrix);
  void apply(const T* x, T* y) const { product.apply(x, y); }

  SparseMatrix<T> matrix;
  const OperatorImpl<T>& product;
};

/// Q = Z E^-1 Z^H, with E as the only block of a BlockJacobi.
template <Scalar T>
class CoarseLevel {
 public:
  /// May wait; Z has columns.
  CoarseLevel(const Backend& backend, const GalerkinProduct<T>& galerkin, const CsrMatrix<T>& z);

  /// E and its inverse for these values of A, in backend memory; enqueued.
  void refresh(const T* values);
  /// u = Q r; enqueued. u may be r.
  void correct(const T* r, T* u) const;

  const BlockJacobi<T>& inverse() const { return inverse_; }
  std::size_t bytes() const;

 private:
  SparseProduct<T> prolongation_, restriction_, sums_;
  Array<T> values_;  ///< of E
  BlockJacobi<T> inverse_;
  Array<T> restricted_, solved_;
};

/// State of a TwoLevel.
template <Scalar T>
class TwoLevelImpl final : public PreconditionerImpl<T> {
 public:
  /// Without a coarse level if Z has no columns. Waits.
  TwoLevelImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, CoarseMode mode,
               const Aggregates& aggregates, const CsrMatrix<T>& host_matrix, const CsrMatrix<T>& z);

  void refresh();
  /// u = Q r.
  void correct(const T* r, T* u) const;
  TwoLevelReport report() const;

  index_t rows() const override { return jacobi.rows(); }
  void apply(const T* r, T* z) const override;
  bool capturable() const override { return A_.capturable(); }
  const int* failure() const override { return jacobi.preconditioner().failure(); }
  bool correct_start(const T* r, T* u) const override;

  Backend backend;
  BlockJacobi<T> jacobi;

 private:
  SparseMatrix<T> matrix_;
  const OperatorImpl<T>& A_;
  KrylovOps<T>& ops_;
  std::optional<CoarseLevel<T>> coarse_;
  Array<T> scratch_;
  TwoLevelReport found_;  ///< with what does not depend on the values
};

}  // namespace blockjacobi::detail
