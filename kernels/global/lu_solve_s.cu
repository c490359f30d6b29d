#include "kernels/global/lu_solve.cuh"

namespace blockjacobi::kernels {

template void getri(const MatrixBatchView<const float>&, const index_t*, const MatrixBatchView<float>&, int*,
                    CUstream_st*);
template void getrs(batched::Op, const MatrixBatchView<const float>&, const index_t*, const MatrixBatchView<float>&,
                    CUstream_st*);

}  // namespace blockjacobi::kernels
