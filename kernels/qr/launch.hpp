#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

template <class C>
void geqrf(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream);

}  // namespace blockjacobi::kernels
