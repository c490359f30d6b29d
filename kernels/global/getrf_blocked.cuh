#pragma once

#include "kernels/block/block_lu.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// Panels of the factorization in shared memory, or in their place in global memory.
template <class C, bool cached>
using LuStore = std::conditional_t<cached, TrapezoidStore<C, panel_width<C>>, GlobalStore<C, panel_width<C>>>;

template <class C>
using LuByRows = BlockLu<C, panel_width<C>>;

/// One matrix a thread block.
template <class C, bool cached>
__global__ void __launch_bounds__(cached ? cached_threads : uncached_threads, cached ? cached_blocks : 1)
    getrf_blocked_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  using Lu = LuByRows<C>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const Lu lu(shared, n);
  C* const elements = reinterpret_cast<C*>(shared + aligned_bytes(Lu::scratch_bytes(n, Lu::threads())));
  const detail::MatrixRef<const C> source{matrix.data, n, n, matrix.ld};
  if constexpr (cached) {
    const LuStore<C, cached> store(elements, n);
    lu.run(source, matrix, store);
    lu.write_back(store, matrix);
  } else {
    lu.run(source, matrix, LuStore<C, cached>(matrix, elements));
  }
  for (int i = Lu::thread(); i < n; i += Lu::threads()) ipiv[k * a.rows + i] = lu.pivots[i] + 1;
  if (Lu::thread() == 0) info[k] = *lu.info;
}

template <class C, bool cached>
std::size_t getrf_blocked_bytes(int n) {
  return aligned_bytes(LuByRows<C>::scratch_bytes(n, threads_for_rows(n))) +
         static_cast<std::size_t>(LuStore<C, cached>::elements(n)) * sizeof(C);
}

template <class C>
void getrf_blocked(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  const auto launch = [&]<bool cached>() {
    launch_blocked(getrf_blocked_kernel<C, cached>, "getrf_blocked", a.rows, a.count,
                   getrf_blocked_bytes<C, cached>(a.rows), stream, a, ipiv, info);
  };
  if (a.rows <= largest_cached_lu(static_cast<int>(sizeof(C) / 4)) &&
      getrf_blocked_bytes<C, true>(a.rows) <= shared_memory_limit())
    launch.template operator()<true>();
  else
    launch.template operator()<false>();
}

}  // namespace blockjacobi::kernels
