#include "kernels/global/potrf.cuh"

namespace blockjacobi::kernels {

template void potrf(batched::Triangle, const MatrixBatchView<detail::Complex<double>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
