#include "kernels/global/cholesky.cuh"

namespace blockjacobi::kernels {

template void potri(batched::Triangle, const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);
template void spd_inverse(batched::Triangle, const MatrixBatchView<const detail::Complex<float>>&,
                          const MatrixBatchView<detail::Complex<float>>&, batched::SpdStorage, int*,
                          const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);
template void potrs(batched::Triangle, const MatrixBatchView<const detail::Complex<float>>&,
                    const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
