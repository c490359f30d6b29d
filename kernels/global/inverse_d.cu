#include "kernels/global/inverse.cuh"

namespace blockjacobi::kernels {

template void inverse(const MatrixBatchView<const double>&, const MatrixBatchView<double>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
