#include "kernels/global/geqrf_blocked.cuh"

namespace blockjacobi::kernels {

template void geqrf_blocked(const MatrixBatchView<detail::Complex<float>>&, detail::Complex<float>*, CUstream_st*);

}  // namespace blockjacobi::kernels
