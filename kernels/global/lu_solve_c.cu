#include "kernels/global/lu_solve.cuh"

namespace blockjacobi::kernels {

template void getri(const MatrixBatchView<const detail::Complex<float>>&, const index_t*,
                    const MatrixBatchView<detail::Complex<float>>&, int*, CUstream_st*);
template void getrs(batched::Op, const MatrixBatchView<const detail::Complex<float>>&, const index_t*,
                    const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
