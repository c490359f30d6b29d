#pragma once

#include "kernels/inverse/cluster.cuh"
#include "kernels/setup/cta_kernels.cuh"

namespace blockjacobi::kernels {

/// A block a cluster of thread blocks, as inverse_cluster_kernel(). Each of them finds the scales for itself, which all
/// panels need; the moduli of rows are summed up over the cluster.
template <class C, int W>
__global__ void __launch_bounds__(largest_order, 1)
    setup_cluster_kernel(const SetupArguments<C> arguments, const index_t first_slot) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  using Real = detail::arithmetic_real_t<C>;
  using Elimination = ClusterGaussJordan<C, W>;
  using Found = typename CtaScales<C>::Found;
  extern __shared__ __align__(16) unsigned char shared[];

  const auto cluster = cooperative_groups::this_cluster();
  const bool is_first = cluster.block_rank() == 0;
  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x / cluster.num_blocks());
  const int n = arguments.slots[s].size;
  const detail::MatrixRef<C> inverse{arguments.inverse + arguments.slots[s].start, n, n, n};
  const CtaScales<C> scales(shared, n);
  if (is_first) static_cast<void>(bring_block(arguments.values, arguments.map, s, inverse));
  cluster.sync();
  const SteppedRef<const C> block = place_of_block(arguments.values, arguments.map, s, inverse);

  Outcome<Real> outcome{detail::info_ill_conditioned(n), 0};
  const Found found = scales.find(block);
  if (found == Found::serve) {
    const Elimination elimination(shared + CtaScales<C>::bytes(n), n);
    const auto result = elimination.run(block, inverse, scales);
    if (result.info != 0) {
      outcome = {result.info, 0};
    } else if (result.regular) {
      cluster.sync();
      if (is_first) {
        scales.add_from(cluster);
        const auto* const state = static_cast<const typename Elimination::Panel&>(elimination).state;
        outcome.rcond = reciprocal_condition(scales.norm(), scales.norm_of_inverse());
        if (outcome.rcond >= detail::singular_threshold<Real>(n) &&
            scales_serve(scales, state, arguments.values, arguments.map, s))
          outcome.info = 0;
      }
    }
  }
  cluster.sync();  // no thread block leaves while another reads its memory, or the block that it replaces
  if (!is_first) return;
  if (found == Found::non_finite) {
    const int bad = scales.first_non_finite(block);
    outcome = {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
    store_fallback(block, inverse, arguments.fallback);
  }
  if (threadIdx.x == 0) store_outcome(arguments, arguments.slots[s], outcome);
#endif
}

}  // namespace blockjacobi::kernels
