#pragma once

#include "kernels/apply/cta_wide_kernels.cuh"

namespace blockjacobi::kernels {

/// z = alpha X r + beta z, X real and in 16 bits, of an order of whole pieces: a lane has 8 consecutive rows, half a
/// warp a column. A number of two bytes a lane instead needs as many instructions as bytes move meanwhile.
template <class C, detail::Format format, class Blocks>
__global__ void __launch_bounds__(wide_apply_threads)
    apply_wide_pieces_kernel(const __grid_constant__ ApplyPlan plan, const Blocks blocks,
                             const ApplyColumns<C> arguments) {
  constexpr int rows = 8, lanes = narrow_apply_rows / rows, groups = wide_apply_threads / lanes;
  __shared__ C partial[groups][narrow_apply_rows];
  const ApplyGroup& group = plan.group_of(blockIdx.x);
  const auto cta = static_cast<int>(blockIdx.x - group.first_cta);
  const offset_t block = cta / group.share;
  const int n = group.order;
  const offset_t slot = group.first_slot + block;
  const StoredElements<C, format> x(blocks.data + group.start + block * 2 * n * n, exponent_of<format>(blocks, slot));
  const index_t first_row =
      group.first_row >= 0 ? group.first_row + static_cast<index_t>(block) * n : blocks.first_row(slot);
  const int first = cta % group.share * narrow_apply_rows;
  const int rank = static_cast<int>(threadIdx.x) % lanes, own = static_cast<int>(threadIdx.x) / lanes;
  const int row = min(first + rows * rank, n - rows);
  const C* const r = arguments.r.data + first_row * arguments.r.row_stride;
  C sum[rows] = {};
#pragma unroll 2
  for (int j = own; j < n; j += groups) {
    C e[rows];
    x.load(row + j * n, e);
    const C scale = r[j * arguments.r.row_stride];
#pragma unroll
    for (int i = 0; i < rows; ++i) sum[i] += e[i] * scale;
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) partial[own][rows * rank + i] = sum[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < min(narrow_apply_rows, n - first); i += wide_apply_threads) {
    C total = partial[0][i];
#pragma unroll
    for (int g = 1; g < groups; ++g) total += partial[g][i];
    C& z = arguments.z.data[(first_row + first + i) * arguments.z.row_stride];
    const C product = arguments.alpha * x.scaled(total);
    z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
  }
}

}  // namespace blockjacobi::kernels
