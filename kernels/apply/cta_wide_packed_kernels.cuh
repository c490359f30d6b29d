#pragma once

#include "kernels/apply/cta_wide_kernels.cuh"

namespace blockjacobi::kernels {

/// z = alpha op(X) r + beta z for packed triangles that do not fit into shared memory, a thread block each. Every
/// number is read once, for its row and for its column: a warp walks down a column, whose product it sums up, and its
/// lanes keep the sums of M rows each, 32 apart. Orders up to 32 M.
template <class C, int M, class Blocks>
__global__ void __launch_bounds__(wide_apply_threads, detail::Arithmetic<C>::is_complex || M > 8 ? 1 : 3)
    apply_wide_packed_kernel(const __grid_constant__ ApplyPlan plan, const Blocks blocks,
                             const ApplyColumns<C> arguments) {
  constexpr int warps = wide_apply_threads / 32, rows = 32 * M;
  constexpr int together = detail::Arithmetic<C>::is_complex ? 1 : 2;  // columns whose loads are under way
  extern __shared__ __align__(16) std::byte memory[];
  C* const r = reinterpret_cast<C*>(memory);
  C* const products = r + rows;
  C* const partial = products + rows;  // [warps][rows]

  const ApplyGroup& group = plan.group_of(blockIdx.x);
  const offset_t block = blockIdx.x - group.first_cta;
  const int n = group.order;
  const C* const x = reinterpret_cast<const C*>(blocks.data + group.start) + block * (n * (n + 1) / 2);
  const index_t first_row = group.first_row >= 0 ? group.first_row + static_cast<index_t>(block) * n
                                                 : blocks.first_row(group.first_slot + block);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const auto lanes = Lanes<32>::current();
  const C* const source = arguments.r.data + first_row * arguments.r.row_stride;
  for (int i = thread; i < rows; i += wide_apply_threads) r[i] = i < n ? source[i * arguments.r.row_stride] : C{};
  __syncthreads();

  // X^T is the conjugate of X, X^H is X.
  const bool conjugated = arguments.op == Op::transpose;
  C sum[M] = {};
  for (int j0 = warp; j0 < n; j0 += warps * together) {
    C e[together][M];
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = j0 + t * warps;
      const C* const column = x + j * (2 * n - j - 1) / 2;
#pragma unroll
      for (int m = 0; m < M; ++m) {
        const int i = lanes.rank + 32 * m;
        e[t][m] = i >= j && i < n ? column[i] : C{};
        if (conjugated) e[t][m] = detail::conj(e[t][m]);
      }
    }
    C product[together] = {};
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = j0 + t * warps;
      if (j >= n) break;
      const C scale = r[j];
#pragma unroll
      for (int m = 0; m < M; ++m) {
        if (32 * m + 31 < j) continue;
        const int i = lanes.rank + 32 * m;
        sum[m] += e[t][m] * scale;
        product[t] += (i > j ? detail::conj(e[t][m]) : C{}) * r[i];
      }
    }
    if constexpr (together == 2) {
      // Each half of the warp sums up the product of one column.
      const auto half = Lanes<16>::current();
      const bool upper = lanes.rank >= 16;
      const C own = upper ? product[1] : product[0], other = upper ? product[0] : product[1];
      const C total = half.reduce(own + __shfl_xor_sync(lanes.mask, other, 16), [](C a, C b) { return a + b; });
      const int j = j0 + (upper ? warps : 0);
      if (half.rank == 0 && j < n) products[j] = total;
    } else {
      const C total = sum_of(lanes, product[0]);
      if (lanes.rank == 0) products[j0] = total;
    }
  }
#pragma unroll
  for (int m = 0; m < M; ++m) partial[warp * rows + lanes.rank + 32 * m] = sum[m];
  __syncthreads();
  for (int i = thread; i < n; i += wide_apply_threads) {
    C total = products[i];
#pragma unroll
    for (int w = 0; w < warps; ++w) total += partial[w * rows + i];
    C& z = arguments.z.data[(first_row + i) * arguments.z.row_stride];
    const C product = arguments.alpha * total;
    z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
  }
}

/// Bytes of its shared memory.
template <class C, int M>
constexpr unsigned wide_packed_shared() {
  return (2 + wide_apply_threads / 32) * 32 * M * sizeof(C);
}

}  // namespace blockjacobi::kernels
