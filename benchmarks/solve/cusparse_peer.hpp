#pragma once

#include "batched/timer.hpp"
#include "right_hand_side.hpp"

#include <cublas_v2.h>
#include <cusparse.h>

namespace bench {

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}
inline void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

/// y = A x by cuSPARSE after its preprocessing.
class CusparseProduct {
 public:
  CusparseProduct(const blockjacobi::CsrView<double, std::int32_t>& a, cusparseSpMVAlg_t algorithm, cudaStream_t stream)
      : algorithm_(algorithm), x_(static_cast<std::size_t>(a.rows)), y_(x_.bytes() / sizeof(double)) {
    check(cusparseCreate(&handle_));
    check(cusparseSetStream(handle_, stream));
    check(cusparseCreateCsr(&matrix_, a.rows, a.rows, a.nnz, const_cast<std::int32_t*>(a.row_offsets),
                            const_cast<std::int32_t*>(a.columns), const_cast<double*>(a.values), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    check(cusparseCreateDnVec(&input_, a.rows, x_.data(), CUDA_R_64F));
    check(cusparseCreateDnVec(&output_, a.rows, y_.data(), CUDA_R_64F));
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, input_, &zero_, output_,
                                  CUDA_R_64F, algorithm_, &bytes));
    check(cudaMalloc(&buffer_, bytes + 256));
    check(cusparseSpMV_preprocess(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, input_, &zero_, output_,
                                  CUDA_R_64F, algorithm_, buffer_));
  }
  ~CusparseProduct() {
    cudaFree(buffer_);
    cusparseDestroyDnVec(input_);
    cusparseDestroyDnVec(output_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
  }
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;

  void operator()(double* x, double* y) const {
    check(cusparseDnVecSetValues(input_, x));
    check(cusparseDnVecSetValues(output_, y));
    check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, input_, &zero_, output_, CUDA_R_64F,
                       algorithm_, buffer_));
  }

 private:
  cusparseSpMVAlg_t algorithm_;
  double one_ = 1.0, zero_ = 0.0;
  Buffer<double> x_, y_;
  cusparseHandle_t handle_{};
  cusparseSpMatDescr_t matrix_{};
  cusparseDnVecDescr_t input_{}, output_{};
  void* buffer_ = nullptr;
};

/// Preconditioned CG as it is put together from the libraries: a call for every operation, dots on the host. M is ours.
class UnfusedCg {
 public:
  UnfusedCg(const CusparseProduct& A, const blockjacobi::BlockJacobi<double>& M)
      : A_(A), M_(M), n_(M.rows()), r_(size()), z_(size()), p_(size()), q_(size()) {
    check(cublasCreate(&cublas_));
    check(cublasSetStream(cublas_, M.backend().stream()));
  }
  ~UnfusedCg() { cublasDestroy(cublas_); }
  UnfusedCg(const UnfusedCg&) = delete;
  UnfusedCg& operator=(const UnfusedCg&) = delete;

  /// From x = 0; returns ||r||.
  double run(const double* b, double* x, int iterations) {
    const auto view = [this](double* v) {
      return blockjacobi::VectorView<double>(v, n_, blockjacobi::MemorySpace::device);
    };
    cudaStream_t stream = M_.backend().stream();
    check(cudaMemsetAsync(x, 0, r_.bytes(), stream));
    check(cudaMemcpyAsync(r_.data(), b, r_.bytes(), cudaMemcpyDeviceToDevice, stream));
    M_.apply(view(r_.data()), view(z_.data()));
    check(cudaMemcpyAsync(p_.data(), z_.data(), r_.bytes(), cudaMemcpyDeviceToDevice, stream));
    double rho = dot(r_.data(), z_.data()), norm = 0.0;
    for (int i = 0; i < iterations; ++i) {
      A_(p_.data(), q_.data());
      const double alpha = rho / dot(p_.data(), q_.data()), minus = -alpha, one = 1.0;
      check(cublasDaxpy(cublas_, n_, &alpha, p_.data(), 1, x, 1));
      check(cublasDaxpy(cublas_, n_, &minus, q_.data(), 1, r_.data(), 1));
      check(cublasDnrm2(cublas_, n_, r_.data(), 1, &norm));
      M_.apply(view(r_.data()), view(z_.data()));
      const double next = dot(r_.data(), z_.data()), beta = next / rho;
      rho = next;
      check(cublasDscal(cublas_, n_, &beta, p_.data(), 1));
      check(cublasDaxpy(cublas_, n_, &one, z_.data(), 1, p_.data(), 1));
    }
    return norm;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  double dot(const double* x, const double* y) {
    double result = 0.0;
    check(cublasDdot(cublas_, n_, x, 1, y, 1, &result));
    return result;
  }

  const CusparseProduct& A_;
  const blockjacobi::BlockJacobi<double>& M_;
  blockjacobi::index_t n_;
  Buffer<double> r_, z_, p_, q_;
  cublasHandle_t cublas_{};
};

}  // namespace bench
