#include "kernels/krylov/gmres_resident_kernel.cuh"

#include <cstddef>

namespace blockjacobi::kernels {

template <class C, class S>
void gmres_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                    const CoarseLevelArrays<C, S>& coarse, C* basis, int restart, const C* b, C* x, void* messages,
                    int cycles, detail::GmresState* state, CUstream_st* stream, int shared_bytes) {
  auto* const told = static_cast<std::byte*>(messages) + gmres_message_bytes<C>(matrix.rows, restart, 0);
  const ResidentCoarseArrays<C, S> arrays(coarse, false, reinterpret_cast<Message<C>*>(told));
  launch_gmres_resident(matrix, inverse, arrays, basis, restart, b, x, messages, cycles, state, stream, shared_bytes);
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                                                  \
  template void gmres_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&,                        \
                               const CoarseLevelArrays<C, S>&, C*, int, const C*, C*, void*, int, detail::GmresState*, \
                               CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
