#pragma once

#include <blockjacobi/backend.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace blockjacobi::python {

/// The handle of the legacy default stream in array interfaces; CuPy's is 0.
inline constexpr std::uintptr_t legacy_stream = 1;

/// The streams on which the arrays of a call are written and read by their library.
struct CallerStreams {
  std::vector<std::uintptr_t> handles;
  /// An array came with no stream: whoever reads the result cannot be made to wait for it, so that the call has to.
  bool unknown = false;
  /// CuPy's current stream is among the handles.
  bool has_cupys = false;
  /// CuPy's if it is a stream that lives as long as it is referred to.
  nanobind::object kept;

  void add(std::uintptr_t handle);
  /// It is the only one.
  bool can_be_kept() const noexcept { return kept.is_valid() && handles.size() == 1 && !unknown; }
};

/// Where a call enqueues its work: on the backend's own stream, or on the caller's where that is one that can be kept.
enum class Place { own, callers };

/// Order between the callers' streams and that of a CUDA backend, by events: nothing waits on the host, and a capture
/// of the caller's stream takes the backend's into the same graph. Calls of Place::callers in a row from one stream
/// need no events: the backend goes over to that stream with the first, and stays there until it is called from
/// elsewhere.
class StreamBridge {
 public:
  virtual ~StreamBridge() = default;
  /// The backend's stream waits for what the callers' hold now.
  virtual void before(const CallerStreams& callers, Place place) = 0;
  /// The callers' streams wait for what the backend's holds now.
  virtual void after(const CallerStreams& callers) = 0;
  /// Ends what before() began, also where after() was not reached.
  virtual void leave() noexcept = 0;
  /// Number of the backend's device.
  virtual int device() const noexcept = 0;
  /// That which is not the caller's.
  virtual std::uintptr_t own_stream() const noexcept = 0;
};

/// Throws BackendUnavailable in a build without CUDA. `stays`: all calls are of Place::own, since the stream is one
/// that the user chose.
[[nodiscard]] std::unique_ptr<StreamBridge> make_stream_bridge(const Backend& backend, bool stays);

/// Memory of CUDA for a backend on the stream of a Python object, which stays alive as long as the backend: whatever
/// was made on it gives its memory back in the order of that stream.
[[nodiscard]] std::shared_ptr<MemoryResource> memory_with(nanobind::object stream);

/// Number of the device that the memory belongs to. Throws BackendUnavailable in a build without CUDA.
[[nodiscard]] int device_of(const void* pointer);

}  // namespace blockjacobi::python
