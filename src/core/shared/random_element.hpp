#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// A number in [-1, 1) that its number k alone decides (Steele, Lea, Flood, Fast splittable pseudorandom number
/// generators, 2014): host and device draw the same ones, in any order.
BLOCKJACOBI_HD inline double random_number(std::uint64_t k) {
  std::uint64_t z = (k + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
}

/// Element i of a random vector; both parts of a complex one are random.
template <class C>
BLOCKJACOBI_HD C random_element(index_t i) {
  using R = arithmetic_real_t<C>;
  const auto k = static_cast<std::uint64_t>(i);
  if constexpr (Arithmetic<C>::is_complex)
    return {static_cast<R>(random_number(2 * k)), static_cast<R>(random_number(2 * k + 1))};
  else
    return static_cast<R>(random_number(k));
}

}  // namespace blockjacobi::detail
