#include "kernels/global/inverse.cuh"

namespace blockjacobi::kernels {

template void inverse(const MatrixBatchView<const detail::Complex<double>>&,
                      const MatrixBatchView<detail::Complex<double>>&, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
