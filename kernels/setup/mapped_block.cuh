#pragma once

#include "kernels/collectives/stepped_ref.cuh"
#include "kernels/setup/extract.cuh"

namespace blockjacobi::kernels {

/// A block above largest_tiny_order in the values of the matrix, for a thread block: the source of an elimination.
template <class C>
struct MappedBlock {
  const C* values;
  const detail::PositionMapView& map;
  MapRange range;

  __device__ MappedBlock(const C* values_, const detail::PositionMapView& map_, offset_t slot)
      : values(values_), map(map_), range(range_of(map_, slot)) {}

  /// Whether all elements stand in the matrix, at one distance from row to row; and where they do.
  __device__ bool is_stepped() const { return range.slot.row_stride != 0; }
  __device__ SteppedRef<const C> stepped() const {
    return {values + range.slot.first_source, range.slot.row_stride, 1};
  }

  /// The elements: in the matrix, or at `place` if they have come there.
  __device__ SteppedRef<const C> elements(const detail::MatrixRef<C>& place) const {
    return is_stepped() ? stepped() : SteppedRef<const C>{place.data, 1, place.ld};
  }

  /// Starts to copy the elements that have entries to place(i, j) in shared memory.
  template <class Place>
  __device__ void copy_entries(Place place) const {
    int next = static_cast<int>(threadIdx.x);
    copy_rows(next, INT_MAX, place);
  }

  /// The same of the lower triangle alone.
  template <class Place>
  __device__ void copy_lower_entries(Place place) const {
    int next = static_cast<int>(threadIdx.x);
    if (map.duplicates) {
      offset_t word = range.slot.begin + next;
      store_sums(values, map.wide, range, word, static_cast<int>(blockDim.x), INT_MAX, [&](int i, int j, C sum) {
        if (i >= j) *place(i, j) = sum;
      });
    } else {
      visit_words<8>(map.wide, range, next, INT_MAX, [&](const detail::MapEntry& entry) {
        if (entry.row >= entry.column) copy_async(place(entry.row, entry.column), values + entry.source);
      });
    }
  }

  /// The same of all in the rows before `end`, from word `next` of this thread on, which becomes the first that is
  /// left. Orders above 32 have no narrow words.
  template <class Place>
  __device__ void copy_rows(int& next, int end, Place place) const {
    if (map.duplicates) {
      offset_t word = range.slot.begin + next;
      store_sums(values, map.wide, range, word, static_cast<int>(blockDim.x), end,
                 [&](int i, int j, C sum) { *place(i, j) = sum; });
      next = static_cast<int>(word - range.slot.begin);
    } else {
      visit_words<8>(map.wide, range, next, end, [&](const detail::MapEntry& entry) {
        copy_async(place(entry.row, entry.column), values + entry.source);
      });
    }
  }
};

}  // namespace blockjacobi::kernels
