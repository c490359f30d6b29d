#include "kernels/global/geqrf.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<float>&, float*, CUstream_st*);

}  // namespace blockjacobi::kernels
