#include "kernels/global/lu_solve.cuh"

namespace blockjacobi::kernels {

template void getri(const MatrixBatchView<const double>&, const index_t*, const MatrixBatchView<double>&, int*,
                    CUstream_st*);
template void getrs(batched::Op, const MatrixBatchView<const double>&, const index_t*, const MatrixBatchView<double>&,
                    CUstream_st*);

}  // namespace blockjacobi::kernels
