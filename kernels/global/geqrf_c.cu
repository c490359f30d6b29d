#include "kernels/global/geqrf.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<detail::Complex<float>>&, detail::Complex<float>*, CUstream_st*);

}  // namespace blockjacobi::kernels
