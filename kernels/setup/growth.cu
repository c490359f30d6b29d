#include "kernels/launch/check.hpp"
#include "kernels/scratch.hpp"
#include "kernels/setup/cta_block.cuh"
#include "kernels/setup/launch.hpp"
#include "kernels/slots.hpp"
#include "kernels/storage/policy.hpp"

namespace blockjacobi::kernels {

namespace {

/// The largest modulus of the elements (i, j) of a block that are taken; NaN if one of them is.
template <class C, class Taken>
__device__ auto largest_modulus(const CtaBlock<C>& block, Taken taken) {
  using R = detail::arithmetic_real_t<C>;
  R largest = 0;
  block.for_each_element([&](int i, int j) {
    if (taken(i, j)) largest = LargerOrNan<R>{}(largest, detail::modulus(block.at(i, j)));
  });
  return cta_reduce(largest, block.scratch.reals, LargerOrNan<R>{});
}

/// visit(s, slot, block) for the slots of the range, by whole thread blocks.
template <class C, class Visit>
__device__ void for_each_block(const GrowthArguments<C>& arguments, const SlotRange& range, Visit visit) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ CtaBlockScratch<C> scratch;
  for (offset_t s = range.first + offset_t{blockIdx.x}; s < range.first + offset_t{range.count}; s += gridDim.x) {
    const BlockSlot slot = arguments.slots[s];
    visit(s, slot, CtaBlock<C>(arguments.work + slot.start, slot.size, 0, shared, scratch));
  }
}

template <class C>
__global__ void __launch_bounds__(storage_threads(max_block_size))
    extract_equilibrated_kernel(const GrowthArguments<C> arguments, const SlotRange range) {
  using R = detail::arithmetic_real_t<C>;
  for_each_block(arguments, range, [&](offset_t s, const BlockSlot& slot, const CtaBlock<C>& block) {
    block.extract(arguments.values, arguments.map, s);
    const bool finite = block.first_non_finite() == INT_MAX;
    if (finite) block.equilibrate();
    const R largest = largest_modulus(block, [](int, int) { return true; });
    if (threadIdx.x == 0) arguments.growth[slot.block] = finite ? largest : R(0) / R(0);
  });
}

template <class C>
__global__ void __launch_bounds__(storage_threads(max_block_size))
    growth_of_factors_kernel(const GrowthArguments<C> arguments, const SlotRange range) {
  using R = detail::arithmetic_real_t<C>;
  for_each_block(arguments, range, [&](offset_t, const BlockSlot& slot, const CtaBlock<C>& block) {
    const R largest = largest_modulus(block, [](int i, int j) { return i <= j; });
    R& growth = arguments.growth[slot.block];
    if (threadIdx.x == 0) growth = detail::growth_between(growth, largest);
  });
}

/// Orders up to these bounds share a launch.
constexpr int growth_bounds[] = {largest_tiny_order, max_block_size};

template <class C>
void launch_growth(void (*kernel)(GrowthArguments<C>, SlotRange), const GrowthArguments<C>& arguments,
                   std::span<const BlockGroup> groups, CUstream_st* stream) {
  for_each_class(groups, 0, growth_bounds, [&](const SlotRange& range) {
    const auto ctas = static_cast<unsigned>(std::min<offset_t>(range.count, most_scratch_ctas));
    const auto threads = static_cast<unsigned>(storage_threads(range.largest));
    kernel<<<ctas, threads, cta_block_bytes<C>(range.largest, 0), stream>>>(arguments, range);
    check_launch("pivot_growth");
  });
}

}  // namespace

template <class C>
void extract_equilibrated(const GrowthArguments<C>& arguments, std::span<const BlockGroup> groups,
                          CUstream_st* stream) {
  launch_growth<C>(extract_equilibrated_kernel<C>, arguments, groups, stream);
}

template <class C>
void growth_of_factors(const GrowthArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream) {
  launch_growth<C>(growth_of_factors_kernel<C>, arguments, groups, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                          \
  template void extract_equilibrated(const GrowthArguments<C>&, std::span<const BlockGroup>, CUstream_st*); \
  template void growth_of_factors(const GrowthArguments<C>&, std::span<const BlockGroup>, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
