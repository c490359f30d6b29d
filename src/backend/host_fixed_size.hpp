#pragma once

#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// Orders that get code of their own; larger blocks are served by loops over a run-time order.
inline constexpr int largest_fixed_size = 32;

/// Calls f(std::integral_constant<int, n>) for n in 1..32 and f(std::integral_constant<int, 0>) for every other n.
template <class F>
void with_fixed_size(int n, F&& f) {
  const auto pick = [&]<int... I>(std::integer_sequence<int, I...>) {
    return ((n == I + 1 && (f(std::integral_constant<int, I + 1>{}), true)) || ...);
  };
  if (!pick(std::make_integer_sequence<int, largest_fixed_size>{})) f(std::integral_constant<int, 0>{});
}

}  // namespace blockjacobi::detail
