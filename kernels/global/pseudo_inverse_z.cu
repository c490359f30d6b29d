#include "kernels/global/pseudo_inverse.cuh"

namespace blockjacobi::kernels {

template void pseudo_inverse(const MatrixBatchView<const detail::Complex<double>>&,
                             const MatrixBatchView<detail::Complex<double>>&, double, index_t*,
                             const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
