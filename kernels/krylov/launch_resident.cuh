#pragma once

#include "kernels/krylov/resident.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

/// A thread block on each multiprocessor of the device.
template <class Arguments>
void launch_resident(void (*kernel)(Arguments), const char* name, Arguments& arguments, CUstream_st* stream) {
  void* pointers[] = {&arguments};
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, resident_shared_bytes), name);
  const auto ctas = static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
  check(cudaLaunchCooperativeKernel(kernel, dim3(ctas), dim3(resident_policy.threads), pointers, resident_shared_bytes,
                                    stream),
        name);
}

}  // namespace blockjacobi::kernels
