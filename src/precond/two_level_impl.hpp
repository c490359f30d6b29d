#pragma once

#include "backend/backend_impl.hpp"
#include "precond/coarse_space.hpp"

#include <blockjacobi/two_level.hpp>

#include <memory>
#include <optional>
#include <utility>

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

/// A sparse matrix of a coarse level in backend memory.
template <Scalar T>
struct CoarseMatrix {
  /// May wait.
  CoarseMatrix(const Backend& backend, const CsrMatrix<T>& host_matrix);
  CsrView<compute_t<T>, std::int32_t> view() const;
  std::size_t bytes() const { return offsets.bytes() + columns.bytes() + values.bytes(); }

  index_t rows, cols;
  Array<std::int32_t> offsets;
  Array<index_t> columns;
  Array<T> values;
};

/// Z in backend memory; without values if they are ones.
template <Scalar T>
struct CoarseBasisMatrix {
  /// May wait.
  CoarseBasisMatrix(const Backend& backend, const CsrMatrix<T>& z);
  CoarseBasis<T> view() const;
  std::size_t bytes() const { return columns.bytes() + values.bytes(); }

  index_t rows, width;
  bool has_ones;
  Array<index_t> columns;
  Array<T> values;
};

/// Z^H; Z^H A, or A Z under adef1, which take fewer bytes to read than A; and E, on the host.
template <Scalar T>
struct CoarseProducts {
  CoarseProducts(CoarseMode mode, const CsrMatrix<T>& a, const CsrMatrix<T>& z, int threads);

  CsrMatrix<T> restriction;
  ProductMap<T> with_z;    ///< of the values of A
  ProductMap<T> galerkin;  ///< E, of the values of `with_z`
};

/// Q = Z E^-1 Z^H.
template <Scalar T>
class CoarseLevel {
 public:
  /// May wait; Z has columns. `kind` is that of E.
  CoarseLevel(const Backend& backend, CoarseMode mode, const CsrMatrix<T>& z, const CoarseProducts<T>& products,
              CoarseMatrixKind kind);

  /// E and its inverse for these values of A, in backend memory; enqueued.
  void refresh(const T* values);
  /// u = Q r; enqueued. u may be r.
  void correct(const T* r, T* u) const;
  /// z = M^-1 r with the correction that the mode asks for; enqueued. `scratch` has as many elements.
  void apply(const PreconditionerImpl<T>& M, const T* r, T* z, T* scratch) const;

  CoarseMode mode() const { return mode_; }
  CoarseView<T> view() const;
  /// info and rcond of E; waits.
  std::pair<int, double> outcome() const;
  std::size_t bytes() const;

 private:
  CoarseMode mode_;
  CoarseOps<T>& ops_;
  CoarseBasisMatrix<T> basis_;
  CoarseMatrix<T> restriction_, with_z_, e_;
  SparseProduct<T> with_z_sums_, e_sums_;    ///< from the values of A to those of with_z_, from these to those of E
  std::optional<BlockJacobi<T>> block_;      ///< E as its only block
  std::unique_ptr<CoarseInverse<T>> whole_;  ///< E where that is too large for a block
  index_t pieces_;
  Array<T> partials_, correction_;
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
  bool capturable() const override { return jacobi.preconditioner().capturable(); }
  const int* failure() const override { return jacobi.preconditioner().failure(); }
  std::optional<CoarseMode> coarse_mode() const override { return found_.mode; }
  bool correct_start(const T* r, T* u) const override;
  std::optional<CoarseCorrection<T>> coarse_correction() const override;

  Backend backend;
  BlockJacobi<T> jacobi;

 private:
  SparseMatrix<T> matrix_;
  std::optional<CoarseLevel<T>> coarse_;
  Array<T> scratch_;
  TwoLevelReport found_;  ///< with what does not depend on the values
};

}  // namespace blockjacobi::detail
