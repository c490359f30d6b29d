#pragma once

#include <blockjacobi/export.hpp>
#include <blockjacobi/memory.hpp>

#include <memory>
#include <string>

namespace blockjacobi {

namespace detail {
class BackendImpl;
}

enum class BackendKind { host, cuda };

/// Where and how to compute: CPU threads, or a CUDA device and stream. A value handle to shared state; copies are the
/// same backend, and so are objects that were moved from. There is no global state and no default backend.
///
/// Thread safety: a host backend may be used from several threads at once; a CUDA backend from one thread at a time.
///
/// The own stream of a CUDA backend waits for no other, nor for the default stream: data on the device that was made
/// there must be finished before the backend reads it. Wait for that stream, or pass it to cuda().
class BLOCKJACOBI_EXPORT Backend {
 public:
  /// CPU threads through OpenMP; 0 takes OpenMP's default. Throws InvalidArgument unless
  /// 0 <= threads <= 1024.
  [[nodiscard]] static Backend host(int threads = 0);

  /// The first CUDA device that can be used, with a non-blocking stream of its own. Does not throw where
  /// cuda_available(); otherwise BackendUnavailable, with what is wrong with device 0.
  [[nodiscard]] static Backend cuda();

  /// CUDA device with a non-blocking stream of its own. Memory comes from a pool of all backends of the device but
  /// those with an allocator of the user. It keeps what was freed until the last of them goes, unless it holds more
  /// than 1/32 of the device's memory, what is in use included. Throws BackendUnavailable if CUDA was not compiled in
  /// or the device does not exist or cannot run the kernels.
  [[nodiscard]] static Backend cuda(int device);

  /// CUDA device, user's stream (nullptr is the legacy default stream, which cannot be recorded in graphs), optional
  /// user's allocator in place of that pool. The stream must outlive the backend and belong to the device.
  [[nodiscard]] static Backend cuda(int device, CUstream_st* stream,
                                    std::shared_ptr<MemoryResource> resource = nullptr);

  /// CUDA compiled in and at least one usable device. Never throws.
  [[nodiscard]] static bool cuda_available() noexcept;

  /// A move copies: there is no backend without a state.
  Backend(const Backend&) = default;
  Backend& operator=(const Backend&) = default;
  ~Backend() = default;

  BackendKind kind() const noexcept;
  /// The space in which this backend's arrays live.
  MemorySpace memory_space() const noexcept;
  /// "host, 2 threads" or "cuda 0, NVIDIA H200".
  std::string description() const;
  /// nullptr on the host.
  CUstream_st* stream() const noexcept;
  /// On CUDA, work from here on goes to `stream` of the same device, that of all copies and of what was made with them
  /// too; nullptr is the legacy default stream. What is recorded in graphs stays as it is. Enqueues nothing: the caller
  /// orders the new stream behind what the old one holds (cudaStreamWaitEvent), and keeps it as long as it is in use. A
  /// stream of the backend's own lives as long as the backend. Throws InvalidArgument on a host backend.
  void set_stream(CUstream_st* stream) const;
  /// OpenMP threads; 1 on CUDA.
  int threads() const noexcept;
  /// Waits for everything enqueued.
  void synchronize() const;

  friend bool operator==(const Backend& a, const Backend& b) noexcept { return a.impl_ == b.impl_; }

  detail::BackendImpl& impl() const noexcept { return *impl_; }

 private:
  explicit Backend(std::shared_ptr<detail::BackendImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<detail::BackendImpl> impl_;
};

}  // namespace blockjacobi
