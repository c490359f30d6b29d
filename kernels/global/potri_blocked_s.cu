#include "kernels/global/potri_blocked.cuh"

namespace blockjacobi::kernels {

template void potri_blocked(batched::Triangle, const MatrixBatchView<float>&, int*, CUstream_st*);
template void spd_inverse_blocked(batched::Triangle, const MatrixBatchView<const float>&, const MatrixBatchView<float>&,
                                  batched::SpdStorage, int*, const MatrixBatchView<float>&, CUstream_st*);

}  // namespace blockjacobi::kernels
