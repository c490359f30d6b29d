#include "kernels/global/getrf_blocked.cuh"

namespace blockjacobi::kernels {

template void getrf_blocked(const MatrixBatchView<double>&, index_t*, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
