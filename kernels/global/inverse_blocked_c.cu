#include "kernels/global/inverse_blocked.cuh"

namespace blockjacobi::kernels {

template void inverse_blocked(const MatrixBatchView<const detail::Complex<float>>&,
                              const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);
template void getri_blocked(const MatrixBatchView<const detail::Complex<float>>&, const index_t*,
                            const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
