#pragma once

#include "kernels/inverse/launch.hpp"
#include "kernels/inverse/team_definite_kernels.cuh"
#include "kernels/inverse/thread_kernels.cuh"

namespace blockjacobi::kernels {

template <int N, class C>
void launch_spd_inverse_packed(bool upper, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                               CUstream_st* stream) {
  using enum InverseDesign;
  constexpr InversePolicy policy = spd_inverse_policy(compiled_device, scalar_of<C>, N);
  constexpr InverseDesign design = policy.design;
  constexpr int threads = 32 * policy.warps;
  const PackedBatch<const C, N> source{a.data, a.count};
  const PackedBatch<C, N> target{x.data, x.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes, auto triangle) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "spd_inverse"), threads, bytes, stream>>>(source, target, info, triangle);
    check_launch("spd_inverse");
  };
  if constexpr (design == straight) {
    launch(inverse_straight_kernel<N, C, DefiniteInversion>, straight_share<N>, 0, DefiniteInversion{upper});
  } else if constexpr (design == shuffled) {
    launch(inverse_shuffled_kernel<N, C, DefiniteInversion>, threads, 0, DefiniteInversion{upper});
  } else {
    static_assert(design == thread);
    launch(spd_inverse_thread_kernel<N, C>, threads, ThreadStage<C, N, threads>::shared_bytes, upper);
  }
}

template <int N, class C>
void launch_spd_inverse_class(bool upper, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, bool packed,
                              int* info, CUstream_st* stream) {
  constexpr std::size_t bytes = static_cast<std::size_t>(spd_teams<N, C>) * SpdScratch<N, C>::bytes;
  auto* kernel = spd_inverse_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_chunk, "spd_inverse"), 32 * spd_team<N, C>.warps, bytes, stream>>>(
      StridedBatch<const C>{a}, StridedBatch<C>{x}, info, upper, packed);
  check_launch("spd_inverse");
}

template <class C>
void tiny_spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                      batched::SpdStorage storage, int* info, CUstream_st* stream) {
  const bool upper = triangle == batched::Triangle::upper, packed = storage == batched::SpdStorage::packed;
  constexpr int largest = largest_spd_thread_order(scalar_of<C>);
  if (!packed && a.rows <= largest && is_packed_batch(a) && is_packed_batch(x))
    with_order(a.rows, [&]<int N>() {
      if constexpr (N <= largest) launch_spd_inverse_packed<N>(upper, a, x, info, stream);
    });
  else
    for_each_class_of(a, [&]<int N>() { launch_spd_inverse_class<N>(upper, a, x, packed, info, stream); });
}

}  // namespace blockjacobi::kernels
