#pragma once

#include "kernels/inverse/cta_definite_kernels.cuh"
#include "kernels/inverse/launch.hpp"
#include "kernels/inverse/team_definite_kernels.cuh"
#include "kernels/inverse/thread_kernels.cuh"

#include <algorithm>

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

/// The contiguous batches of tiny orders that have a design of their own; whether it is one.
template <class C>
bool launch_spd_inverse_tiny(bool upper, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                             CUstream_st* stream) {
  const auto has_own = [](int n) {
    return spd_inverse_policy(compiled_device, scalar_of<C>, n).design != InverseDesign::cta_definite;
  };
  if (!is_contiguous_batch(a) || !is_contiguous_batch(x) || a.rows > largest_tiny_order || !has_own(a.rows))
    return false;
  with_order(a.rows, [&]<int N>() {
    if constexpr (spd_inverse_policy(compiled_device, scalar_of<C>, N).design != InverseDesign::cta_definite)
      launch_spd_inverse_contiguous<N>(upper, a, x, info, stream);
  });
  return true;
}

template <class C>
int largest_spd_inverse_at_once() {
  return largest_definite_order(current_device(), scalar_of<C>);
}

template <class C>
int spd_inverse_at_once(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                        batched::SpdStorage storage, int* info, CUstream_st* stream) {
  const bool upper = triangle == batched::Triangle::upper, packed = storage == batched::SpdStorage::packed;
  if (!packed && launch_spd_inverse_tiny(upper, a, x, info, stream)) return largest_tiny_order;
  const int largest = std::min<int>(a.rows, largest_spd_inverse_at_once<C>());
  // why: of one order, none of those that there are might be small enough
  if (a.orders == nullptr && a.rows > largest) return largest;
  // Of mixed orders some at a time, since all thread blocks of a launch get what the largest needs.
  int above = -1;
  for (const int bound : definite_bounds) {
    const int last = std::min(bound, largest);
    if (last <= above || (a.orders == nullptr && last < largest)) continue;
    launch_ctas(spd_inverse_cta_kernel<C>, "spd_inverse", 32 * definite_warps(scalar_of<C>, last), a.count,
                CtaDefinite<C>::bytes(last), stream, a, x, above, last, upper, packed, info);
    above = last;
  }
  return largest;
}

}  // namespace blockjacobi::kernels
