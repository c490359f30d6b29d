#pragma once

#include "solve/cusparse_peer.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <cublas_v2.h>

namespace bench {

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

/// Preconditioned CG as it is put together from the libraries: a call for every operation. All scalars stay on the
/// device, and nothing waits for the host within an iteration. M is ours.
class UnfusedCg {
 public:
  UnfusedCg(const CusparseProduct& A, const blockjacobi::BlockJacobi<double>& M);
  ~UnfusedCg();
  UnfusedCg(const UnfusedCg&) = delete;
  UnfusedCg& operator=(const UnfusedCg&) = delete;

  /// From x = 0; returns ||r||.
  double run(const double* b, double* x, int iterations);

 private:
  void dot(const double* x, const double* y, double* result) { check(cublasDdot(cublas_, n_, x, 1, y, 1, result)); }
  void add(const double* factor, const double* x, double* y) { check(cublasDaxpy(cublas_, n_, factor, x, 1, y, 1)); }

  const CusparseProduct& A_;
  const blockjacobi::BlockJacobi<double>& M_;
  blockjacobi::index_t n_;
  Buffer<double> r_, z_, p_, q_, scalars_;
  cublasHandle_t cublas_{};
};

}  // namespace bench
