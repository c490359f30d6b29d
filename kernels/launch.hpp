#pragma once

/// The launchers: all that the host side knows of the kernels, in kernels/*/launch*.hpp. C is a compute scalar
/// (compute_type.hpp): float, double, detail::Complex<float> or detail::Complex<double>. All pointers are in device
/// memory unless a comment says otherwise. The launchers enqueue on `stream`, allocate nothing, wait for nothing, can
/// be captured, and throw CudaError if a launch is refused. Views obey what the interfaces of the seam
/// (src/backend/*_ops.hpp) state; in batches orders are at most largest_order and count is positive.
namespace blockjacobi::kernels {

/// 0 if the current device can run the kernels of this build, else a cudaError_t.
int device_status() noexcept;

}  // namespace blockjacobi::kernels
