#include "kernels/global/setup_large.cuh"

namespace blockjacobi::kernels {

template void setup_large(const SetupArguments<float>&, const SlotRange&, CUstream_st*);

}  // namespace blockjacobi::kernels
