#include "backend/backend_impl.hpp"

#include <blockjacobi/error.hpp>

namespace blockjacobi {

Backend Backend::host(int threads) {
  if (threads < 0 || threads > 1024)
    throw InvalidArgument("Backend::host: threads is " + std::to_string(threads) + ", must be in 0..1024");
  return Backend(detail::make_host_backend(threads));
}

Backend Backend::cuda() { return cuda(detail::usable_cuda_device().value_or(0)); }

Backend Backend::cuda(int device) { return Backend(detail::make_cuda_backend(device)); }

Backend Backend::cuda(int device, CUstream_st* stream, std::shared_ptr<MemoryResource> resource) {
  return Backend(detail::make_cuda_backend(device, stream, std::move(resource)));
}

bool Backend::cuda_available() noexcept { return detail::usable_cuda_device().has_value(); }

BackendKind Backend::kind() const noexcept { return impl_->kind(); }
MemorySpace Backend::memory_space() const noexcept { return impl_->space(); }
std::string Backend::description() const { return impl_->description(); }
CUstream_st* Backend::stream() const noexcept { return impl_->stream(); }
void Backend::set_stream(CUstream_st* stream) const { impl_->set_stream(stream); }
int Backend::threads() const noexcept { return impl_->threads(); }
void Backend::synchronize() const { impl_->synchronize(); }

}  // namespace blockjacobi
