#include "kernels/krylov/launch_resident.cuh"

#include "kernels/krylov/launch.hpp"

namespace blockjacobi::kernels {

namespace {

/// As large as the resident kernels at their largest.
__global__ void __launch_bounds__(resident_policy.threads, 1) resident_probe_kernel() {}

}  // namespace

bool resident_fits(CUstream_st* stream) {
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

bool blocks_can_reside(std::span<const BlockGroup> groups, index_t rows) {
  if (rows == 0 || !are_tiny(groups) || device_attribute(cudaDevAttrCooperativeLaunch) == 0) return false;
  const int ctas = device_attribute(cudaDevAttrMultiProcessorCount);
  if (ctas > resident_most_ctas) return false;
  if (device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < resident_shared_bytes + resident_static_bytes)
    return false;
  return rows <= resident_rows * ctas;
}

template <class C>
bool can_reside(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse) {
  if (!blocks_can_reside(inverse.groups, matrix.rows)) return false;
  const int ctas = device_attribute(cudaDevAttrMultiProcessorCount);
  constexpr offset_t entries = resident_entry_bytes / (sizeof(C) + sizeof(int));
  return matrix.nnz <= entries * ctas;
}

#define BLOCKJACOBI_INSTANTIATE(C) \
  template bool can_reside(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
