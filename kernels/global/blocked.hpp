#pragma once

#include "kernels/launch_batched.hpp"

/// The launchers for matrices of orders above largest_tiny_order; conventions as in launch_batched.hpp. Of mixed orders
/// the tiny ones are left out.
namespace blockjacobi::kernels {

template <class C>
void getrf_blocked(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream);
template <class C>
void getri_blocked(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
                   CUstream_st* stream);
template <class C>
void inverse_blocked(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream);
template <class C>
void getrs_blocked(Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
                   CUstream_st* stream);
template <class C>
void geqrf_blocked(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream);
template <class C>
void potrf_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void potri_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void spd_inverse_blocked(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                         batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream);
template <class C>
void pseudo_inverse_blocked(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                            const MatrixBatchView<C>& work, CUstream_st* stream);
template <class C>
void potrs_blocked(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
                   CUstream_st* stream);

}  // namespace blockjacobi::kernels
