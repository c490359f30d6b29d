#pragma once

#include "kernels/collectives/await_previous.cuh"
#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

struct LaunchShape {
  unsigned ctas;
  int threads;
};

/// Launches a kernel of which thread blocks come to the multiprocessors as soon as those of the kernel before leave
/// them, if that one allows it, while its last ones are still at work: what has nothing to do with its results is then
/// done meanwhile; await_previous() says what the kernel has to do for that. Before 9.0 as any other launch.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), const char* name, const LaunchShape& shape, CUstream_st* stream,
                      const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.ctas);
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = runs_hopper_code() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

}  // namespace blockjacobi::kernels
