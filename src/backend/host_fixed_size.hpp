#pragma once

#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// Orders that get code of their own; larger blocks are served by loops over a run-time order. Above 16 the code of
/// every order took more time to compile than it saved: set-up at 32 is as fast without it, batched inversion of orders
/// 17 to 32 takes 1.2 to 1.4 times as long.
inline constexpr int largest_fixed_size = 16;

/// Calls f(std::integral_constant<int, n>) for n in 1..largest_fixed_size and f(std::integral_constant<int, 0>) for
/// every other n.
template <class F>
void with_fixed_size(int n, F&& f) {
  const auto pick = [&]<int... I>(std::integer_sequence<int, I...>) {
    return ((n == I + 1 && (f(std::integral_constant<int, I + 1>{}), true)) || ...);
  };
  if (!pick(std::make_integer_sequence<int, largest_fixed_size>{})) f(std::integral_constant<int, 0>{});
}

/// The order of a block as a compile-time constant where N, its order or 0, says it.
template <int N>
constexpr auto order_of([[maybe_unused]] int n) {
  if constexpr (N > 0)
    return std::integral_constant<int, N>{};
  else
    return n;
}

}  // namespace blockjacobi::detail
