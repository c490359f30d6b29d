#include "kernels/global/pseudo_inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse_blocked(const MatrixBatchView<const detail::Complex<double>>&,
                                     const MatrixBatchView<detail::Complex<double>>&, double, index_t*,
                                     const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
