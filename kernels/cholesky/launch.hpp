#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

template <class C>
void potrf(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void potri(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
/// `work`: with SpdStorage::packed and orders above largest_spd_inverse_at_once() scratch, some matrices of a.rows
/// rows.
template <class C>
void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                 batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream);

}  // namespace blockjacobi::kernels
