#include "kernels/global/inverse.cuh"

namespace blockjacobi::kernels {

template void inverse(const MatrixBatchView<const detail::Complex<float>>&,
                      const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
