#include "kernels/krylov/gmres_resident_kernel.cuh"

namespace blockjacobi::kernels {

template <class C>
std::size_t gmres_message_bytes(index_t n, int restart, index_t coarse_order) {
  const std::size_t of_coarse =
      coarse_order > 0 ? ResidentCoarseArrays<C, C>::messages_for(n, coarse_order) : std::size_t{0};
  return count_slots<C>(restart) * sizeof(WideGridExchange::Slot) +
         (static_cast<std::size_t>(n) + of_coarse) * sizeof(Message<C>);
}

template <class C>
void gmres_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, C* basis,
                    int restart, const C* b, C* x, void* messages, int cycles, detail::GmresState* state,
                    CUstream_st* stream, int shared_bytes) {
  launch_gmres_resident(matrix, inverse, NoResidentCoarse{}, basis, restart, b, x, messages, cycles, state, stream,
                        shared_bytes);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                     \
  template std::size_t gmres_message_bytes<C>(index_t, int, index_t);                                                  \
  template void gmres_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, C*, int, const C*, C*, \
                               void*, int, detail::GmresState*, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
