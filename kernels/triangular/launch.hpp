#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

template <class C>
void getrs(batched::Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
           CUstream_st* stream);
template <class C>
void potrs(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
           CUstream_st* stream);

}  // namespace blockjacobi::kernels
