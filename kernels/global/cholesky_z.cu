#include "kernels/global/cholesky.cuh"

namespace blockjacobi::kernels {

template void potri(batched::Triangle, const MatrixBatchView<detail::Complex<double>>&, int*, CUstream_st*);
template void spd_inverse(batched::Triangle, const MatrixBatchView<const detail::Complex<double>>&,
                          const MatrixBatchView<detail::Complex<double>>&, batched::SpdStorage, int*,
                          const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);
template void potrs(batched::Triangle, const MatrixBatchView<const detail::Complex<double>>&,
                    const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
