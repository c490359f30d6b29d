#include "backend/host_kernels.hpp"

#include "core/message.hpp"

#include <blockjacobi/error.hpp>

namespace blockjacobi::detail {

// Made of host_kernels_of.cpp.in, each where cmake/HostIsas.cmake has it among BLOCKJACOBI_HOST_LEVELS.
HostKernels host_kernels_baseline(int threads);
HostKernels host_kernels_v2(int threads);
HostKernels host_kernels_v3(int threads);
HostKernels host_kernels_v4(int threads);

std::vector<Isa> compiled_isas() {
  return {
#if defined(BLOCKJACOBI_HOST_BASELINE)
    Isa::baseline,
#endif
#if defined(BLOCKJACOBI_HOST_V2)
        Isa::v2,
#endif
#if defined(BLOCKJACOBI_HOST_V3)
        Isa::v3,
#endif
#if defined(BLOCKJACOBI_HOST_V4)
        Isa::v4,
#endif
  };
}

HostKernels make_host_kernels(Isa isa, int threads) {
#if defined(BLOCKJACOBI_HOST_BASELINE)
  if (isa == Isa::baseline) return host_kernels_baseline(threads);
#endif
#if defined(BLOCKJACOBI_HOST_V2)
  if (isa == Isa::v2) return host_kernels_v2(threads);
#endif
#if defined(BLOCKJACOBI_HOST_V3)
  if (isa == Isa::v3) return host_kernels_v3(threads);
#endif
#if defined(BLOCKJACOBI_HOST_V4)
  if (isa == Isa::v4) return host_kernels_v4(threads);
#endif
  throw InvalidArgument(message("make_host_kernels: this library does not have {}", to_string(isa)));
}

}  // namespace blockjacobi::detail
