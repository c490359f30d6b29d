#include "kernels/krylov/launch_resident.cuh"

#include "kernels/krylov/launch.hpp"

namespace blockjacobi::kernels {

namespace {

/// As large as the resident kernels at their largest.
__global__ void __launch_bounds__(resident_policy.threads, 1) resident_probe_kernel() {}

}  // namespace

bool resident_fits(CUstream_st* stream) {
  if (device_attribute(cudaDevAttrCooperativeLaunch) == 0) return false;
  const auto ctas = static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
  check(cudaFuncSetAttribute(resident_probe_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, resident_shared_bytes),
        "cudaFuncSetAttribute(resident_probe_kernel)");
  const cudaError_t status = cudaLaunchCooperativeKernel(
      resident_probe_kernel, dim3(ctas), dim3(resident_policy.threads), nullptr, resident_shared_bytes, stream);
  if (status == cudaErrorCooperativeLaunchTooLarge) {
    static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
    return false;
  }
  check(status, "resident_probe_kernel");
  return true;
}

std::size_t exchange_bytes() noexcept {
  return sizeof(GridExchange::Slot) * GridExchange::slots_for(resident_most_ctas);
}

IterationPolicy iteration_policy(ScalarType scalar, std::span<const BlockGroup> groups, const IterationCase& given) {
  return iteration_policy(current_device(), scalar, groups.empty() ? 0 : groups.back().size, given);
}

}  // namespace blockjacobi::kernels
