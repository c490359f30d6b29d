#include "kernels/global/geqrf_blocked.cuh"

namespace blockjacobi::kernels {

template void geqrf_blocked(const MatrixBatchView<double>&, double*, CUstream_st*);

}  // namespace blockjacobi::kernels
