#pragma once

#include "kernels/launch/check.hpp"
#include "kernels/storage/cta_kernels.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

template <class C, class Launch>
void launch_store(std::span<const BlockGroup> groups, const ScratchView<C>& scratch, Launch launch) {
  for_each_class(groups, 0, store_bounds, [&](const SlotRange& range) {
    // Formats that need no scratch come without.
    const unsigned ctas = scratch.size == 0 ? static_cast<unsigned>(std::min<offset_t>(range.count, most_scratch_ctas))
                                            : ctas_with_scratch(scratch, range.largest, range.count);
    launch(range, ctas, static_cast<unsigned>(storage_threads(range.largest)));
    check_launch("store");
  });
}

template <class C>
void choose_formats(const InvertedBlocks<C>& blocks, double accuracy, detail::Format* formats,
                    std::span<const BlockGroup> groups, const ScratchView<C>& scratch, CUstream_st* stream) {
  launch_store(groups, scratch, [&](const SlotRange& range, unsigned grid, unsigned threads) {
    choose_formats_kernel<C><<<grid, threads, 0, stream>>>(blocks, range, accuracy, formats, scratch.data);
  });
}

template <class C>
void store_blocks(const InvertedBlocks<C>& blocks, const StoreTarget& target, std::span<const BlockGroup> groups,
                  const ScratchView<C>& scratch, CUstream_st* stream) {
  launch_store(groups, scratch, [&](const SlotRange& range, unsigned grid, unsigned threads) {
    store_kernel<C><<<grid, threads, 0, stream>>>(blocks, range, target, scratch.data);
  });
}

}  // namespace blockjacobi::kernels
