#include "precond/position_map.hpp"

#include "core/first_exception.hpp"
#include "core/shared/block_extent.hpp"
#include "core/worth_threads.hpp"

#include <algorithm>

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

/// Whether the columns of every row increase: all descents of the column array are where rows begin.
template <Offset O>
bool rows_are_sorted(const CsrView<const void, O>& pattern, [[maybe_unused]] int threads) {
  const auto base = static_cast<index_t>(pattern.base);
  const index_t* columns = pattern.columns;
  offset_t descents = 0, between_rows = 0;
#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(+ : descents) if (pattern.nnz > worth_threads)
  for (offset_t k = 1; k < pattern.nnz; ++k) descents += columns[k] <= columns[k - 1];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : between_rows) if (pattern.nnz > worth_threads)
  for (index_t i = 1; i < pattern.rows; ++i) {
    const offset_t k = pattern.row_offsets[i] - base;
    const bool is_empty = pattern.row_offsets[i + 1] == pattern.row_offsets[i];
    if (k > 0 && !is_empty) between_rows += columns[k] <= columns[k - 1];
  }
  return descents == between_rows;
}

/// The part of a sorted row inside of a block: entries first .. last - 1.
struct RowPart {
  offset_t first;
  offset_t last;
};

template <Offset O>
RowPart sorted_part(const CsrView<const void, O>& pattern, const BlockSlot& slot, index_t i) {
  constexpr offset_t short_row = 32;  // where a search costs more than a walk
  const auto base = static_cast<index_t>(pattern.base);
  const O* row = pattern.row_offsets + slot.first_row + i;
  const index_t begin = slot.first_row + base, end = begin + slot.size;
  offset_t k = row[0] - base;
  const offset_t row_end = row[1] - base;
  if (row_end - k > short_row)
    k = std::lower_bound(pattern.columns + k, pattern.columns + row_end, begin) - pattern.columns;
  while (k < row_end && pattern.columns[k] < begin) ++k;
  offset_t last = k + slot.size;
  if (last <= row_end && pattern.columns[last - 1] == end - 1) return {k, last};  // all columns of the block
  last = k;
  while (last < row_end && pattern.columns[last] < end) ++last;
  return {k, last};
}

template <Offset O>
BlockExtent measure_sorted(const CsrView<const void, O>& pattern, const BlockSlot& slot) {
  const offset_t n = slot.size;
  BlockExtent extent;
  offset_t last = 0, stride = n;
  bool regular = true;
  for (index_t i = 0; i < slot.size; ++i) {
    const RowPart part = sorted_part(pattern, slot, i);
    if (part.first == part.last) continue;
    if (extent.entries == 0) extent.first_source = part.first;
    if (i == 1) stride = part.first - extent.first_source;
    regular = regular && part.last - part.first == n && part.first == extent.first_source + i * stride;
    extent.entries += part.last - part.first;
    last = part.last - 1;
  }
  extent.finish(n, last, regular, stride);
  return extent;
}

template <Offset O>
BlockExtent measure(const CsrView<const void, O>& pattern, const BlockSlot& slot, bool is_sorted) {
  if (is_sorted) return measure_sorted(pattern, slot);
  const offset_t n = slot.size;
  BlockExtent extent;
  offset_t last = 0, stride = n;
  bool regular = true;
  for_each_entry(pattern, slot, [&](index_t i, index_t j, offset_t k) {
    if (extent.entries == 0) extent.first_source = k;
    if (extent.entries == n) stride = k - extent.first_source;
    regular = regular && extent.entries == i * n + j && k == extent.first_source + i * stride + j;
    ++extent.entries;
    last = k;
  });
  extent.finish(n, last, regular, stride);
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

/// Writes the words of a slot whose rows are sorted.
template <class Word, Offset O>
void fill_sorted(const CsrView<const void, O>& pattern, const BlockSlot& slot, const MapSlot& map, Word* word) {
  const auto base = static_cast<index_t>(pattern.base);
  for (index_t i = 0; i < slot.size; ++i) {
    const RowPart part = sorted_part(pattern, slot, i);
    const index_t* column = pattern.columns + part.first;
    const auto count = static_cast<index_t>(part.last - part.first);
    const auto first = map_word<Word>(MapEntry{part.first, i, 0}, map);
    const auto next = map_word<Word>(MapEntry{1, 0, 0}, MapSlot{0, 0});
    for (index_t e = 0; e < count; ++e)
      word[e] = first + static_cast<Word>(e) * next +
                map_word<Word>(MapEntry{0, 0, column[e] - base - slot.first_row}, MapSlot{0, 0});
    word += count;
  }
}

/// Returns whether there are duplicates.
template <class Word, Offset O>
bool fill(const CsrView<const void, O>& pattern, std::span<const BlockSlot> slots, int threads,
          const std::vector<MapSlot>& map, bool is_sorted, std::vector<Word>& words) {
  words.resize(static_cast<std::size_t>(map.back().begin));
  bool duplicates = false;
  FirstException failure;
#pragma omp parallel num_threads(threads) reduction(|| : duplicates) if (pattern.nnz > worth_threads)
  {
    std::vector<MapEntry> entries;
#pragma omp for schedule(static)
    for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
      const MapSlot& slot = map[static_cast<std::size_t>(s)];
      if (slot.row_stride != 0) continue;
      if (is_sorted) {
        fill_sorted(pattern, slots[static_cast<std::size_t>(s)], slot, words.data() + slot.begin);
        continue;
      }
      failure.run([&] {
        collect(pattern, slots[static_cast<std::size_t>(s)], entries);
        Word* word = words.data() + slot.begin;
        for (std::size_t e = 0; e < entries.size(); ++e) {
          word[e] = map_word<Word>(entries[e], slot);
          duplicates = duplicates || (e > 0 && same_element(entries[e], entries[e - 1]));
        }
      });
    }
  }
  failure.rethrow();
  return duplicates;
}

}  // namespace

template <Offset O>
PositionMapSize measure_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads) {
  const auto slots = layout.slots();
  const bool is_sorted = rows_are_sorted(pattern, threads);
  offset_t words = 0;
  bool narrow = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : narrow) reduction(+ : words) if (pattern.nnz > worth_threads)
  for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
    const BlockExtent extent = measure(pattern, slots[static_cast<std::size_t>(s)], is_sorted);
    words += extent.words();
    narrow = narrow && extent.narrow;
  }
  return {words, narrow};
}

template <Offset O>
PositionMap build_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads) {
  const auto slots = layout.slots();
  const bool is_sorted = rows_are_sorted(pattern, threads);
  PositionMap map;
  map.slots.assign(slots.size() + 1, {0, 0, 0});
  bool narrow = true;
  offset_t all = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : narrow) reduction(+ : all) if (pattern.nnz > worth_threads)
  for (std::ptrdiff_t s = 0; s < std::ssize(slots); ++s) {
    const BlockExtent extent = measure(pattern, slots[static_cast<std::size_t>(s)], is_sorted);
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

  map.duplicates = narrow ? fill(pattern, slots, threads, map.slots, is_sorted, map.narrow)
                          : fill(pattern, slots, threads, map.slots, is_sorted, map.wide);
  return map;
}

template PositionMapSize measure_position_map(const CsrView<const void, std::int32_t>&, const BlockLayout&, int);
template PositionMapSize measure_position_map(const CsrView<const void, std::int64_t>&, const BlockLayout&, int);
template PositionMap build_position_map(const CsrView<const void, std::int32_t>&, const BlockLayout&, int);
template PositionMap build_position_map(const CsrView<const void, std::int64_t>&, const BlockLayout&, int);

}  // namespace blockjacobi::detail
