#include "kernels/apply/launch.cuh"
#include "kernels/apply/launch.hpp"

#include <cstddef>
#include <new>
#include <span>

namespace blockjacobi::kernels {

template <class C>
void apply_columns(const BlockBatchView<const C>& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  // There is one group of each order. Room and no array of groups, whose defaults would be set for all of them in every
  // application; and no memory of the heap, which an application takes none of.
  alignas(detail::StoredGroup) std::byte room[max_block_size * sizeof(detail::StoredGroup)];
  auto* const groups = std::launder(reinterpret_cast<detail::StoredGroup*>(room));
  std::size_t count = 0;
  for (const BlockGroup& group : inverse.groups)
    new (groups + count++)
        detail::StoredGroup{detail::Format::full, group.size,      group.count,
                            group.first_slot,     group.first_row, group.start * static_cast<offset_t>(sizeof(C))};
  const FullBlocks blocks{reinterpret_cast<const std::byte*>(inverse.data), inverse.slots};
  apply_format<C, detail::Format::full>(blocks, std::span<const detail::StoredGroup>(groups, count), arguments, stream);
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
