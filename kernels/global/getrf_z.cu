#include "kernels/global/getrf.cuh"

namespace blockjacobi::kernels {

template void getrf(const MatrixBatchView<detail::Complex<double>>&, index_t*, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
