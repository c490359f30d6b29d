#include "kernels/global/cholesky.cuh"

namespace blockjacobi::kernels {

template void potri(batched::Triangle, const MatrixBatchView<double>&, int*, CUstream_st*);
template void spd_inverse(batched::Triangle, const MatrixBatchView<const double>&, const MatrixBatchView<double>&,
                          batched::SpdStorage, int*, const MatrixBatchView<double>&, CUstream_st*);
template void potrs(batched::Triangle, const MatrixBatchView<const double>&, const MatrixBatchView<double>&,
                    CUstream_st*);

}  // namespace blockjacobi::kernels
