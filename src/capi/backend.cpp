#include "capi/handles.hpp"

using namespace blockjacobi;
using capi::guarded;
using capi::required;

bj_status bj_backend_create_host(std::int32_t threads, bj_backend** backend) {
  return guarded("bj_backend_create_host",
                 [&] { capi::hand_out(backend, "backend", [&] { return Backend::host(threads); }); });
}

bj_status bj_backend_create_cuda(std::int32_t device, bj_backend** backend) {
  return guarded("bj_backend_create_cuda",
                 [&] { capi::hand_out(backend, "backend", [&] { return Backend::cuda(device); }); });
}

bj_status bj_backend_create_cuda_stream(std::int32_t device, CUstream_st* stream, bj_backend** backend) {
  return guarded("bj_backend_create_cuda_stream",
                 [&] { capi::hand_out(backend, "backend", [&] { return Backend::cuda(device, stream); }); });
}

bj_status bj_backend_destroy(bj_backend* backend) {
  return guarded("bj_backend_destroy", [&] { delete backend; });
}

bj_status bj_cuda_available(std::int32_t* available) {
  return guarded("bj_cuda_available", [&] { *required(available, "available") = Backend::cuda_available() ? 1 : 0; });
}

bj_status bj_backend_space(const bj_backend* backend, bj_space* space) {
  return guarded("bj_backend_space", [&] {
    *required(space, "space") = static_cast<bj_space>(required(backend, "backend")->value.memory_space());
  });
}

bj_status bj_backend_synchronize(const bj_backend* backend) {
  return guarded("bj_backend_synchronize", [&] { required(backend, "backend")->value.synchronize(); });
}

bj_status bj_backend_text(const bj_backend* backend, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_backend_text",
                 [&] { capi::copy_text(required(backend, "backend")->value.description(), buffer, size, length); });
}
