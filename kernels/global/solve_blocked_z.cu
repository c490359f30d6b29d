#include "kernels/global/solve_blocked.cuh"

namespace blockjacobi::kernels {

template void getrs_blocked(Op, const MatrixBatchView<const detail::Complex<double>>&, const index_t*,
                            const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);
template void potrs_blocked(batched::Triangle, const MatrixBatchView<const detail::Complex<double>>&,
                            const MatrixBatchView<detail::Complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
