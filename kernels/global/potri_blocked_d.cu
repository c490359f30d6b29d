#include "kernels/global/potri_blocked.cuh"

namespace blockjacobi::kernels {

template void potri_blocked(batched::Triangle, const MatrixBatchView<double>&, int*, CUstream_st*);
template void spd_inverse_blocked(batched::Triangle, const MatrixBatchView<const double>&,
                                  const MatrixBatchView<double>&, batched::SpdStorage, int*,
                                  const MatrixBatchView<double>&, CUstream_st*);

}  // namespace blockjacobi::kernels
