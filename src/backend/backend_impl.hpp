#pragma once

#include "backend/batched_ops.hpp"
#include "backend/block_ops.hpp"
#include "backend/coarse_ops.hpp"
#include "backend/krylov_ops.hpp"
#include "backend/partition_ops.hpp"

#include <blockjacobi/backend.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace blockjacobi::detail {

template <Scalar T>
class StorageOps;

/// Work that was recorded once and can be enqueued again with the same arguments.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// Copies of a state in backend memory on their way to the host, read in the order in which they were taken.
class Snapshots {
 public:
  virtual ~Snapshots() = default;
  /// How many may be under way.
  virtual int depth() const = 0;
  /// Taken and not read yet.
  virtual int under_way() const = 0;
  /// Enqueued; under_way() < depth().
  virtual void take() = 0;
  /// Waits for the oldest under way, but for nothing enqueued after it. Valid until the next take().
  virtual const void* next() = 0;
};

/// Scratch of the reductions, for work that may run beside other work of its backend.
class Reductions {
 public:
  virtual ~Reductions() = default;
};

/// THE SEAM: memory, and the sets of operations. Everything above it is written once.
class BackendImpl {
 public:
  virtual ~BackendImpl() = default;

  virtual BackendKind kind() const = 0;
  virtual MemorySpace space() const = 0;
  virtual std::string description() const = 0;
  virtual CUstream_st* stream() const = 0;
  virtual void set_stream(CUstream_st* stream) = 0;
  virtual int threads() const = 0;
  virtual void synchronize() = 0;

  /// At least 256-byte aligned; throws std::bad_alloc (host) or CudaError.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* pointer, std::size_t bytes) noexcept = 0;
  /// The source may be reused on return.
  virtual void copy_from_host(void* destination, const void* source, std::size_t bytes) = 0;
  /// Waits.
  virtual void copy_to_host(void* destination, const void* source, std::size_t bytes) = 0;
  /// Within backend memory; enqueued.
  virtual void copy(void* destination, const void* source, std::size_t bytes) = 0;
  virtual void zero(void* destination, std::size_t bytes) = 0;
  /// At most most_state_bytes from the host, whole words, at once: the source may be reused on return. Enqueued.
  virtual void set(void* destination, const void* source, std::size_t bytes) = 0;

  /// Records what `body` enqueues. If it is not capturable, or the stream cannot be captured, replay() calls `body`.
  /// `body` and what it refers to must outlive the recording.
  virtual std::unique_ptr<Recording> record(std::function<void()> body, bool capturable) = 0;

  /// Null where reductions need no memory of the backend.
  virtual std::unique_ptr<Reductions> make_reductions() { return nullptr; }
  /// What is enqueued from now on takes these; null: the backend's own.
  virtual void use_reductions(const Reductions*) {}

  /// Throws an error that an earlier call of the user left to be found, so that no work of ours is blamed for it; then
  /// it is forgotten. `function` names who found it.
  virtual void require_no_error(const char* /*function*/) {}

  /// Snapshots of `bytes` bytes at `source`.
  virtual std::unique_ptr<Snapshots> snapshots(const void* source, std::size_t bytes) = 0;

  virtual PartitionOps& partition_ops() = 0;
  virtual BlockOps<float>& block_ops(float) = 0;
  virtual BlockOps<double>& block_ops(double) = 0;
  virtual BlockOps<std::complex<float>>& block_ops(std::complex<float>) = 0;
  virtual BlockOps<std::complex<double>>& block_ops(std::complex<double>) = 0;
  virtual BatchedOps<float>& batched_ops(float) = 0;
  virtual BatchedOps<double>& batched_ops(double) = 0;
  virtual BatchedOps<std::complex<float>>& batched_ops(std::complex<float>) = 0;
  virtual BatchedOps<std::complex<double>>& batched_ops(std::complex<double>) = 0;
  virtual KrylovOps<float>& krylov_ops(float) = 0;
  virtual KrylovOps<double>& krylov_ops(double) = 0;
  virtual KrylovOps<std::complex<float>>& krylov_ops(std::complex<float>) = 0;
  virtual KrylovOps<std::complex<double>>& krylov_ops(std::complex<double>) = 0;
  virtual CoarseOps<float>& coarse_ops(float) = 0;
  virtual CoarseOps<double>& coarse_ops(double) = 0;
  virtual CoarseOps<std::complex<float>>& coarse_ops(std::complex<float>) = 0;
  virtual CoarseOps<std::complex<double>>& coarse_ops(std::complex<double>) = 0;
  virtual StorageOps<float>& storage_ops(float) = 0;
  virtual StorageOps<double>& storage_ops(double) = 0;
  virtual StorageOps<std::complex<float>>& storage_ops(std::complex<float>) = 0;
  virtual StorageOps<std::complex<double>>& storage_ops(std::complex<double>) = 0;
};

template <Scalar T>
BlockOps<T>& block_ops(const Backend& backend) {
  return backend.impl().block_ops(T{});
}
template <Scalar T>
StorageOps<T>& storage_ops(const Backend& backend) {
  return backend.impl().storage_ops(T{});
}
template <Scalar T>
BatchedOps<T>& batched_ops(const Backend& backend) {
  return backend.impl().batched_ops(T{});
}
template <Scalar T>
KrylovOps<T>& krylov_ops(const Backend& backend) {
  return backend.impl().krylov_ops(T{});
}
template <Scalar T>
CoarseOps<T>& coarse_ops(const Backend& backend) {
  return backend.impl().coarse_ops(T{});
}

std::shared_ptr<BackendImpl> make_host_backend(int threads);

// Implemented by cuda_backend.cpp, or by cuda_absent.cpp in a build without CUDA.
std::shared_ptr<BackendImpl> make_cuda_backend(int device);
std::shared_ptr<BackendImpl> make_cuda_backend(int device, CUstream_st* stream,
                                               std::shared_ptr<MemoryResource> resource);
/// The first device that runs the kernels of this build; none if there is none.
std::optional<int> usable_cuda_device() noexcept;

}  // namespace blockjacobi::detail
