#pragma once

#include "core/shared/macros.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// Where the entries of one block lie. The usual full block needs no words: its rows stand at one distance in the value
/// array, each with all its elements in their order, so element (i, j) comes from first_source + i row_stride + j.
struct MapSlot {
  offset_t begin;           ///< of its words, which end where those of the next slot begin
  offset_t first_source;    ///< the sources in the words count from here
  offset_t row_stride = 0;  ///< 0 if the slot has words
};

/// An entry of a block: index into the values, row and column within the block.
struct MapEntry {
  offset_t source;
  index_t row;
  index_t column;

  friend BLOCKJACOBI_HD bool same_element(const MapEntry& a, const MapEntry& b) {
    return a.row == b.row && a.column == b.column;
  }
};

/// Bits of a row and of a column in an entry of one word; the source, counted from the first of its slot, is above.
template <class Word>
inline constexpr int map_bits = 9;  // any block

/// Orders up to 32 whose entries lie within 4 M values of each other.
template <>
inline constexpr int map_bits<std::uint32_t> = 5;

template <class Word>
BLOCKJACOBI_HD inline Word map_word(const MapEntry& entry, const MapSlot& slot) {
  constexpr int bits = map_bits<Word>;
  return static_cast<Word>(entry.source - slot.first_source) << 2 * bits | static_cast<Word>(entry.column) << bits |
         static_cast<Word>(entry.row);
}

template <class Word>
BLOCKJACOBI_HD inline MapEntry map_entry(Word word, const MapSlot& slot) {
  constexpr int bits = map_bits<Word>;
  constexpr Word mask = (Word{1} << bits) - 1;
  return {slot.first_source + static_cast<offset_t>(word >> 2 * bits), static_cast<index_t>(word & mask),
          static_cast<index_t>(word >> bits & mask)};
}

/// Where the entries of each block lie in the value array, by slot. The words of a slot go row by row; those of the
/// same element stand next to each other and are summed in that order.
struct PositionMapView {
  const MapSlot* slots = nullptr;         ///< blocks + 1
  const std::uint32_t* narrow = nullptr;  ///< the words, if they are narrow ones
  const std::uint64_t* wide = nullptr;    ///< otherwise
  bool duplicates = false;                ///< whether an element of any block has more than one entry
};

}  // namespace blockjacobi::detail
