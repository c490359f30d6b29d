#pragma once

#include "core/shared/macros.hpp"

#include <cstdint>

namespace blockjacobi::detail {

/// One number at one place, mixed (Steele, Lea, Flood, SplittableRandom, 2014). The fingerprint of a pattern is the sum
/// of those of its columns and row offsets, so that the order of summation does not matter.
BLOCKJACOBI_HD inline std::uint64_t mixed_number(std::uint64_t place, std::uint64_t number) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  };
  return mix(mix(place * 0x9E3779B97F4A7C15u) + number);
}

BLOCKJACOBI_HD inline std::uint64_t mixed_column(std::int64_t k, std::int64_t column) {
  return mixed_number(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(column));
}
BLOCKJACOBI_HD inline std::uint64_t mixed_offset(std::int64_t row, std::int64_t offset) {
  return mixed_number(~static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(offset));
}

}  // namespace blockjacobi::detail
