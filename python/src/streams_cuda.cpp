#include "streams.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>

namespace blockjacobi::python {

namespace {

// 0, cudaStreamLegacy and cudaStreamPerThread.
constexpr std::uintptr_t last_default_stream = 2;

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

  /// What `later` gets from now on comes after what `earlier` holds now.
  void order(cudaStream_t earlier, cudaStream_t later) {
    check(cudaEventRecord(event_, earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class EventBridge : public StreamBridge {
 public:
  explicit EventBridge(const Backend& backend) : backend_(backend), stream_(backend.stream()) {
    // A backend does not tell its device, but its memory does.
    const Array<char> probe(backend, 1);
    device_ = device_of(probe.data());
    const CurrentDevice current(device_);
    arrival_ = std::make_unique<Event>();
    departure_ = std::make_unique<Event>();
  }

  void before(const CallerStreams& callers) override {
    for_each(callers, [this](cudaStream_t caller) { arrival_->order(caller, stream_); });
  }

  void after(const CallerStreams& callers) override {
    for_each(callers, [this](cudaStream_t caller) { departure_->order(stream_, caller); });
    if (callers.unknown) backend_.synchronize();
  }

  int device() const noexcept override { return device_; }

 private:
  /// f(stream) for those that are not the backend's own.
  template <class F>
  void for_each(const CallerStreams& callers, F&& f) const {
    for (const std::uintptr_t handle : callers.handles) {
      const auto caller = reinterpret_cast<cudaStream_t>(handle);
      if (caller == stream_) continue;
      // A default stream is that of the current device; any other knows its own.
      std::optional<CurrentDevice> current;
      if (handle <= last_default_stream) current.emplace(device_);
      f(caller);
    }
  }

  Backend backend_;
  cudaStream_t stream_;
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

std::unique_ptr<StreamBridge> make_stream_bridge(const Backend& backend) {
  return std::make_unique<EventBridge>(backend);
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  return attributes.device;
}

}  // namespace blockjacobi::python
