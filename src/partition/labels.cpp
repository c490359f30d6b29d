#include <blockjacobi/block_partition.hpp>

#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace blockjacobi {

namespace {

/// Rows of one label: rows[begin] .. rows[end - 1], ascending.
struct Group {
  std::size_t begin;
  std::size_t end;
};

/// Runs of equal labels in `rows`, which are sorted by label.
std::vector<Group> groups_of(std::span<const index_t> labels, const std::vector<index_t>& rows) {
  const auto label = [&](std::size_t k) { return labels[static_cast<std::size_t>(rows[k])]; };
  std::vector<Group> groups;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && label(end) == label(begin)) ++end;
    if (end - begin > static_cast<std::size_t>(max_block_size))
      throw InvalidArgument(detail::message("BlockPartition::from_labels: {} rows have the label {}, at most {} may",
                                            end - begin, label(begin), max_block_size));
    groups.push_back({begin, end});
  }
  return groups;
}

}  // namespace

PermutedPartition BlockPartition::from_labels(std::span<const index_t> labels) {
  if (labels.size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
    throw InvalidArgument(detail::message("BlockPartition::from_labels: {} labels exceed 32 bits", labels.size()));
  std::vector<index_t> rows(labels.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, {}, [labels](index_t row) { return labels[static_cast<std::size_t>(row)]; });
  auto groups = groups_of(labels, rows);
  std::ranges::sort(groups, {}, [&rows](const Group& group) { return rows[group.begin]; });

  std::vector<index_t> order, offsets{0};
  order.reserve(rows.size());
  offsets.reserve(groups.size() + 1);
  for (const auto& [begin, end] : groups) {
    for (std::size_t k = begin; k < end; ++k) order.push_back(rows[k]);
    offsets.push_back(static_cast<index_t>(order.size()));
  }
  return {Permutation::from_order(std::move(order)), BlockPartition(std::move(offsets))};
}

}  // namespace blockjacobi
