#pragma once

#include "core/shared/equilibration.hpp"

namespace blockjacobi::kernels {

/// A function of its own, since few blocks need it: its registers shall not be taken from what works on all of them.
template <class C, class Group>
__device__ __noinline__ void equilibrate(detail::Equilibration<C, Group> equilibration) {
  equilibration.run();
}

}  // namespace blockjacobi::kernels
