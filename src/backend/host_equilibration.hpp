#pragma once

#include "core/shared/equilibration.hpp"

#include <array>

namespace blockjacobi::detail {

/// The exponents of Equilibration for a column-major block of order n without gaps.
template <class C>
[[gnu::noinline]] void equilibrate_thoroughly(const C* a, int n, int* row, int* column) {
  std::array<int, EquilibrationWork::bytes(max_block_size) / sizeof(int)> work;
  Equilibration<C, Alone>{a, n, n, {}, row, column, EquilibrationWork::at(work.data(), n)}.run();
}

}  // namespace blockjacobi::detail
