#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream);
/// The orders that spd_inverse() of cholesky/launch.hpp inverts without a factorization, on the device in use; and
/// their inversion, which returns the largest such order of the batch.
template <class C>
int largest_spd_inverse_at_once();
template <class C>
int spd_inverse_at_once(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                        batched::SpdStorage storage, int* info, CUstream_st* stream);
template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream);
/// `work`: with orders above largest_tiny_order scratch, some matrices of a.rows rows.
template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    const MatrixBatchView<C>& work, CUstream_st* stream);

}  // namespace blockjacobi::kernels
