#include "kernels/global/potri_blocked.cuh"

namespace blockjacobi::kernels {

template void potri_blocked(batched::Triangle, const MatrixBatchView<detail::Complex<double>>&, int*, CUstream_st*);
template void spd_inverse_blocked(batched::Triangle, const MatrixBatchView<const detail::Complex<double>>&,
                                  const MatrixBatchView<detail::Complex<double>>&, batched::SpdStorage, int*,
                                  const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
