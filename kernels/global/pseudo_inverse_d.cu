#include "kernels/global/pseudo_inverse.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse(const MatrixBatchView<const double>&, const MatrixBatchView<double>&, double, index_t*,
                             const MatrixBatchView<double>&, CUstream_st*);

}  // namespace blockjacobi::kernels
