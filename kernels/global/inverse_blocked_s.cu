#include "kernels/global/inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void inverse_blocked(const MatrixBatchView<const float>&, const MatrixBatchView<float>&, int*, CUstream_st*);
template void getri_blocked(const MatrixBatchView<const float>&, const index_t*, const MatrixBatchView<float>&, int*,
                            CUstream_st*);

}  // namespace blockjacobi::kernels
