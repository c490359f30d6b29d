#include "kernels/global/store.cuh"

namespace blockjacobi::kernels {

template offset_t storage_scratch<float>(index_t, index_t);
template void repair_blocks(const SetupArguments<float>&, detail::Repair, std::span<const BlockGroup>,
                            const ScratchView<float>&, CUstream_st*);
template void choose_formats(const InvertedBlocks<float>&, double, detail::Format*, std::span<const BlockGroup>,
                             const ScratchView<float>&, CUstream_st*);
template void store_blocks(const InvertedBlocks<float>&, const StoreTarget&, std::span<const BlockGroup>,
                           const ScratchView<float>&, CUstream_st*);

}  // namespace blockjacobi::kernels
