#include "kernels/global/pseudo_inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse_blocked(const MatrixBatchView<const double>&, const MatrixBatchView<double>&, double,
                                     index_t*, const MatrixBatchView<double>&, CUstream_st*);

}  // namespace blockjacobi::kernels
