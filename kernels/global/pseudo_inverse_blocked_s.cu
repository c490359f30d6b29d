#include "kernels/global/pseudo_inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse_blocked(const MatrixBatchView<const float>&, const MatrixBatchView<float>&, double,
                                     index_t*, const MatrixBatchView<float>&, CUstream_st*);

}  // namespace blockjacobi::kernels
