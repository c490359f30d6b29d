#include "kernels/global/qr.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<detail::Complex<double>>&, detail::Complex<double>*, CUstream_st*);
template void pseudo_inverse(const MatrixBatchView<const detail::Complex<double>>&,
                             const MatrixBatchView<detail::Complex<double>>&, double, index_t*, CUstream_st*);

}  // namespace blockjacobi::kernels
