#include "kernels/global/pseudo_inverse.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse(const MatrixBatchView<const float>&, const MatrixBatchView<float>&, double, index_t*,
                             const MatrixBatchView<float>&, CUstream_st*);

}  // namespace blockjacobi::kernels
