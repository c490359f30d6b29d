#pragma once

#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// Calls f(std::integral_constant<int, n>) for the orders n that get code of their own, 1..16, 24 and 32, and
/// f(std::integral_constant<int, 0>) for every other n, which loops over a run-time order serve: code for all orders up
/// to 32 took more time to compile than it saved. At 17..31 batched inversion takes 1.2 to 1.4 times as long without.
template <class F>
void with_fixed_size(int n, F&& f) {
  const auto pick = [&]<int... N>(std::integer_sequence<int, N...>) {
    return ((n == N && (f(std::integral_constant<int, N>{}), true)) || ...);
  };
  using Fixed = std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 32>;
  if (!pick(Fixed{})) f(std::integral_constant<int, 0>{});
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
