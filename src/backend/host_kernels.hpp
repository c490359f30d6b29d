#pragma once

#include "backend/backend_impl.hpp"
#include "backend/host_isa.hpp"

#include <memory>
#include <vector>

namespace blockjacobi::detail {

/// The operations whose time goes into the arithmetic of dense blocks: compiled once for each instruction set, and
/// reached through these pointers alone.
struct HostKernels {
  template <Scalar T>
  struct Of {
    std::unique_ptr<BlockOps<T>> block;
    std::unique_ptr<BatchedOps<T>> batched;
  };
  Of<float> s;
  Of<double> d;
  Of<std::complex<float>> c;
  Of<std::complex<double>> z;
};

/// What the library has, the machine's abilities aside, the most capable last.
std::vector<Isa> compiled_isas();

/// Kernels of one of host_isas().
HostKernels make_host_kernels(Isa isa, int threads);

}  // namespace blockjacobi::detail
