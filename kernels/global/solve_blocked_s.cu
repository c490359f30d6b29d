#include "kernels/global/solve_blocked.cuh"

namespace blockjacobi::kernels {

template void getrs_blocked(Op, const MatrixBatchView<const float>&, const index_t*, const MatrixBatchView<float>&,
                            CUstream_st*);
template void potrs_blocked(batched::Triangle, const MatrixBatchView<const float>&, const MatrixBatchView<float>&,
                            CUstream_st*);

}  // namespace blockjacobi::kernels
