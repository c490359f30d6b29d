#include "support/less_shared_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>

// A device with less shared memory than the one at hand: BLOCKJACOBI_TEST_SHARED_KB=99 leaves a thread block as many KB
// as devices of compute capability 8.6, 8.9 and 12.0 have, 163 as 8.0. Stands between the library and CUDA in programs
// that link it.

namespace {

/// Bytes.
std::atomic<int>& limit() {
  static std::atomic<int> bytes = [] {
    const char* const variable = std::getenv("BLOCKJACOBI_TEST_SHARED_KB");
    const int kilobytes = variable != nullptr ? std::atoi(variable) : 0;
    return kilobytes > 0 ? kilobytes << 10 : INT_MAX;
  }();
  return bytes;
}

}  // namespace

namespace blockjacobi::test {

LessSharedMemory::LessSharedMemory(int kilobytes) : before_(limit().exchange(kilobytes << 10)) {}
LessSharedMemory::~LessSharedMemory() { limit() = before_; }

}  // namespace blockjacobi::test

// Names that the linker gives.
extern "C" {
cudaError_t __real_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t __real_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const cudaError_t status = __real_cudaDeviceGetAttribute(value, attribute, device);
  if (status == cudaSuccess && attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
    *value = std::min(*value, limit().load());
  return status;
}

/// Refuses what such a device would refuse.
cudaError_t __wrap_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const bool is_granted = attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value <= limit();
  return __real_cudaFuncSetAttribute(kernel, attribute, is_granted ? value : INT_MAX);
}
}
