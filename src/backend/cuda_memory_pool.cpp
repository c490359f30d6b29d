#include "backend/cuda_memory_pool.hpp"

#include "backend/cuda_check.hpp"
#include "backend/cuda_context.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace blockjacobi::detail {

namespace {

/// Of the memory of the device, what a pool may hold, in use or not, without giving free memory back whenever somebody
/// waits.
constexpr std::size_t kept_part = 32;

void set(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  check(cudaMemPoolSetAttribute(pool, attribute, value), "cudaMemPoolSetAttribute");
}

}  // namespace

/// why: the default pool gives all back whenever somebody waits, and a set-up that waits for the size of its next array
/// spent more time on asking for memory anew than on its kernels.
CudaMemoryPool::CudaMemoryPool(int device) {
  const DeviceGuard guard(device);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  std::uint64_t kept = total / kept_part;
  int waits = 0;
  check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  try {
    set(pool_, cudaMemPoolAttrReleaseThreshold, &kept);
    // No backend waits for the stream of another to have its memory.
    set(pool_, cudaMemPoolReuseAllowInternalDependencies, &waits);
  } catch (...) {
    forget(cudaMemPoolDestroy(pool_));
    throw;
  }
}

CudaMemoryPool::~CudaMemoryPool() { forget(cudaMemPoolDestroy(pool_)); }

std::shared_ptr<CudaMemoryPool> CudaMemoryPool::of(int device) {
  int has_pools = 0;
  check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device), "cudaDeviceGetAttribute");
  if (has_pools == 0) return nullptr;
  struct Pools {
    std::mutex one_at_a_time;
    std::map<int, std::weak_ptr<CudaMemoryPool>> by_device;
  };
  static Pools& pools = *new Pools;  // never destroyed: a destructor at the end of the process may make a backend
  const std::lock_guard lock(pools.one_at_a_time);
  std::weak_ptr<CudaMemoryPool>& known = pools.by_device[device];
  std::shared_ptr<CudaMemoryPool> pool = known.lock();
  if (pool == nullptr) known = pool = std::shared_ptr<CudaMemoryPool>(new CudaMemoryPool(device));
  return pool;
}

}  // namespace blockjacobi::detail
