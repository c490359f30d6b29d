#include "kernels/global/cholesky.cuh"

namespace blockjacobi::kernels {

template void potri(batched::Triangle, const MatrixBatchView<float>&, int*, CUstream_st*);
template void spd_inverse(batched::Triangle, const MatrixBatchView<const float>&, const MatrixBatchView<float>&,
                          batched::SpdStorage, int*, const MatrixBatchView<float>&, CUstream_st*);
template void potrs(batched::Triangle, const MatrixBatchView<const float>&, const MatrixBatchView<float>&,
                    CUstream_st*);

}  // namespace blockjacobi::kernels
