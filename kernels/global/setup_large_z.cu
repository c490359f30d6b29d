#include "kernels/global/setup_large.cuh"

namespace blockjacobi::kernels {

template void setup_large(const SetupArguments<detail::Complex<double>>&, const SlotRange&, CUstream_st*);

}  // namespace blockjacobi::kernels
