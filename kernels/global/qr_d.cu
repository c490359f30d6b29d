#include "kernels/global/qr.cuh"

namespace blockjacobi::kernels {

template void geqrf(const MatrixBatchView<double>&, double*, CUstream_st*);
template void pseudo_inverse(const MatrixBatchView<const double>&, const MatrixBatchView<double>&, double, index_t*,
                             CUstream_st*);

}  // namespace blockjacobi::kernels
