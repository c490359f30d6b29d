#pragma once

#include "streams.hpp"

#include <blockjacobi/backend.hpp>

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace blockjacobi::python {

namespace nb = nanobind;

/// A Backend with what Python callers need beside it: on CUDA a lock, since threads take turns there, and the bridge to
/// their streams.
class PythonBackend {
 public:
  [[nodiscard]] static PythonBackend host(int threads);
  /// `stream` is None for a stream of the backend's own, else what stream_of() takes.
  [[nodiscard]] static PythonBackend cuda(std::optional<int> device, nb::object stream);

  const Backend& value() const noexcept { return value_; }
  bool on_host() const noexcept { return cuda_ == nullptr; }
  /// Number of the device; not of a host backend.
  int device() const noexcept { return cuda_->bridge->device(); }
  /// 0 on the host.
  std::uintptr_t stream() const noexcept { return cuda_ == nullptr ? 0 : cuda_->bridge->own_stream(); }

  /// f() without the GIL. On CUDA one caller at a time, after what the callers' streams hold so far and before what
  /// they are given next.
  template <class F>
  auto run(const CallerStreams& callers, F&& f, Place place = Place::own) const {
    const nb::gil_scoped_release released;
    if (cuda_ == nullptr) return f();
    const Turn turn(*cuda_, callers, place);
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      cuda_->bridge->after(callers);
    } else {
      auto result = f();
      cuda_->bridge->after(callers);
      return result;
    }
  }

  friend bool operator==(const PythonBackend& a, const PythonBackend& b) noexcept { return a.value_ == b.value_; }

 private:
  struct Cuda {
    std::recursive_mutex mutex;  ///< the progress callback of a solve may call too
    std::unique_ptr<StreamBridge> bridge;
  };
  class Turn {
   public:
    Turn(Cuda& cuda, const CallerStreams& callers, Place place) : lock_(cuda.mutex), bridge_(*cuda.bridge) {
      bridge_.before(callers, place);
    }
    ~Turn() { bridge_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const std::lock_guard<std::recursive_mutex> lock_;
    StreamBridge& bridge_;
  };
  explicit PythonBackend(Backend value) : value_(std::move(value)) {}
  Backend value_;
  std::shared_ptr<Cuda> cuda_;
};

void bind_backend(nb::module_& module);

}  // namespace blockjacobi::python
