#pragma once

#include <blockjacobi/backend.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace blockjacobi::python {

/// The streams on which the arrays of a call are written and read by their library.
struct CallerStreams {
  std::vector<std::uintptr_t> handles;
  /// An array came with no stream: whoever reads the result cannot be made to wait for it, so that the call has to.
  bool unknown = false;
  /// CuPy's current stream is among the handles.
  bool has_cupys = false;

  void add(std::uintptr_t handle);
};

/// Order between the callers' streams and that of a CUDA backend, by events: nothing waits on the host, and a capture
/// of the caller's stream takes the backend's into the same graph.
class StreamBridge {
 public:
  virtual ~StreamBridge() = default;
  /// The backend's stream waits for what the callers' hold now.
  virtual void before(const CallerStreams& callers) = 0;
  /// The callers' streams wait for what the backend's holds now.
  virtual void after(const CallerStreams& callers) = 0;
  /// Number of the backend's device.
  virtual int device() const noexcept = 0;
};

/// Throws BackendUnavailable in a build without CUDA.
[[nodiscard]] std::unique_ptr<StreamBridge> make_stream_bridge(const Backend& backend);

/// Memory of CUDA for a backend on the stream of a Python object, which stays alive as long as the backend: whatever
/// was made on it gives its memory back in the order of that stream.
[[nodiscard]] std::shared_ptr<MemoryResource> memory_with(nanobind::object stream);

/// Number of the device that the memory belongs to. Throws BackendUnavailable in a build without CUDA.
[[nodiscard]] int device_of(const void* pointer);

}  // namespace blockjacobi::python
