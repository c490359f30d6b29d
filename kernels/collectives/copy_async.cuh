#pragma once

#include "core/shared/scalar.hpp"

#include <cuda_pipeline.h>

#include <cstdint>

namespace blockjacobi::kernels {

/// Starts to copy an element to shared memory. The parts of a complex number one by one where it is not aligned as a
/// whole: std::complex does not ask for that.
template <class C>
__device__ void copy_async(C* to, const C* from) {
  using Real = detail::arithmetic_real_t<C>;
  if (sizeof(C) == sizeof(Real) || reinterpret_cast<std::uintptr_t>(from) % sizeof(C) == 0) {
    __pipeline_memcpy_async(to, from, sizeof(C));
  } else {
    __pipeline_memcpy_async(reinterpret_cast<Real*>(to), reinterpret_cast<const Real*>(from), sizeof(Real));
    __pipeline_memcpy_async(reinterpret_cast<Real*>(to) + 1, reinterpret_cast<const Real*>(from) + 1, sizeof(Real));
  }
}

/// Waits for the copies that this thread started.
__device__ inline void wait_for_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace blockjacobi::kernels
