#include "kernels/global/pseudo_inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse_blocked(const MatrixBatchView<const detail::Complex<float>>&,
                                     const MatrixBatchView<detail::Complex<float>>&, double, index_t*,
                                     const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
