#pragma once

#include "solve/cusparse_peer.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <cublas_v2.h>

namespace bench {

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

/// Preconditioned CG as it is put together from the libraries: a call for every operation, as few and as fast ones as
/// they have. All scalars stay on the device, and iterations are recorded once and replayed as a graph. M is ours.
class UnfusedCg {
 public:
  /// Iterations of a graph.
  static constexpr int bundle = 16;

  UnfusedCg(const CusparseProduct& A, const blockjacobi::BlockJacobi<double>& M);
  ~UnfusedCg();
  UnfusedCg(const UnfusedCg&) = delete;
  UnfusedCg& operator=(const UnfusedCg&) = delete;

  /// From x = 0, a multiple of `bundle`; returns ||r||.
  double run(const double* b, double* x, int iterations);

 private:
  struct Scalars;
  Scalars* scalars() const { return reinterpret_cast<Scalars*>(scalars_.data()); }
  double* x() const { return x_and_r_.data(); }
  double* r() const { return x_and_r_.data() + stride_; }
  double* p() const { return p_and_q_.data(); }
  double* q() const { return p_and_q_.data() + stride_; }  ///< -A p, so that x and r take the same step

  void iterate();
  void dot(const double* a, const double* b, double* result) { check(cublasDdot(cublas_, n_, a, 1, b, 1, result)); }
  void apply();

  const CusparseProduct& A_;
  const blockjacobi::BlockJacobi<double>& M_;
  blockjacobi::index_t n_, stride_;  ///< r and q begin where reads are as wide as for x and p
  cudaStream_t stream_;
  Buffer<double> x_and_r_, p_and_q_, z_, scalars_;
  Buffer<char> workspace_;  ///< why: cuBLAS would allocate its own in every graph
  cublasHandle_t cublas_{};
  cudaGraphExec_t iterations_{};
};

}  // namespace bench
