#include "faults/without_image.hpp"

#include <cuda_runtime_api.h>

#include <atomic>

namespace {

std::atomic<bool> is_without = false;

}  // namespace

// Names that the linker gives.
extern "C" {
cudaError_t __real_cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);

cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  return is_without ? cudaErrorNoKernelImageForDevice : __real_cudaFuncGetAttributes(attributes, kernel);
}
}

namespace blockjacobi::test {

WithoutImage::WithoutImage() { is_without = true; }
WithoutImage::~WithoutImage() { is_without = false; }

}  // namespace blockjacobi::test
