#include "kernels/global/store.cuh"

namespace blockjacobi::kernels {

template offset_t storage_scratch<detail::Complex<float>>(index_t, index_t);
template void repair_blocks(const SetupArguments<detail::Complex<float>>&, detail::Repair, std::span<const BlockGroup>,
                            const ScratchView<detail::Complex<float>>&, CUstream_st*);
template void choose_formats(const InvertedBlocks<detail::Complex<float>>&, double, detail::Format*,
                             std::span<const BlockGroup>, const ScratchView<detail::Complex<float>>&, CUstream_st*);
template void store_blocks(const InvertedBlocks<detail::Complex<float>>&, const StoreTarget&,
                           std::span<const BlockGroup>, const ScratchView<detail::Complex<float>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
