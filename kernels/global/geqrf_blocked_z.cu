#include "kernels/global/geqrf_blocked.cuh"

namespace blockjacobi::kernels {

template void geqrf_blocked(const MatrixBatchView<detail::Complex<double>>&, detail::Complex<double>*, CUstream_st*);

}  // namespace blockjacobi::kernels
