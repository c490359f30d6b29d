#include "kernels/global/potrf_blocked.cuh"

namespace blockjacobi::kernels {

template void potrf_blocked(batched::Triangle, const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
