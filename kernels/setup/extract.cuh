#pragma once

#include "core/shared/position_map.hpp"
#include "kernels/collectives/copy_async.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// The entries of one slot, and the words of those that have any.
struct MapRange {
  detail::MapSlot slot;
  offset_t end;
};

__device__ inline MapRange range_of(const detail::PositionMapView& map, offset_t slot) {
  return {map.slots[slot], map.slots[slot + 1].begin};
}

/// store(i, j, value) once for each element before row `end` that has entries, by `size` threads, from word `e` on,
/// which becomes the first that is left. The thread at the head of a run of entries of one element sums the run in its
/// order.
template <class C, class Word, class Store>
__device__ void store_sums(const C* values, const Word* words, const MapRange& range, offset_t& e, int size, int end,
                           Store store) {
  const auto entry = [&](offset_t word) { return detail::map_entry(words[word], range.slot); };
#pragma unroll 1
  for (; e < range.end; e += size) {
    const detail::MapEntry head = entry(e);
    if (head.row >= end) return;
    if (e > range.slot.begin && same_element(entry(e - 1), head)) continue;
    C sum = values[head.source];
    for (offset_t next = e + 1; next < range.end && same_element(entry(next), head); ++next)
      sum += values[entry(next).source];
    store(head.row, head.column, sum);
  }
}

/// Copies the values to their places, asynchronously and `in_flight` words at a time. No element has two entries.
template <int in_flight, class C, class Word>
__device__ void copy_singles(const C* values, const Word* words, const MapRange& range, int rank, int size, C* tile,
                             int ld) {
  const Word* const own = words + range.slot.begin;
  const auto count = static_cast<int>(range.end - range.slot.begin);
#pragma unroll 1
  for (int first = rank; first < count; first += in_flight * size) {
    const Word* const next = own + first;  // one address instead of in_flight of them in registers
    Word word[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u)
      if (first + u * size < count) word[u] = next[u * size];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (first + u * size >= count) continue;
      const detail::MapEntry entry = detail::map_entry(word[u], range.slot);
      copy_async(tile + entry.row + entry.column * ld, values + entry.source);
    }
  }
}

/// visit(entry) for the words of a slot in rows before `end`, by a thread block, `in_flight` of them at a time, while
/// those behind them come to the L2 cache: word `next` of the slot and others as many threads apart. `next` becomes the
/// first that is left.
template <int in_flight, class Word, class Visit>
__device__ void visit_words(const Word* words, const MapRange& range, int& next, int end, Visit visit) {
  constexpr int line = 128 / static_cast<int>(sizeof(Word));
  const Word* const own = words + range.slot.begin;
  const auto count = static_cast<int>(range.end - range.slot.begin);
  const int rank = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  int visited = in_flight;
#pragma unroll 1
  while (visited == in_flight && next < count) {
    Word word[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) word[u] = own[min(next + u * size, count - 1)];
    const int ahead = next + in_flight * size + (line - 1) * rank;
    if (line * rank < in_flight * size && ahead < count) asm volatile("prefetch.global.L2 [%0];" : : "l"(own + ahead));
    visited = 0;
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const detail::MapEntry entry = detail::map_entry(word[u], range.slot);
      if (next + u * size >= count || entry.row >= end) continue;
      visit(entry);
      ++visited;
    }
    next += visited * size;
  }
}

/// Copies a block of order n whose rows stand at one distance, asynchronously, by `size` threads.
template <int size, class C>
__device__ void copy_rows(const C* values, const detail::MapSlot& slot, int n, int rank, C* tile, int ld) {
  const C* row = values + slot.first_source + rank;
#pragma unroll 8
  for (int i = 0; i < n; ++i, row += slot.row_stride)
#pragma unroll
    for (int j = 0; j < (n + size - 1) / size; ++j)
      if (j * size + rank < n) copy_async(tile + i + (j * size + rank) * ld, row + j * size);
}

/// Scatters the words of a slot by `size` threads: store(i, j, value) once for each element that has any.
template <class C, class Store>
__device__ void extract_entries(const C* values, const detail::PositionMapView& map, const MapRange& range, int rank,
                                int size, Store store) {
  offset_t first = range.slot.begin + rank;
  if (map.narrow != nullptr)
    store_sums(values, map.narrow, range, first, size, INT_MAX, store);
  else
    store_sums(values, map.wide, range, first, size, INT_MAX, store);
}

/// A block of order n into `tile`, column-major in shared memory, by `size` threads; wait_for_copies() and a barrier
/// must follow. An odd ld avoids bank conflicts, as entries go row by row. Elements without entry are left alone.
template <int in_flight, int size, class C>
__device__ void fetch_entries(const C* values, const detail::PositionMapView& map, const MapRange& range, int n,
                              int rank, C* tile, int ld) {
  if (range.slot.row_stride != 0)
    copy_rows<size>(values, range.slot, n, rank, tile, ld);
  else if (map.duplicates)
    extract_entries(values, map, range, rank, size, [&](int i, int j, C value) { tile[i + j * ld] = value; });
  else if (map.narrow != nullptr)
    copy_singles<in_flight>(values, map.narrow, range, rank, size, tile, ld);
  else
    copy_singles<(in_flight + 1) / 2>(values, map.wide, range, rank, size, tile, ld);
}

}  // namespace blockjacobi::kernels
