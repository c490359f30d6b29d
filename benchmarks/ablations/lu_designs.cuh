#pragma once

#include "ablations/lu_by_elements.cuh"

namespace bench {

/// In the order of the paper's steps.
template <class T>
std::vector<Design<T>> lu_designs(int n) {
  return designs_of_order<T>(n, [](auto order) -> std::vector<Design<T>> {
    constexpr int N = order;
    return {lu_by_elements_design<T, N, false>("2d_shared_eager"),
            lu_by_elements_design<T, N, true>("2d_shared_lazy"),
            lu_by_rows_design<T, N, SharedRows, SerialSearch, EagerSwap>("1d_shared_eager_serial_search", false),
            lu_by_rows_design<T, N, SharedRows, ButterflySearch, EagerSwap>("1d_shared_eager", false),
            lu_by_rows_design<T, N, SharedRows, ButterflySearch, LazySwap>("1d_shared_lazy", false),
            lu_by_rows_design<T, N, RegisterRows, ButterflySearch, EagerSwap>("1d_registers_eager", true),
            lu_by_rows_design<T, N, RegisterRows, ButterflySearch, LazySwap>("1d_registers_lazy", true)};
  });
}

}  // namespace bench
