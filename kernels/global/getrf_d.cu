#include "kernels/global/getrf.cuh"

namespace blockjacobi::kernels {

template void getrf(const MatrixBatchView<double>&, index_t*, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
