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
  extern __shared__ __align__(16) unsigned char shared[];

  const auto cluster = cooperative_groups::this_cluster();
  const auto rank = static_cast<int>(cluster.block_rank()), ctas = static_cast<int>(cluster.num_blocks());
  const bool is_first = rank == 0;
  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x / cluster.num_blocks());
  const int n = arguments.slots[s].size;
  const detail::MatrixRef<C> inverse{arguments.inverse + arguments.slots[s].start, n, n, n};
  const MappedBlock<C> block(arguments.values, arguments.map, s);
  const CtaScales<C> scales(shared, n);
  const Elimination elimination(shared + CtaScales<C>::bytes(n), n);
  const typename Elimination::Panel& panel = elimination;

  Outcome<Real> outcome{detail::info_ill_conditioned(n), 0};
  const bool serve = scales.find(
      RowTiles<C>{block, inverse, panel.panel, panel.layout.panel / panel.layout.ld, panel.layout.ld, rank, ctas});
  cluster.sync();  // all of the block has come
  if (serve) {
    const auto result = elimination.run(block.elements(inverse), inverse, scales);
    if (result.info != 0) {
      outcome = {result.info, 0};
    } else if (result.regular) {
      cluster.sync();
      if (is_first) {
        scales.add_from(cluster);
        scales.arrived();
        outcome.rcond = reciprocal_condition(scales.norm(), scales.norm_of_inverse());
        if (outcome.rcond >= detail::singular_threshold<Real>(n) &&
            scales_serve(scales, panel.state, arguments.values, arguments.map, s))
          outcome.info = 0;
      }
    }
  }
  cluster.sync();  // no thread block leaves while another reads its memory, or the block that it replaces
  if (!is_first) return;
  if (!serve && scales.has_row_out_of_range()) {
    const int bad = replace_non_finite(scales, arguments.values, arguments.map, s, inverse, arguments.fallback);
    if (bad != INT_MAX) outcome = {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
  }
  if (threadIdx.x == 0) store_outcome(arguments, arguments.slots[s], outcome);
#endif
}

}  // namespace blockjacobi::kernels
