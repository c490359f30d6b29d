#include "kernels/krylov/cg_resident_kernel.cuh"

namespace blockjacobi::kernels {

std::size_t cg_message_elements(index_t rows, index_t coarse_order) noexcept {
  using Coarse = ResidentCoarseArrays<double, double>;
  const std::size_t of_coarse = coarse_order > 0 ? Coarse::messages_for(rows, coarse_order) : 0;
  return 2 * (2 * static_cast<std::size_t>(rows) + of_coarse);
}

template <class C, class S>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                 const CoarseLevelArrays<C, S>& coarse, const CgVectors<C>& v, C* messages, int iterations,
                 detail::CgState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream,
                 int shared_bytes) {
  static_assert(sizeof(Message<C>) == 2 * sizeof(C));
  auto* const told = reinterpret_cast<Message<C>*>(messages);
  const ResidentCoarseArrays<C, S> arrays(coarse, true, told + 2 * offset_t{matrix.rows});
  launch_cg_resident(matrix, inverse, arrays, v, told, iterations, state, workspace, stream, shared_bytes);
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                                          \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&,                   \
                            const CoarseLevelArrays<C, S>&, const CgVectors<C>&, C*, int, detail::CgState<C>*, \
                            const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
