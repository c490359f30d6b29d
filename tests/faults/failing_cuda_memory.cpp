#include "faults/failing_cuda_memory.hpp"

#include "faults/countdown.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

namespace {

using blockjacobi::test::FailingCudaMemory;

constexpr int kinds = 2;
constinit blockjacobi::test::Countdown countdowns[kinds];
std::atomic<long> live_allocations[kinds];

/// What `allocate` says, unless it is the turn of this allocation to fail.
template <class Allocate>
cudaError_t counted(FailingCudaMemory::Kind kind, Allocate allocate) {
  if (countdowns[kind].ends_here()) {
    static_cast<void>(cudaSetDevice(-1));  // an error that CUDA has not been asked for yet
    return cudaErrorMemoryAllocation;
  }
  const cudaError_t status = allocate();
  if (status == cudaSuccess) ++live_allocations[kind];
  return status;
}

}  // namespace

// Names that the linker gives.
extern "C" {
cudaError_t __real_cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t __real_cudaFreeHost(void* pointer);
cudaError_t __real_cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t __real_cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream);
cudaError_t __real_cudaFreeAsync(void* pointer, cudaStream_t stream);

cudaError_t __wrap_cudaMallocHost(void** pointer, std::size_t bytes) {
  return counted(FailingCudaMemory::pinned, [&] { return __real_cudaMallocHost(pointer, bytes); });
}
cudaError_t __wrap_cudaFreeHost(void* pointer) {
  if (pointer != nullptr) --live_allocations[FailingCudaMemory::pinned];
  return __real_cudaFreeHost(pointer);
}
cudaError_t __wrap_cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return counted(FailingCudaMemory::pooled,
                 [&] { return __real_cudaMallocFromPoolAsync(pointer, bytes, pool, stream); });
}
/// Never fails, but cudaFreeAsync() takes back what it gave as well.
cudaError_t __wrap_cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t status = __real_cudaMallocAsync(pointer, bytes, stream);
  if (status == cudaSuccess) ++live_allocations[FailingCudaMemory::pooled];
  return status;
}
cudaError_t __wrap_cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer != nullptr) --live_allocations[FailingCudaMemory::pooled];
  return __real_cudaFreeAsync(pointer, stream);
}
}

namespace blockjacobi::test {

FailingCudaMemory::FailingCudaMemory(Kind kind, long allocations) : kind_(kind) { countdowns[kind].start(allocations); }
FailingCudaMemory::~FailingCudaMemory() { countdowns[kind_].stop(); }
bool FailingCudaMemory::stop() { return countdowns[kind_].stop(); }
long FailingCudaMemory::live(Kind kind) { return live_allocations[kind]; }
const char* FailingCudaMemory::call(Kind kind) { return kind == pinned ? "cudaMallocHost" : "cudaMallocFromPoolAsync"; }

}  // namespace blockjacobi::test
