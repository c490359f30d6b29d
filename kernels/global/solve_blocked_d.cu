#include "kernels/global/solve_blocked.cuh"

namespace blockjacobi::kernels {

template void getrs_blocked(Op, const MatrixBatchView<const double>&, const index_t*, const MatrixBatchView<double>&,
                            CUstream_st*);
template void potrs_blocked(batched::Triangle, const MatrixBatchView<const double>&, const MatrixBatchView<double>&,
                            CUstream_st*);

}  // namespace blockjacobi::kernels
