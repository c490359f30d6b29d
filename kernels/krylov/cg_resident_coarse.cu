#include "kernels/krylov/cg_resident.cuh"

namespace blockjacobi::kernels {

std::size_t cg_message_elements(index_t rows, index_t coarse_order) noexcept {
  const auto n = static_cast<std::size_t>(rows), order = static_cast<std::size_t>(coarse_order);
  const std::size_t of_coarse = order > 0 ? 2 * n + (exchange_copies + 1) * order : 0;
  return 2 * (2 * n + of_coarse);
}

template <class C, class S>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                 const CgCoarseLevel<C, S>& coarse, const CgVectors<C>& v, C* messages, int iterations,
                 detail::CgState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream,
                 int shared_bytes) {
  static_assert(sizeof(Message<C>) == 2 * sizeof(C));
  auto* const own = reinterpret_cast<Message<C>*>(messages);
  Message<C>* const vectors = own + 2 * offset_t{matrix.rows};
  Message<C>* const sums = vectors + 2 * offset_t{matrix.rows};
  const ResidentCoarseArrays<C, S> arrays{coarse.restriction,
                                          coarse.product,
                                          coarse.basis,
                                          coarse.inverse,
                                          vectors,
                                          sums,
                                          sums + offset_t{exchange_copies} * coarse.inverse.order};
  launch_cg_resident(matrix, inverse, arrays, v, own, iterations, state, workspace, stream, shared_bytes);
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                                      \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&,               \
                            const CgCoarseLevel<C, S>&, const CgVectors<C>&, C*, int, detail::CgState<C>*, \
                            const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
