#include "kernels/global/store.cuh"

namespace blockjacobi::kernels {

template offset_t storage_scratch<detail::Complex<double>>(index_t, index_t);
template void repair_blocks(const SetupArguments<detail::Complex<double>>&, detail::Repair, std::span<const BlockGroup>,
                            const ScratchView<detail::Complex<double>>&, CUstream_st*);
template void choose_formats(const InvertedBlocks<detail::Complex<double>>&, double, detail::Format*,
                             std::span<const BlockGroup>, const ScratchView<detail::Complex<double>>&, CUstream_st*);
template void store_blocks(const InvertedBlocks<detail::Complex<double>>&, const StoreTarget&,
                           std::span<const BlockGroup>, const ScratchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
