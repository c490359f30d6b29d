#include "kernels/check.hpp"
#include "kernels/global/setup.cuh"
#include "kernels/launch.hpp"
#include "kernels/tuning/setup.hpp"

namespace blockjacobi::kernels {

namespace {

/// Classes of the tiny set-up; each serves the orders up to it.
constexpr int tiny_classes[] = {4, 8, 12, 16, 20, 24, 28, 32};

}  // namespace

template <class C>
void setup_blocks(const SetupArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream) {
  check(cudaMemsetAsync(arguments.defects, 0, sizeof(int), stream), "cudaMemsetAsync(defects)");
  for_each_class(groups, 0, tiny_classes, [&](const SlotRange& range) { setup_tiny(arguments, range, stream); });
  for_each_class(groups, largest_tiny_order, block_setup_bounds,
                 [&](const SlotRange& range) { setup_large(arguments, range, stream); });
}

template void setup_blocks(const SetupArguments<float>&, std::span<const BlockGroup>, CUstream_st*);
template void setup_blocks(const SetupArguments<double>&, std::span<const BlockGroup>, CUstream_st*);
template void setup_blocks(const SetupArguments<detail::Complex<float>>&, std::span<const BlockGroup>, CUstream_st*);
template void setup_blocks(const SetupArguments<detail::Complex<double>>&, std::span<const BlockGroup>, CUstream_st*);

}  // namespace blockjacobi::kernels
