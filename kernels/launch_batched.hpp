#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

/// The launchers of the batched dense operations; conventions as in launch.hpp. Views obey what BatchedOps states,
/// orders are at most those below and count is positive.
namespace blockjacobi::kernels {

/// Orders of getrf, getri, inverse, potrf and geqrf, and those of the others.
inline constexpr int largest_batched_order = 512;
inline constexpr int largest_tiny_batched_order = 32;

template <class C>
void getrf(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream);
template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream);
template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream);
template <class C>
void getrs(batched::Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
           CUstream_st* stream);

template <class C>
void potrf(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void potri(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                 batched::SpdStorage storage, int* info, CUstream_st* stream);
template <class C>
void potrs(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
           CUstream_st* stream);

template <class C>
void geqrf(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream);
template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    CUstream_st* stream);

}  // namespace blockjacobi::kernels
