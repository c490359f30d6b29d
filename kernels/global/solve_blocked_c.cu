#include "kernels/global/solve_blocked.cuh"

namespace blockjacobi::kernels {

template void getrs_blocked(Op, const MatrixBatchView<const detail::Complex<float>>&, const index_t*,
                            const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);
template void potrs_blocked(batched::Triangle, const MatrixBatchView<const detail::Complex<float>>&,
                            const MatrixBatchView<detail::Complex<float>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
