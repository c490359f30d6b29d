#include "streams.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace blockjacobi::python {

namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw CudaError(static_cast<int>(status), std::string(call) + ": " + cudaGetErrorName(status) + ", " +
                                                cudaGetErrorString(status) + " (blockjacobi for Python)");
}

/// Events belong to the device that is current when they are made.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(previous_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(event_); }
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
    for (const std::uintptr_t handle : callers.handles) {
      const auto caller = reinterpret_cast<cudaStream_t>(handle);
      if (caller == stream_) continue;
      const CurrentDevice current(device_);
      arrival_->order(caller, stream_);
    }
  }

  void after(const CallerStreams& callers) override {
    for (const std::uintptr_t handle : callers.handles) {
      const auto caller = reinterpret_cast<cudaStream_t>(handle);
      if (caller == stream_) continue;
      const CurrentDevice current(device_);
      departure_->order(stream_, caller);
    }
    if (callers.unknown) backend_.synchronize();
  }

 private:
  Backend backend_;
  cudaStream_t stream_;
  int device_ = 0;
  std::unique_ptr<Event> arrival_, departure_;
};

}  // namespace

std::unique_ptr<StreamBridge> make_stream_bridge(const Backend& backend) {
  return std::make_unique<EventBridge>(backend);
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  return attributes.device;
}

}  // namespace blockjacobi::python
