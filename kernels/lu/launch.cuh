#pragma once

#include "kernels/lu/cta_kernels.cuh"
#include "kernels/lu/launch.hpp"
#include "kernels/lu/team_kernels.cuh"
#include "kernels/lu/thread_kernels.cuh"

namespace blockjacobi::kernels {

template <int N, class C>
void launch_getrf_contiguous(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  using enum LuDesign;
  constexpr LuPolicy policy = lu_policy(compiled_device, scalar_of<C>, N);
  constexpr LuDesign design = policy.design;
  constexpr int threads = 32 * policy.warps;
  const ContiguousBatch<C, N> batch{a.data, a.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "getrf"), threads, bytes, stream>>>(batch, ipiv, info);
    check_launch("getrf");
  };
  if constexpr (design == straight) {
    launch(getrf_straight_kernel<N, C>, straight_share<N>, 0);
  } else if constexpr (design == shuffled) {
    launch(getrf_shuffled_kernel<N, C>, threads, 0);
  } else if constexpr (design == thread) {
    constexpr std::size_t interchanges = std::size_t{threads} * N * sizeof(index_t);
    launch(getrf_thread_kernel<N, C>, threads, std::max(ThreadStage<C, N, threads>::shared_bytes, interchanges));
  } else if constexpr (design == team_panels) {
    constexpr int teams = Team<policy.lanes>::per_warp;
    launch(getrf_paneled_kernel<N, policy.lanes, C>, teams, teams * PaneledTile<C, N, policy.lanes>::bytes);
  } else {
    static_assert(design == team_rows);
    launch(getrf_team_kernel<N, C>, lu_teams<N, C>, lu_teams<N, C> * LuScratch<N, C>::bytes);
  }
}

template <int N, class C>
void launch_getrf_class(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  constexpr std::size_t bytes = static_cast<std::size_t>(lu_teams<N, C>) * LuScratch<N, C>::bytes;
  auto* kernel = getrf_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_chunk, "getrf"), 32 * lu_team<N, C>.warps, bytes, stream>>>(StridedBatch<C>{a}, ipiv,
                                                                                               info);
  check_launch("getrf");
}

/// Orders above largest_tiny_order; of mixed orders the tiny ones are left out.
template <class C>
void launch_getrf_large(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  using enum LuDesign;
  with_large_policy<lu_policy, scalar_of<C>>(a.rows, "getrf", [&]<LuPolicy policy>() {
    if constexpr (policy.design == cta_plain) {
      getrf_cta_plain_kernel<C><<<grid_for(a.count, 1, "getrf"), plain_lu_threads, 0, stream>>>(a, ipiv, info);
      check_launch("getrf");
    } else if constexpr (policy.design == cta_shared) {
      using Lu = SharedLu<C, policy.rows>;
      launch_ctas(getrf_cta_shared_kernel<C, policy.rows, policy.per_multiprocessor>, "getrf", 32 * policy.warps,
                  a.count, Lu::bytes(a.rows), stream, a, ipiv, info);
    } else {
      using Lu = LeftLu<C, policy.design == cta_left_ahead>;
      static_assert(has_room<lu_policy, scalar_of<C>, policy>([](int n) { return Lu::bytes(n); }));
      launch_ctas(getrf_cta_left_kernel<C, policy.design == cta_left_ahead, 32 * policy.warps>, "getrf", a.rows,
                  a.count, Lu::bytes(a.rows), stream, a, ipiv, info);
    }
  });
}

template <class C>
void getrf(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if (is_contiguous_batch(a))
    with_order(a.rows, [&]<int N>() { launch_getrf_contiguous<N>(a, ipiv, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_getrf_class<N>(a, ipiv, info, stream); });
  if (a.rows > largest_tiny_order) launch_getrf_large(a, ipiv, info, stream);
}

}  // namespace blockjacobi::kernels
