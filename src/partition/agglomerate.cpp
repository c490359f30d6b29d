#include "partition/agglomerate.hpp"

namespace blockjacobi::detail {

namespace {

/// joins(b, first): whether block b may share a block with those from `first` to b - 1.
template <class Joins>
std::vector<index_t> merge(std::span<const index_t> offsets, index_t max_size, Joins&& joins) {
  std::vector<index_t> merged{0};
  std::size_t first = 0;
  for (std::size_t b = 1; b + 1 < offsets.size(); ++b) {
    if (offsets[b + 1] - merged.back() <= max_size && joins(b, first)) continue;
    merged.push_back(offsets[b]);
    first = b;
  }
  if (offsets.size() > 1) merged.push_back(offsets.back());
  return merged;
}

}  // namespace

std::vector<index_t> merge_greedily(std::span<const index_t> offsets, index_t max_size) {
  return merge(offsets, max_size, [](std::size_t, std::size_t) { return true; });
}

std::vector<index_t> merge_coupled(std::span<const index_t> offsets, std::span<const index_t> last_coupled,
                                   index_t max_size) {
  return merge(offsets, max_size, [last_coupled](std::size_t b, std::size_t first) {
    return last_coupled[b] >= static_cast<index_t>(first);
  });
}

}  // namespace blockjacobi::detail
