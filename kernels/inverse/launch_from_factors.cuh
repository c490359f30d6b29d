#pragma once

#include "kernels/inverse/cta_from_lu_kernels.cuh"
#include "kernels/inverse/cta_pseudo_kernels.cuh"
#include "kernels/inverse/lanes_kernels.cuh"
#include "kernels/inverse/launch.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream) {
  launch_lanes(LuInverse<C>{lu, ipiv, x, info}, "getri", stream);
  const int n = lu.rows;
  if (n <= largest_tiny_order) return;
  with_large_policy<inverse_from_lu_policy, scalar_of<C>>(n, "getri", [&]<InverseFromLuPolicy policy>() {
    if constexpr (policy.design == InverseFromLuDesign::cta_plain) {
      getri_cta_plain_kernel<C>
          <<<grid_for(lu.count, 1, "getri"), plain_inverse_threads, 0, stream>>>(lu, ipiv, x, info);
      check_launch("getri");
    } else {
      using Inverse = CtaLuInverse<C, policy.columns>;
      constexpr auto bytes = [](int order) {
        return GetriLayout::bytes(order) + Inverse::scratch_bytes(order, policy.stages);
      };
      static_assert(has_room<inverse_from_lu_policy, scalar_of<C>, policy>(bytes));
      launch_ctas(getri_cta_kernel<C, policy.columns, 32 * policy.warps, policy.per_multiprocessor>, "getri", n,
                  lu.count, bytes(n), stream, lu, ipiv, x, policy.stages, info);
    }
  });
}

template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    const MatrixBatchView<C>& work, CUstream_st* stream) {
  launch_lanes(PseudoInverse<C>{a, x, rtol, rank}, "pseudo_inverse", stream);
  if (a.rows <= largest_tiny_order) return;
  constexpr int warps = pseudo_inverse_warps;
  const std::size_t vectors = sizeof(C) * static_cast<std::size_t>(warps * a.rows);
  launch_ctas(pseudo_inverse_cta_kernel<C>, "pseudo_inverse", 32 * warps, std::min(a.count, work.count),
              sizeof(PseudoInverseShared<C>) + vectors, stream, a, x, rtol, rank, work);
}

}  // namespace blockjacobi::kernels
