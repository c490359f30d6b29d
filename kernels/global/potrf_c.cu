#include "kernels/global/potrf.cuh"

namespace blockjacobi::kernels {

template void potrf(batched::Triangle, const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
