#include "kernels/global/lu_solve.cuh"

namespace blockjacobi::kernels {

template void getri(const MatrixBatchView<const detail::Complex<double>>&, const index_t*,
                    const MatrixBatchView<detail::Complex<double>>&, int*, CUstream_st*);
template void getrs(batched::Op, const MatrixBatchView<const detail::Complex<double>>&, const index_t*,
                    const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
