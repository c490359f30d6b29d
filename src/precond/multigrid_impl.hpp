#pragma once

#include "backend/backend_impl.hpp"
#include "backend/operator_impl.hpp"

#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/near_kernel.hpp>

#include <memory>
#include <optional>

namespace blockjacobi::detail {

/// B^H of a sparse matrix B.
template <Scalar T>
struct AdjointMatrix {
  CoarseMatrix<T> matrix;
  Array<std::int32_t> order;  ///< which entry of B each entry is

  std::size_t bytes() const { return matrix.bytes() + order.bytes(); }
};

/// From one level to the next.
template <Scalar T>
class GridTransfer {
  using C = compute_t<T>;

 public:
  /// Z has columns. Waits.
  GridTransfer(const SparseMatrix<T>& fine, CoarseSpace<T> z, real_t<T> relaxation);
  GridTransfer(const GridTransfer&) = delete;
  GridTransfer& operator=(const GridTransfer&) = delete;

  /// P and P^H A P for the values that A has now, and its rounding scales; enqueued.
  void refresh();
  /// out = P^H x.
  void restrict(const C* x, C* out) const;
  /// x += P c.
  void add_prolonged(const C* c, C* x) const;

  /// P^H A P; it refers to arrays of this object.
  const SparseMatrix<T>& coarse() const { return coarse_; }
  /// What the near-kernel is in coordinates of Z. Waits.
  NearKernel<T> restricted(const NearKernel<T>& fine) const;
  /// The columns of each aggregate, `ones` of them if they are ones.
  BlockPartition nodes(index_t ones) const;
  std::size_t bytes() const;

 private:
  CoarseOps<T>& ops_;
  SparseMatrix<T> fine_;
  CoarseSpace<T> z_;
  real_t<T> relaxation_;
  CoarseMatrix<T> p_;         ///< P
  AdjointMatrix<T> adjoint_;  ///< P^H
  std::unique_ptr<OperatorImpl<T>> restriction_;
  CoarseMatrix<T> product_;  ///< A P
  CoarseMatrix<T> e_;        ///< P^H A P
  SparseMatrix<T> coarse_;
  /// See core/shared/rounding_scales.hpp: of A where that has none itself, and of P^H A P.
  Array<real_t<T>> own_scales_, coarse_scales_;
};

/// A level with those below it.
template <Scalar T>
class GridLevel {
  using C = compute_t<T>;

 public:
  /// `nodes` of the matrix, `near_kernel` on its rows: without values one of ones, `cols` unknowns of a node. Waits.
  GridLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> smoother, const BlockPartition& nodes,
            const NearKernel<T>& near_kernel, bool is_finest, const MultigridOptions& options);

  void refresh();
  /// z = one cycle for A z = r; enqueued.
  void cycle(VectorView<const T> r, VectorView<T> z) const;

  const BlockJacobi<T>& smoother() const { return smoother_; }
  bool capturable() const { return smoother_.preconditioner().capturable(); }
  /// Adds this level and those below.
  void add_to(MultigridReport& report) const;
  /// Beside the matrix and the smoother of this level.
  std::size_t bytes() const;

 private:
  void make_next(const BlockPartition& nodes, const NearKernel<T>& near_kernel, bool is_finest,
                 const MultigridOptions& options);

  SparseMatrix<T> matrix_;
  LinearOperator<T> product_;
  BlockJacobi<T> smoother_;
  std::optional<GridTransfer<T>> transfer_;  ///< none on the last level
  std::unique_ptr<GridLevel> next_;
  real_t<T> relaxation_ = 0;
  Array<T> left_;            ///< r - A z
  Array<T> right_, answer_;  ///< of the next level
};

/// State of a Multigrid.
template <Scalar T>
class MultigridImpl final : public PreconditionerImpl<T> {
  using C = compute_t<T>;

 public:
  /// Waits.
  MultigridImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const NearKernel<T>& near_kernel,
                const MultigridOptions& options);

  MultigridReport report() const;

  index_t rows() const override { return finest.smoother().rows(); }
  void apply(const C* r, C* z) const override;
  bool capturable() const override { return finest.capturable(); }
  int batch(int) const override { return 1; }
  const int* failure() const override { return finest.smoother().preconditioner().failure(); }

  Backend backend;
  GridLevel<T> finest;
};

}  // namespace blockjacobi::detail
