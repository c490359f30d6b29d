#include "kernels/apply/launch.cuh"

namespace blockjacobi::kernels {

namespace {

using detail::Format;

template <class C>
void apply_stored(const StoredBlocks& blocks, std::span<const detail::StoredGroup> groups,
                  const ApplyColumns<C>& arguments, CUstream_st* stream) {
  switch (groups.front().format) {
    case Format::full: return apply_format<C, Format::full>(blocks, groups, arguments, stream);
    case Format::packed: return apply_format<C, Format::packed>(blocks, groups, arguments, stream);
    case Format::fp32:  // the full format of single precision
      if constexpr (sizeof(detail::arithmetic_real_t<C>) > sizeof(float))
        apply_format<C, Format::fp32>(blocks, groups, arguments, stream);
      return;
    case Format::bf16: return apply_format<C, Format::bf16>(blocks, groups, arguments, stream);
    case Format::fp16: return apply_format<C, Format::fp16>(blocks, groups, arguments, stream);
  }
}

}  // namespace

template <class C>
void apply_columns(const detail::StoredBlocksView& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  const StoredBlocks blocks{inverse.data, inverse.slots, inverse.exponents};
  const auto groups = inverse.groups;
  for (std::size_t first = 0, end = 0; first < groups.size(); first = end) {
    while (end < groups.size() && groups[end].format == groups[first].format) ++end;
    apply_stored(blocks, groups.subspan(first, end - first), arguments, stream);
  }
}

#define BLOCKJACOBI_INSTANTIATE(C) \
  template void apply_columns(const detail::StoredBlocksView&, const ApplyColumns<C>&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
