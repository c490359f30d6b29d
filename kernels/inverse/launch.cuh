#pragma once

#include "kernels/inverse/cluster_kernel.cuh"
#include "kernels/inverse/cta_kernels.cuh"
#include "kernels/inverse/launch.hpp"
#include "kernels/inverse/team_kernels.cuh"
#include "kernels/inverse/thread_kernels.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

template <int N, class C>
void launch_inverse_contiguous(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                               CUstream_st* stream) {
  using enum InverseDesign;
  constexpr InversePolicy policy = inverse_policy(compiled_device, scalar_of<C>, N);
  constexpr InverseDesign design = policy.design;
  constexpr int threads = 32 * policy.warps;
  const ContiguousBatch<const C, N> source{a.data, a.count};
  const ContiguousBatch<C, N> target{x.data, x.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes, auto... inversion) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "inverse"), threads, bytes, stream>>>(source, target, info, inversion...);
    check_launch("inverse");
  };
  if constexpr (design == straight) {
    launch(inverse_straight_kernel<N, C, GeneralInversion>, straight_share<N>, 0, GeneralInversion{});
  } else if constexpr (design == shuffled) {
    launch(inverse_shuffled_kernel<N, C, GeneralInversion>, threads, 0, GeneralInversion{});
  } else if constexpr (design == thread) {
    launch(inverse_thread_kernel<N, C>, threads, ThreadStage<C, N, threads>::shared_bytes);
  } else {
    static_assert(design == team_rows);
    launch(inverse_team_kernel<N, C>, inverse_teams<N, C>, inverse_teams<N, C> * InverseScratch<N, C>::bytes);
  }
}

template <int N, class C>
void launch_inverse_class(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                          CUstream_st* stream) {
  constexpr std::size_t bytes = static_cast<std::size_t>(inverse_teams<N, C>) * InverseScratch<N, C>::bytes;
  auto* kernel = inverse_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_chunk, "inverse"), 32 * inverse_team<N, C>.warps, bytes, stream>>>(
      StridedBatch<const C>{a}, StridedBatch<C>{x}, info);
  check_launch("inverse");
}

/// Whether the policy is for clusters, which then invert the matrices.
template <class C>
bool launch_inverse_clusters(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                             CUstream_st* stream) {
  constexpr int width = gauss_jordan_width(scalar_of<C>);
  using Shape = ClusterShape<C, width>;
  static_assert(Shape::panels(largest_order) == largest_order / cluster_panel);
  static_assert(std::ranges::all_of(cluster_policies, [](const ClusterPolicy& policy) {
    return Shape::bytes(policy.largest(scalar_of<C>), policy.ctas) <= h200.shared_bytes;
  }));
  const auto clusters = [&](int ctas) {
    return ClusterLaunch(inverse_cluster_kernel<C, width>, a.rows, a.count, ctas, Shape::bytes(a.rows, ctas), stream);
  };
  const InversePolicy policy = few_inverse_policy(current_device(), scalar_of<C>, a.rows, a.count,
                                                  [&](int ctas) { return clusters(ctas).at_a_time(); });
  if (policy.design != InverseDesign::clusters) return false;
  clusters(policy.ctas).run("inverse", a, x, info);
  return true;
}

constexpr GaussJordanPlace place_of(InverseDesign design) {
  return design == InverseDesign::cta_whole      ? GaussJordanPlace::whole
         : design == InverseDesign::cta_resident ? GaussJordanPlace::resident
                                                 : GaussJordanPlace::streamed;
}

/// Orders above largest_tiny_order; of mixed orders the tiny ones are left out.
template <class C>
void launch_inverse_large(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                          CUstream_st* stream) {
  if constexpr (!detail::Arithmetic<C>::is_complex)
    if (launch_inverse_clusters(a, x, info, stream)) return;
  with_large_policy<inverse_policy, scalar_of<C>>(a.rows, "inverse", [&]<InversePolicy policy>() {
    if constexpr (policy.design == InverseDesign::cta_plain) {
      constexpr int panel = plain_inverse_panel(scalar_of<C>);
      constexpr auto bytes = [](int n) { return InPlaceElimination<C>::bytes(n, panel); };
      static_assert(has_room<inverse_policy, scalar_of<C>, policy>(bytes));
      launch_ctas(inverse_cta_plain_kernel<C>, "inverse", plain_inverse_threads, a.count, bytes(a.rows), stream, a, x,
                  panel, info);
    } else {
      constexpr int width = gauss_jordan_width(scalar_of<C>);
      constexpr GaussJordanPlace place = place_of(policy.design);
      using Elimination = CtaGaussJordan<C, width, policy.warps>;
      constexpr auto bytes = [](int n) {
        return Elimination::bytes(n, Elimination::Layout::of(n, {place, policy.stages}));
      };
      static_assert(has_room<inverse_policy, scalar_of<C>, policy>(bytes));
      launch_ctas(inverse_cta_kernel<C, width, place, 32 * policy.warps, policy.per_multiprocessor>, "inverse", a.rows,
                  a.count, bytes(a.rows), stream, a, x, GaussJordanPolicy{place, policy.stages}, info);
    }
  });
}

template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream) {
  if (is_contiguous_batch(a) && is_contiguous_batch(x))
    with_order(a.rows, [&]<int N>() { launch_inverse_contiguous<N>(a, x, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_inverse_class<N>(a, x, info, stream); });
  if (a.rows > largest_tiny_order) launch_inverse_large(a, x, info, stream);
}

}  // namespace blockjacobi::kernels
