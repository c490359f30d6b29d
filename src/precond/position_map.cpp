#include "precond/position_map.hpp"

#include <algorithm>
#include <limits>

namespace blockjacobi::detail {

namespace {

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

/// What a slot needs of the map.
struct Extent {
  offset_t entries = 0;
  offset_t first_source = 0;
  offset_t row_stride = 0;
  bool narrow = true;

  offset_t words() const { return row_stride != 0 ? 0 : entries; }
};

template <Offset O>
Extent measure(const CsrView<const void, O>& pattern, const BlockSlot& slot) {
  constexpr int bits = map_bits<std::uint32_t>;
  constexpr offset_t span = offset_t{std::numeric_limits<std::uint32_t>::max()} >> 2 * bits;
  const offset_t n = slot.size;
  Extent extent;
  offset_t last = 0, stride = n;
  bool regular = true;
  for_each_entry(pattern, slot, [&](index_t i, index_t j, offset_t k) {
    if (extent.entries == 0) extent.first_source = k;
    if (extent.entries == n) stride = k - extent.first_source;
    regular = regular && extent.entries == i * n + j && k == extent.first_source + i * stride + j;
    ++extent.entries;
    last = k;
  });
  if (regular && extent.entries == n * n) extent.row_stride = stride;
  extent.narrow = extent.row_stride != 0 || (n <= 1 << bits && last - extent.first_source <= span);
  return extent;
}

/// Entries of one row sorted by column, so that duplicates are neighbours; stable, so that they keep their order.
void sort_row(std::vector<MapEntry>::iterator first, std::vector<MapEntry>::iterator last) {
  const auto by_column = [](const MapEntry& a, const MapEntry& b) { return a.column < b.column; };
  if (!std::is_sorted(first, last, by_column)) std::stable_sort(first, last, by_column);
}

/// The entries of a slot in the order of the map.
template <Offset O>
void collect(const CsrView<const void, O>& pattern, const BlockSlot& slot, std::vector<MapEntry>& entries) {
  entries.clear();
  std::ptrdiff_t row_begin = 0;
  index_t row = 0;
  for_each_entry(pattern, slot, [&](index_t i, index_t j, offset_t k) {
    if (i != row) {
      sort_row(entries.begin() + row_begin, entries.end());
      row_begin = std::ssize(entries);
      row = i;
    }
    entries.push_back({k, i, j});
  });
  sort_row(entries.begin() + row_begin, entries.end());
}

/// Writes the words of a slot whose rows are sorted and without duplicates; false where one is not.
template <class Word, Offset O>
bool fill_sorted(const CsrView<const void, O>& pattern, const BlockSlot& slot, const MapSlot& map, Word* word) {
  const auto base = static_cast<index_t>(pattern.base);
  for (index_t i = 0; i < slot.size; ++i) {
    const O* row = pattern.row_offsets + slot.first_row + i;
    index_t last = -1;
    for (offset_t k = row[0] - base; k < row[1] - base; ++k) {
      const index_t j = pattern.columns[k] - base - slot.first_row;
      if (j < 0 || j >= slot.size) continue;
      if (j <= last) return false;
      last = j;
      *word++ = map_word<Word>(MapEntry{k, i, j}, map);
    }
  }
  return true;
}

/// Returns whether there are duplicates.
template <class Word, Offset O>
bool fill(const CsrView<const void, O>& pattern, std::span<const BlockSlot> slots, int threads,
          const std::vector<MapSlot>& map, std::vector<Word>& words) {
  words.resize(static_cast<std::size_t>(map.back().begin));
  bool duplicates = false;
#pragma omp parallel num_threads(threads) reduction(|| : duplicates)
  {
    std::vector<MapEntry> entries;
#pragma omp for schedule(static)
    for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
      const MapSlot& slot = map[static_cast<std::size_t>(s)];
      if (slot.row_stride != 0) continue;
      if (fill_sorted(pattern, slots[static_cast<std::size_t>(s)], slot, words.data() + slot.begin)) continue;
      collect(pattern, slots[static_cast<std::size_t>(s)], entries);
      Word* word = words.data() + slot.begin;
      for (std::size_t e = 0; e < entries.size(); ++e) {
        word[e] = map_word<Word>(entries[e], slot);
        duplicates = duplicates || (e > 0 && same_element(entries[e], entries[e - 1]));
      }
    }
  }
  return duplicates;
}

}  // namespace

template <Offset O>
PositionMapSize measure_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout,
                                     [[maybe_unused]] int threads) {
  const auto slots = layout.slots();
  offset_t words = 0;
  bool narrow = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : narrow) reduction(+ : words)
  for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
    const Extent extent = measure(pattern, slots[static_cast<std::size_t>(s)]);
    words += extent.words();
    narrow = narrow && extent.narrow;
  }
  return {words, narrow};
}

template <Offset O>
PositionMap build_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads) {
  const auto slots = layout.slots();
  PositionMap map;
  map.slots.assign(slots.size() + 1, {0, 0, 0});
  bool narrow = true;
  offset_t all = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : narrow) reduction(+ : all)
  for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
    const Extent extent = measure(pattern, slots[static_cast<std::size_t>(s)]);
    MapSlot& slot = map.slots[static_cast<std::size_t>(s)];
    slot.first_source = extent.first_source;
    slot.row_stride = extent.row_stride;
    map.slots[static_cast<std::size_t>(s) + 1].begin = extent.words();
    narrow = narrow && extent.narrow;
    all += extent.entries;
  }
  map.entries = all;
  for (std::size_t s = 0; s < slots.size(); ++s) map.slots[s + 1].begin += map.slots[s].begin;
  if (!narrow)
    for (MapSlot& slot : map.slots)
      if (slot.row_stride == 0) slot.first_source = 0;

  map.duplicates = narrow ? fill(pattern, slots, threads, map.slots, map.narrow)
                          : fill(pattern, slots, threads, map.slots, map.wide);
  return map;
}

template PositionMapSize measure_position_map(const CsrView<const void, std::int32_t>&, const BlockLayout&, int);
template PositionMapSize measure_position_map(const CsrView<const void, std::int64_t>&, const BlockLayout&, int);
template PositionMap build_position_map(const CsrView<const void, std::int32_t>&, const BlockLayout&, int);
template PositionMap build_position_map(const CsrView<const void, std::int64_t>&, const BlockLayout&, int);

}  // namespace blockjacobi::detail
