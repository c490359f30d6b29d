#include "kernels/global/geqrf.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<detail::Complex<double>>&, detail::Complex<double>*, CUstream_st*);

}  // namespace blockjacobi::kernels
