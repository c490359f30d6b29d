#pragma once

#include "kernels/inverse/launch.hpp"
#include "kernels/inverse/team_definite_kernels.cuh"
#include "kernels/inverse/thread_kernels.cuh"

namespace blockjacobi::kernels {

template <int N, class C>
void launch_spd_inverse_contiguous(bool upper, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                                   int* info, CUstream_st* stream) {
  using enum InverseDesign;
  constexpr InversePolicy policy = spd_inverse_policy(compiled_device, scalar_of<C>, N);
  constexpr InverseDesign design = policy.design;
  constexpr int threads = 32 * policy.warps;
  const ContiguousBatch<const C, N> source{a.data, a.count};
  const ContiguousBatch<C, N> target{x.data, x.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes, auto triangle) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "spd_inverse"), threads, bytes, stream>>>(source, target, info, triangle);
    check_launch("spd_inverse");
  };
  if constexpr (design == straight) {
    launch(inverse_straight_kernel<N, C, DefiniteInversion>, straight_share<N>, 0, DefiniteInversion{upper});
  } else if constexpr (design == shuffled) {
    launch(inverse_shuffled_kernel<N, C, DefiniteInversion>, threads, 0, DefiniteInversion{upper});
  } else if constexpr (design == thread) {
    launch(spd_inverse_thread_kernel<N, C>, threads, ThreadStage<C, N, threads>::shared_bytes, upper);
  } else {
    static_assert(design == team_rows);
    launch(spd_inverse_team_kernel<N, C>, spd_teams<N, C>, spd_teams<N, C> * SpdScratch<N, C>::bytes, upper);
  }
}

template <class C>
bool contiguous_spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                            batched::SpdStorage storage, int* info, CUstream_st* stream) {
  if (storage == batched::SpdStorage::packed || !is_contiguous_batch(a) || !is_contiguous_batch(x)) return false;
  if (a.rows > largest_tiny_order ||
      spd_inverse_policy(compiled_device, scalar_of<C>, a.rows).design == InverseDesign::lanes_cholesky)
    return false;
  with_order(a.rows, [&]<int N>() {
    if constexpr (spd_inverse_policy(compiled_device, scalar_of<C>, N).design != InverseDesign::lanes_cholesky)
      launch_spd_inverse_contiguous<N>(triangle == batched::Triangle::upper, a, x, info, stream);
  });
  return true;
}

}  // namespace blockjacobi::kernels
