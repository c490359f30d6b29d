#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream);
/// spd_inverse() of cholesky/launch.hpp for the batches that spd_inverse_policy() has a design for; false, and nothing
/// done, for others.
template <class C>
bool contiguous_spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                            batched::SpdStorage storage, int* info, CUstream_st* stream);
template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream);
/// `work`: with orders above largest_tiny_order scratch, some matrices of a.rows rows.
template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    const MatrixBatchView<C>& work, CUstream_st* stream);

}  // namespace blockjacobi::kernels
