#pragma once

#include "backends/systems.hpp"

#include <limits>
#include <type_traits>

namespace blockjacobi::test {

/// Single precision stops at four, before what is smooth has cost block-Jacobi many iterations.
template <Scalar T>
constexpr bool to_eight_digits = std::is_same_v<real_t<T>, double>;

template <Scalar T>
SolveOptions reachable() {
  return options_for<T>(to_eight_digits<T> ? 1e-8 : 1e-4);
}

template <Scalar T>
double epsilon() {
  return static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
}

}  // namespace blockjacobi::test
