#include "kernels/global/store.cuh"

namespace blockjacobi::kernels {

template offset_t storage_scratch<double>(index_t, index_t);
template void repair_blocks(const SetupArguments<double>&, detail::Repair, std::span<const BlockGroup>,
                            const ScratchView<double>&, CUstream_st*);
template void choose_formats(const InvertedBlocks<double>&, double, detail::Format*, std::span<const BlockGroup>,
                             const ScratchView<double>&, CUstream_st*);
template void store_blocks(const InvertedBlocks<double>&, const StoreTarget&, std::span<const BlockGroup>,
                           const ScratchView<double>&, CUstream_st*);

}  // namespace blockjacobi::kernels
