#include "faults/failing_pinned.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

namespace {

std::atomic<bool> fails = false;
std::atomic<int> live_allocations = 0;

}  // namespace

// Names that the linker gives.
extern "C" {
cudaError_t __real_cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t __real_cudaFreeHost(void* pointer);

cudaError_t __wrap_cudaMallocHost(void** pointer, std::size_t bytes) {
  if (fails) {
    static_cast<void>(cudaSetDevice(-1));  // an error that CUDA has not been asked for yet
    return cudaErrorMemoryAllocation;
  }
  const cudaError_t status = __real_cudaMallocHost(pointer, bytes);
  if (status == cudaSuccess) ++live_allocations;
  return status;
}
cudaError_t __wrap_cudaFreeHost(void* pointer) {
  if (pointer != nullptr) --live_allocations;
  return __real_cudaFreeHost(pointer);
}
}

namespace blockjacobi::test {

FailingPinned::FailingPinned() { fails = true; }
FailingPinned::~FailingPinned() { fails = false; }
int FailingPinned::live() { return live_allocations; }

}  // namespace blockjacobi::test
