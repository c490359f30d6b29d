#pragma once

#include "backend/backend_impl.hpp"

namespace blockjacobi::detail {

/// Batches of dense matrices on CPU threads, one matrix at a time per thread: the oracle for the kernels.
template <Scalar T>
class HostBatchedOps final : public BatchedOps<T> {
 public:
  explicit HostBatchedOps(int threads) : threads_(threads) {}

  void getrf(const MatrixBatchView<T>& a, index_t* ipiv, int* info) override;
  void getri(const MatrixBatchView<const T>& lu, const index_t* ipiv, const MatrixBatchView<T>& x, int* info) override;
  void inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, int* info) override;
  void getrs(batched::Op op, const MatrixBatchView<const T>& lu, const index_t* ipiv,
             const MatrixBatchView<T>& b) override;

  void potrf(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) override;
  void potri(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) override;
  void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x,
                   batched::SpdStorage storage, int* info) override;
  void potrs(batched::Triangle triangle, const MatrixBatchView<const T>& cholesky,
             const MatrixBatchView<T>& b) override;

  void geqrf(const MatrixBatchView<T>& a, T* tau) override;
  void pseudo_inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, double rtol,
                      index_t* rank) override;

 private:
  int threads_;
};

}  // namespace blockjacobi::detail
