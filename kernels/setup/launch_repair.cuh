#pragma once

#include "kernels/setup/launch.cuh"
#include "kernels/setup/repair_kernels.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

template <class C>
void repair_blocks(const SetupArguments<C>& arguments, detail::Repair repair,
                   const detail::arithmetic_real_t<C>* rounding_scales, std::span<const BlockGroup> groups,
                   const ScratchView<C>& scratch, CUstream_st* stream) {
  const SlotRange range = slots_of_orders(groups, 0, max_block_size);
  if (range.count == 0) return;
  if (rounding_scales != nullptr) {
    const auto ctas = static_cast<unsigned>(range.count),
               threads = static_cast<unsigned>(storage_threads(range.largest));
    reject_rounding_kernel<C><<<ctas, threads, 0, stream>>>(arguments, range, rounding_scales);
    check_launch("reject_rounding_kernel");
  }
  const offset_t work = (static_cast<offset_t>(range.count) + 31) / 32;
  if (repair == detail::Repair::shift) {
    const auto kernel = repair_shift_kernel<C>;
    const int panel = widest_panel<C>(range.largest, allow_all_shared(kernel));
    const auto ctas = static_cast<unsigned>(std::min<offset_t>(work, most_scratch_ctas));
    kernel<<<ctas, repair_threads, cta_block_bytes<C>(range.largest, panel), stream>>>(arguments, range, panel);
  } else {
    const auto kernel = repair_pseudo_inverse_kernel<C>;
    static_cast<void>(allow_all_shared(kernel));
    const std::size_t bytes = sizeof(C) * static_cast<std::size_t>(repair_threads / 32 * range.largest) +
                              cta_block_bytes<C>(range.largest, 1);
    kernel<<<ctas_with_scratch(scratch, range.largest, work), repair_threads, bytes, stream>>>(
        arguments, range, rounding_scales, scratch.data);
  }
  check_launch("repair");
}

}  // namespace blockjacobi::kernels
