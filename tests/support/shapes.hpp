#pragma once

#include <blockjacobi/types.hpp>

#include <array>

namespace blockjacobi::test {

/// Orders at and around the borders of the size classes.
inline constexpr std::array<index_t, 13> small_orders{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32};
inline constexpr std::array<index_t, 11> large_orders{33, 48, 64, 77, 96, 128, 160, 190, 256, 333, 512};

}  // namespace blockjacobi::test
