#include "kernels/krylov/cg_resident_kernel.cuh"

namespace blockjacobi::kernels {

template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* messages, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream, int shared_bytes) {
  launch_cg_resident(matrix, inverse, NoResidentCoarse{}, v, reinterpret_cast<Message<C>*>(messages), iterations, state,
                     workspace, stream, shared_bytes);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, const CgVectors<C>&, C*, \
                            int, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
