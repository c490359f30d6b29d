#include "kernels/global/inverse.cuh"

namespace blockjacobi::kernels {

template void inverse(const MatrixBatchView<const float>&, const MatrixBatchView<float>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
