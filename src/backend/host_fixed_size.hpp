#pragma once

#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// Orders of factorizations that get code of their own: that of all orders up to 32 took more time to compile than it
/// saved. At 17..31 batched inversion takes 1.2 to 1.4 times as long without.
using FactorSizes = std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 32>;

/// Orders of products that do, which compile quickly.
using ProductSizes = std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                           21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32>;

/// Calls f(std::integral_constant<int, n>) where n is one of the sizes, and else f(std::integral_constant<int, 0>),
/// which loops over a run-time order serve.
template <class Sizes = FactorSizes, class F>
void with_fixed_size(int n, F&& f) {
  const auto pick = [&]<int... N>(std::integer_sequence<int, N...>) {
    return ((n == N && (f(std::integral_constant<int, N>{}), true)) || ...);
  };
  if (!pick(Sizes{})) f(std::integral_constant<int, 0>{});
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
