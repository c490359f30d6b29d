#include "kernels/global/setup_tiny.cuh"

namespace blockjacobi::kernels {

template void setup_tiny(const SetupArguments<detail::Complex<float>>&, const SlotRange&, CUstream_st*);

}  // namespace blockjacobi::kernels
