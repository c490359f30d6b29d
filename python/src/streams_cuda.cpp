#include "streams.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>

namespace blockjacobi::python {

namespace {

// cudaStreamPerThread; the handles up to it are of default streams.
constexpr std::uintptr_t stream_of_thread = 2;

/// No later launch takes it for its own error.
void forget(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  forget(status);
  throw CudaError(static_cast<int>(status), std::string(call) + ": " + cudaGetErrorName(status) + ", " +
                                                cudaGetErrorString(status) + " (blockjacobi for Python)");
}

/// Events belong to the device that is current when they are made.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    changed_ = previous_ != device;
    if (changed_) check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~CurrentDevice() {
    if (changed_) forget(cudaSetDevice(previous_));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~Event() { forget(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Throws CudaError for a stream of another device.
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// What `later` gets from now on comes after what `earlier` holds now.
  void order(cudaStream_t earlier, cudaStream_t later) {
    record(earlier);
    check(cudaStreamWaitEvent(later, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class EventBridge : public StreamBridge {
 public:
  EventBridge(const Backend& backend, bool stays)
      : backend_(backend), own_(backend.stream()), current_(own_), stays_(stays) {
    // A backend does not tell its device, but its memory does.
    const Array<char> probe(backend, 1);
    device_ = device_of(probe.data());
    const CurrentDevice current(device_);
    arrival_ = std::make_unique<Event>();
    departure_ = std::make_unique<Event>();
  }

  // What is made with the backend may outlive its copies here, and the caller's stream.
  ~EventBridge() override {
    try {
      go_to(own_);
    } catch (const CudaError&) {
      // At the end of the process the driver may be gone already.
    }
    if (!Py_IsInitialized()) static_cast<void>(kept_.release());
  }
  EventBridge(const EventBridge&) = delete;
  EventBridge& operator=(const EventBridge&) = delete;

  void before(const CallerStreams& callers, Place place) override {
    ++depth_;
    try {
      // A call within one, of a callback, stays where that one is.
      if (depth_ == 1) choose(callers, place);
      for_each(callers, [this](cudaStream_t caller) { arrival_->order(caller, backend_.stream()); });
    } catch (...) {
      leave();
      throw;
    }
  }

  void after(const CallerStreams& callers) override {
    for_each(callers, [this](cudaStream_t caller) { departure_->order(backend_.stream(), caller); });
    if (callers.unknown) backend_.synchronize();
  }

  void leave() noexcept override {
    if (--depth_ > 0 || backend_.stream() == current_) return;
    try {
      backend_.set_stream(current_);
    } catch (const CudaError&) {
      // Only of handles of libraries, which have a stream then that they had before.
    }
  }

  int device() const noexcept override { return device_; }
  std::uintptr_t own_stream() const noexcept override { return reinterpret_cast<std::uintptr_t>(own_); }

 private:
  void choose(const CallerStreams& callers, Place place) {
    // The default stream of a thread is another one in the next thread.
    const bool can_follow = !stays_ && callers.can_be_kept() && callers.handles[0] != stream_of_thread;
    const cudaStream_t callers_own = can_follow ? reinterpret_cast<cudaStream_t>(callers.handles[0]) : own_;
    const cudaStream_t wanted = place == Place::callers ? callers_own : own_;
    if (wanted == current_) return;
    // Nothing outside of a capture can be ordered with it: the call works in it, and leave() goes back.
    if (are_capturing(callers)) return backend_.set_stream(callers_own);
    go_to(wanted);
    const nanobind::gil_scoped_acquire acquired;
    kept_ = wanted == own_ ? nanobind::object() : callers.kept;
  }

  /// The backend works there from now on, after what it did before.
  void go_to(cudaStream_t stream) {
    if (stream == current_) return;
    const CurrentDevice current(device_);
    departure_->record(stream);  // fails before anything is changed
    arrival_->order(current_, stream);
    backend_.set_stream(stream);
    current_ = stream;
  }

  bool are_capturing(const CallerStreams& callers) const {
    const CurrentDevice current(device_);
    for (const std::uintptr_t handle : callers.handles) {
      if (handle <= legacy_stream) continue;  // cannot be captured
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      check(cudaStreamIsCapturing(reinterpret_cast<cudaStream_t>(handle), &status), "cudaStreamIsCapturing");
      if (status != cudaStreamCaptureStatusNone) return true;
    }
    return false;
  }

  /// f(stream) for those on which the backend does not work anyway.
  template <class F>
  void for_each(const CallerStreams& callers, F&& f) const {
    for (const std::uintptr_t handle : callers.handles) {
      const auto caller = reinterpret_cast<cudaStream_t>(handle);
      if (caller == backend_.stream()) continue;
      // A default stream is that of the current device; any other knows its own.
      std::optional<CurrentDevice> current;
      if (handle <= stream_of_thread) current.emplace(device_);
      f(caller);
    }
  }

  Backend backend_;
  cudaStream_t own_, current_;  ///< where the backend works between calls
  nanobind::object kept_;       ///< of the current one
  bool stays_;
  int depth_ = 0;
  int device_ = 0;
  std::unique_ptr<Event> arrival_, departure_;
};

class MemoryWithStream : public MemoryResource {
 public:
  explicit MemoryWithStream(nanobind::object stream) : stream_(std::move(stream)) {}
  ~MemoryWithStream() override {
    // At the end of the process there may be no interpreter to give it back to.
    if (!Py_IsInitialized()) {
      static_cast<void>(stream_.release());
      return;
    }
    const nanobind::gil_scoped_acquire acquired;
    stream_.reset();
  }
  MemoryWithStream(const MemoryWithStream&) = delete;
  MemoryWithStream& operator=(const MemoryWithStream&) = delete;

  void* allocate(std::size_t bytes, CUstream_st* stream) override {
    void* pointer = nullptr;
    check(cudaMallocAsync(&pointer, bytes, stream),
          ("allocation of " + std::to_string(bytes) + " bytes by cudaMallocAsync").c_str());
    return pointer;
  }
  void deallocate(void* pointer, std::size_t, CUstream_st* stream) noexcept override {
    forget(cudaFreeAsync(pointer, stream));
  }

 private:
  nanobind::object stream_;
};

}  // namespace

std::shared_ptr<MemoryResource> memory_with(nanobind::object stream) {
  return std::make_shared<MemoryWithStream>(std::move(stream));
}

std::unique_ptr<StreamBridge> make_stream_bridge(const Backend& backend, bool stays) {
  return std::make_unique<EventBridge>(backend, stays);
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  return attributes.device;
}

}  // namespace blockjacobi::python
