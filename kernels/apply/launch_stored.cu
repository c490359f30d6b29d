#include "kernels/apply/launch.cuh"

namespace blockjacobi::kernels {

namespace {

using detail::Format;

template <class C>
void apply_stored(const BlocksInFormat& blocks, std::span<const detail::StoredGroup> groups,
                  const ApplyColumns<C>& arguments, CUstream_st* stream) {
  detail::with_format(groups.front().format, [&]<Format format>(detail::FormatTag<format>) {
    if constexpr (detail::is_format_of(format, sizeof(detail::arithmetic_real_t<C>)))
      apply_format<C, format>(blocks, groups, arguments, stream);
  });
}

}  // namespace

template <class C>
void apply_columns(const detail::StoredBlocksView& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  const BlocksInFormat blocks{inverse.data, inverse.slots, inverse.exponents};
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
