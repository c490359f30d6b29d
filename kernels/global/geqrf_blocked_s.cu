#include "kernels/global/geqrf_blocked.cuh"

namespace blockjacobi::kernels {

template void geqrf_blocked(const MatrixBatchView<float>&, float*, CUstream_st*);

}  // namespace blockjacobi::kernels
