#pragma once

#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/vector.hpp"

namespace blockjacobi::kernels {

/// The element of this thread in an elementwise launch; may lie behind the end.
__device__ inline offset_t own_element() {
  return static_cast<offset_t>(blockIdx.x) * vector_policy.threads + threadIdx.x;
}

/// visit(i) for every element that this thread has in a reduction over gridDim.x blocks.
template <class Visit>
__device__ void for_each_element(index_t n, Visit visit) {
  const offset_t stride = static_cast<offset_t>(gridDim.x) * vector_policy.threads;
#pragma unroll 4
  for (offset_t i = own_element(); i < n; i += stride) visit(i);
}

}  // namespace blockjacobi::kernels
