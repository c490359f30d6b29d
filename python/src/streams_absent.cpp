#include "streams.hpp"

#include <blockjacobi/error.hpp>

namespace blockjacobi::python {

std::shared_ptr<MemoryResource> memory_with(nanobind::object) { return nullptr; }

std::unique_ptr<StreamBridge> make_stream_bridge(const Backend&, bool) {
  throw BackendUnavailable("this build of the Python package has no CUDA");
}

int device_of(const void*) {
  throw BackendUnavailable(
      "the array lies in device memory, and this build of the Python package has no CUDA: build it with "
      "-C cmake.define.BLOCKJACOBI_GPU=cuda");
}

}  // namespace blockjacobi::python
