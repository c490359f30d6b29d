#pragma once

#include "batched/timer.hpp"
#include "right_hand_side.hpp"

#include <cusparse.h>

namespace bench {

inline void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

/// y = factor A x by cuSPARSE after its preprocessing.
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

  void operator()(double* x, double* y, double factor = 1.0) const {
    check(cusparseDnVecSetValues(input_, x));
    check(cusparseDnVecSetValues(output_, y));
    check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &factor, matrix_, input_, &zero_, output_, CUDA_R_64F,
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

}  // namespace bench
