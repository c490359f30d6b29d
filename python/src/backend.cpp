#include "backend.hpp"

#include "arrays.hpp"

#include <blockjacobi/error.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>

namespace blockjacobi::python {

void CallerStreams::add(std::uintptr_t handle) {
  if (std::find(handles.begin(), handles.end(), handle) == handles.end()) handles.push_back(handle);
}

PythonBackend PythonBackend::host(int threads) { return PythonBackend(Backend::host(threads)); }

PythonBackend PythonBackend::cuda(std::optional<int> device, nb::object stream) {
  if (!stream.is_none() && !device)
    throw InvalidArgument("Backend.cuda: a stream was given without the number of its device");
  PythonBackend backend(stream.is_none() ? (device ? Backend::cuda(*device) : Backend::cuda())
                                         : Backend::cuda(*device, reinterpret_cast<CUstream_st*>(stream_of(stream)),
                                                         memory_with(stream)));
  backend.cuda_ = std::make_shared<Cuda>();
  backend.cuda_->bridge = make_stream_bridge(backend.value_, !stream.is_none());
  return backend;
}

void bind_backend(nb::module_& module) {
  nb::class_<PythonBackend>(module, "Backend", R"(Where to compute: CPU threads, or a CUDA device and stream.

Copies are the same backend. Host backends serve several threads at once; on CUDA threads take turns, which the package
sees to.)")
      .def_static("host", &PythonBackend::host, nb::arg("threads") = 0,
                  R"(CPU threads.

Parameters
----------
threads : int
    1 to 1024; 0 takes what OpenMP has (``OMP_NUM_THREADS``, else all cores).

Raises
------
InvalidArgument
    For another number of threads.)")
      .def_static("cuda", &PythonBackend::cuda, nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
                  nb::sig("def cuda(device: int | None = None, stream: object | None = None) -> Backend"),
                  R"(A CUDA device.

Parameters
----------
device : int, optional
    Number of the device; the first that can be used if None.
stream : optional
    A stream to work on: a ``cupy.cuda.Stream``, a ``torch.cuda.Stream``, an object with ``__cuda_stream__``, or the
    handle as an int. It is kept alive. None takes a stream of the backend's own; events order it behind the stream
    that is the caller's current one, and that behind it, in every call. Applications of preconditioners to arrays of
    CuPy then run on CuPy's current stream itself.

Raises
------
BackendUnavailable
    If the package was built without CUDA, or the device is not there or cannot run the kernels.
InvalidArgument
    For a stream without a device.)")
      .def_prop_ro(
          "kind", [](const PythonBackend& self) { return self.on_host() ? "host" : "cuda"; }, R"("host" or "cuda".)")
      .def_prop_ro(
          "threads", [](const PythonBackend& self) { return self.value().threads(); },
          "Threads of a host backend; 1 on CUDA.")
      .def_prop_ro(
          "stream", [](const PythonBackend& self) { return self.stream(); }, "Handle of the stream; 0 on the host.")
      .def(
          "synchronize", [](const PythonBackend& self) { self.run({}, [&] { self.value().synchronize(); }); },
          "Wait for everything enqueued.")
      .def(
          "__eq__",
          [](const PythonBackend& a, const nb::object& b) {
            PythonBackend* other = nullptr;
            return nb::try_cast(b, other) && other != nullptr && a == *other;
          },
          nb::arg("other").none())
      .def("__hash__", [](const PythonBackend& self) { return std::hash<const void*>{}(&self.value().impl()); })
      .def("__repr__",
           [](const PythonBackend& self) { return "<blockjacobi.Backend: " + self.value().description() + ">"; });
  module.def("cuda_available", &Backend::cuda_available,
             "Whether the package was built with CUDA and there is a device that can run its kernels.");
}

}  // namespace blockjacobi::python
