#include "kernels/global/setup_tiny.cuh"

namespace blockjacobi::kernels {

template void setup_tiny(const SetupArguments<detail::Complex<double>>&, const SlotRange&, int, CUstream_st*);

}  // namespace blockjacobi::kernels
