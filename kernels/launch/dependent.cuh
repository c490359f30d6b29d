#pragma once

#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

/// Waits for all that earlier kernels on the stream have written, then lets the next one begin. Every thread of a
/// kernel for launch_dependent() calls it, before it leaves. What a kernel launched so, or the one directly before it,
/// does not write it may read before; what it does write, not by load_again(), whose loads the compiler may move.
__device__ inline void await_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct LaunchShape {
  unsigned ctas;
  int threads;
  unsigned shared_bytes = 0;  ///< dynamic
};

/// Launches a kernel of which thread blocks come to the multiprocessors as soon as those of the kernel before leave
/// them, if that one allows it, while its last ones are still at work: what has nothing to do with its results is then
/// done meanwhile. Before 9.0 as any other launch.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), const char* name, const LaunchShape& shape, CUstream_st* stream,
                      const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.ctas);
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = runs_hopper_code() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
}

}  // namespace blockjacobi::kernels
