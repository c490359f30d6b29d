#include "backend/backend_impl.hpp"
#include "backend/range.hpp"

#include <blockjacobi/error.hpp>

namespace blockjacobi::detail {

namespace {

[[noreturn]] void throw_absent() {
  throw BackendUnavailable("Backend::cuda: this library was built without CUDA (BLOCKJACOBI_GPU=none)");
}

}  // namespace

std::shared_ptr<BackendImpl> make_cuda_backend(int) { throw_absent(); }

std::shared_ptr<BackendImpl> make_cuda_backend(int, CUstream_st*, std::shared_ptr<MemoryResource>) { throw_absent(); }

std::optional<int> usable_cuda_device() noexcept { return std::nullopt; }

void begin_range(const char*) noexcept {}
void end_range() noexcept {}

}  // namespace blockjacobi::detail
