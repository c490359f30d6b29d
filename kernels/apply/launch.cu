#include "kernels/apply/launch.cuh"
#include "kernels/apply/launch.hpp"

#include <span>
#include <vector>

namespace blockjacobi::kernels {

template <class C>
void apply_columns(const BlockBatchView<const C>& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  std::vector<detail::StoredGroup> groups;
  groups.reserve(inverse.groups.size());
  for (const BlockGroup& group : inverse.groups)
    groups.push_back({detail::Format::full, group.size, group.count, group.first_slot, group.first_row,
                      group.start * static_cast<offset_t>(sizeof(C))});
  const FullBlocks blocks{reinterpret_cast<const std::byte*>(inverse.data), inverse.slots};
  apply_format<C, detail::Format::full>(blocks, std::span<const detail::StoredGroup>(groups), arguments, stream);
}

template <class C>
void apply_blocks(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z, CUstream_st* stream) {
  using R = detail::arithmetic_real_t<C>;
  const ApplyColumns<C> arguments{op, detail::from_real<C>(R(1)), {r, 1, 0, 1}, C{}, {z, 1, 0, 1}};
  apply_columns(inverse, arguments, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                   \
  template void apply_columns(const BlockBatchView<const C>&, const ApplyColumns<C>&, CUstream_st*); \
  template void apply_blocks(const BlockBatchView<const C>&, Op, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
