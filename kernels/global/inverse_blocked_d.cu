#include "kernels/global/inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void inverse_blocked(const MatrixBatchView<const double>&, const MatrixBatchView<double>&, int*, CUstream_st*);
template void getri_blocked(const MatrixBatchView<const double>&, const index_t*, const MatrixBatchView<double>&, int*,
                            CUstream_st*);

}  // namespace blockjacobi::kernels
