#pragma once

#include "ablations/inverse_fused.cuh"
#include "ablations/inverse_separate.cuh"

namespace bench {

template <class T>
std::vector<Design<T>> inverse_designs(int n) {
  return designs_of_order<T>(n, [](auto order) -> std::vector<Design<T>> {
    constexpr int N = order;
    return {inverse_separate_design<T, N>(), inverse_fused_design<T, N>()};
  });
}

}  // namespace bench
