#include "kernels/global/geqrf.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<double>&, double*, CUstream_st*);

}  // namespace blockjacobi::kernels
