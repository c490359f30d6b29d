#pragma once

namespace blockjacobi::kernels {

/// Waits for all that earlier kernels on the stream have written, then lets the next one begin. Every thread of a
/// kernel for launch_dependent() calls it, before it leaves.
///
/// What may be read before: what neither this kernel nor the one directly before writes, if that one waits before it
/// lets others begin, as ours do, or lets none. A user's kernel may do otherwise: behind one, kernels of ours read no
/// vector before. Vectors are read from L2 then (load_written()), since nothing promises that a multiprocessor's own
/// cache has forgotten them, and never by load_again(), which the compiler may move over the wait.
__device__ inline void await_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace blockjacobi::kernels
