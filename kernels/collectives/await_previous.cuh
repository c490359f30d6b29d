#pragma once

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

}  // namespace blockjacobi::kernels
