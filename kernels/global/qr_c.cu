#include "kernels/global/qr.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<detail::Complex<float>>&, detail::Complex<float>*, CUstream_st*);
template void pseudo_inverse(const MatrixBatchView<const detail::Complex<float>>&,
                             const MatrixBatchView<detail::Complex<float>>&, double, index_t*, CUstream_st*);

}  // namespace blockjacobi::kernels
