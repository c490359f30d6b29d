#pragma once

#include "backend/cuda_memory_pool.hpp"
#include "backend/cuda_snapshots.hpp"
#include "kernels/krylov/launch.hpp"

#include <blockjacobi/memory.hpp>

#include <cusolverDn.h>
#include <cusparse.h>

#include <atomic>
#include <cstddef>
#include <memory>

namespace blockjacobi::detail {

/// Makes a device current and restores the one before.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

class CudaReductions;

/// A CUDA device with its stream, allocator, library handles and scratch, shared by the operations of one backend.
class CudaContext {
 public:
  /// A non-blocking stream of its own.
  explicit CudaContext(int device);
  /// The user's stream, nullptr for the legacy default stream, and optionally the user's allocator.
  CudaContext(int device, CUstream_st* stream, std::shared_ptr<MemoryResource> resource);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  int device() const noexcept { return device_; }
  CUstream_st* stream() const noexcept { return stream_; }
  /// Of later work; the caller orders the two.
  void set_stream(CUstream_st* stream);
  int multiprocessors() const noexcept { return multiprocessors_; }
  std::size_t second_level_bytes() const noexcept { return second_level_bytes_; }  ///< of the device's cache
  /// Made at the first call; works on stream().
  cusparseHandle_t cusparse();
  cusolverDnHandle_t cusolver();
  /// In use: those of the context unless others were given.
  const kernels::ReductionWorkspace& reductions() const noexcept;
  /// Null: those of the context.
  void use(const CudaReductions* reductions) noexcept { in_use_ = reductions; }

  /// Slots of at least so many bytes, for one user at a time.
  std::unique_ptr<PinnedSlots> borrow_slots(std::size_t bytes);
  void return_slots(std::unique_ptr<PinnedSlots> slots) noexcept;

  void* allocate(std::size_t bytes);
  void deallocate(void* pointer, std::size_t bytes) noexcept;
  void zero(void* destination, std::size_t bytes);
  /// From the device to the host; waits. Few bytes go by way of pinned memory, which saves the driver a copy of its
  /// own.
  void read(void* destination, const void* source, std::size_t bytes);
  template <class T>
  T read(const T* source) {
    T value;
    read(&value, source, sizeof(value));
    return value;
  }
  void synchronize();

 private:
  CudaContext(int device, CUstream_st* stream, bool owns_stream, std::shared_ptr<MemoryResource> resource);
  void release() noexcept;

  int device_;
  std::atomic<CUstream_st*> stream_;      ///< memory may be given back by another thread while one sets it
  CUstream_st* own_stream_;               ///< null where it is the user's
  std::shared_ptr<CudaMemoryPool> pool_;  ///< null where the user has an allocator, or the device no pools
  int multiprocessors_ = 0;
  std::size_t second_level_bytes_ = 0;
  std::shared_ptr<MemoryResource> resource_;
  cusparseHandle_t cusparse_ = nullptr;
  cusolverDnHandle_t cusolver_ = nullptr;
  std::unique_ptr<CudaReductions> reductions_;
  const CudaReductions* in_use_ = nullptr;
  std::unique_ptr<PinnedSlots> free_slots_;
  std::unique_ptr<PinnedSlots> few_bytes_;  ///< of read(), made at its first call
};

/// Device memory of a context, freed with it.
class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(CudaContext& context, std::size_t bytes);
  ~CudaMemory();
  CudaMemory(CudaMemory&& other) noexcept;
  CudaMemory& operator=(CudaMemory&& other) noexcept;
  void* data() const noexcept { return data_; }

 private:
  CudaContext* context_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Scratch of the reductions, as they expect it.
class CudaReductions {
 public:
  explicit CudaReductions(CudaContext& context);
  const kernels::ReductionWorkspace& view() const noexcept { return view_; }

 private:
  CudaMemory partials_, tickets_, exchange_;
  kernels::ReductionWorkspace view_;
};

}  // namespace blockjacobi::detail
