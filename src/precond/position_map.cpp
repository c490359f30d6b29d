#include "precond/position_map.hpp"

#include <algorithm>
#include <numeric>

namespace blockjacobi::detail {

namespace {

struct Entry {
  index_t position;
  offset_t source;
};

/// Calls visit(i, j, k) for entry k of the matrix at element (i, j) of the block, row by row, as they stand.
template <Offset O, class Visit>
void for_each_entry(const CsrView<const void, O>& pattern, const BlockSlot& slot, Visit&& visit) {
  const auto base = static_cast<index_t>(pattern.base);
  for (index_t i = 0; i < slot.size; ++i) {
    const O* row = pattern.row_offsets + slot.first_row + i;
    for (offset_t k = row[0] - base; k < row[1] - base; ++k) {
      const index_t j = pattern.columns[k] - base - slot.first_row;
      if (j >= 0 && j < slot.size) visit(i, j, k);
    }
  }
}

/// Entries of one row sorted by column, so that duplicates are neighbours; stable, so that they keep their order.
void sort_row(std::vector<Entry>::iterator first, std::vector<Entry>::iterator last) {
  const auto by_position = [](const Entry& a, const Entry& b) { return a.position < b.position; };
  if (!std::is_sorted(first, last, by_position)) std::stable_sort(first, last, by_position);
}

template <Offset O>
void fill_block(const CsrView<const void, O>& pattern, const BlockSlot& slot, std::vector<Entry>& entries,
                offset_t* source, index_t* position) {
  entries.clear();
  std::size_t row_begin = 0;
  index_t row = 0;
  for_each_entry(pattern, slot, [&](index_t i, index_t j, offset_t k) {
    if (i != row) {
      sort_row(entries.begin() + static_cast<std::ptrdiff_t>(row_begin), entries.end());
      row_begin = entries.size();
      row = i;
    }
    entries.push_back({i + j * slot.size, k});
  });
  sort_row(entries.begin() + static_cast<std::ptrdiff_t>(row_begin), entries.end());
  for (std::size_t e = 0; e < entries.size(); ++e) {
    source[e] = entries[e].source;
    position[e] = entries[e].position;
  }
}

}  // namespace

template <Offset O>
PositionMap build_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads) {
  const auto slots = layout.slots();
  const auto blocks = static_cast<std::ptrdiff_t>(slots.size());
  PositionMap map;
  map.begin.assign(slots.size() + 1, 0);

#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::ptrdiff_t s = 0; s < blocks; ++s) {
    offset_t count = 0;
    for_each_entry(pattern, slots[static_cast<std::size_t>(s)], [&](index_t, index_t, offset_t) { ++count; });
    map.begin[static_cast<std::size_t>(s) + 1] = count;
  }
  std::partial_sum(map.begin.begin(), map.begin.end(), map.begin.begin());

  map.source.resize(static_cast<std::size_t>(map.begin.back()));
  map.position.resize(map.source.size());
#pragma omp parallel num_threads(threads)
  {
    std::vector<Entry> entries;
#pragma omp for schedule(static)
    for (std::ptrdiff_t s = 0; s < blocks; ++s) {
      const offset_t begin = map.begin[static_cast<std::size_t>(s)];
      fill_block(pattern, slots[static_cast<std::size_t>(s)], entries, map.source.data() + begin,
                 map.position.data() + begin);
    }
  }
  return map;
}

template PositionMap build_position_map(const CsrView<const void, std::int32_t>&, const BlockLayout&, int);
template PositionMap build_position_map(const CsrView<const void, std::int64_t>&, const BlockLayout&, int);

}  // namespace blockjacobi::detail
