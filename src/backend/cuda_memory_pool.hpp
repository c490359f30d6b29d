#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace blockjacobi::detail {

/// Memory of a device that all backends there take theirs from, but those with an allocator of the user. What one gave
/// back another takes without a call of the driver; a pool for each would keep as much for itself alone.
class CudaMemoryPool {
 public:
  /// That of the device, which lives until the last who asked for it has let go. Null where the device has no pools.
  /// From any thread.
  static std::shared_ptr<CudaMemoryPool> of(int device);

  ~CudaMemoryPool();
  CudaMemoryPool(const CudaMemoryPool&) = delete;
  CudaMemoryPool& operator=(const CudaMemoryPool&) = delete;

  cudaMemPool_t get() const noexcept { return pool_; }

 private:
  explicit CudaMemoryPool(int device);

  cudaMemPool_t pool_ = nullptr;
};

}  // namespace blockjacobi::detail
