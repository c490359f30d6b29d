#pragma once

#include <blockjacobi/batched.hpp>

struct CUstream_st;

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
void geqrf_blocked(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream);
template <class C>
void potrf_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);

}  // namespace blockjacobi::kernels
