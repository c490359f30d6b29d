#include "kernels/global/qr.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<float>&, float*, CUstream_st*);
template void pseudo_inverse(const MatrixBatchView<const float>&, const MatrixBatchView<float>&, double, index_t*,
                             CUstream_st*);

}  // namespace blockjacobi::kernels
