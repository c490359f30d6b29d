#include "kernels/check.hpp"
#include "kernels/global/block_batch.hpp"
#include "kernels/launch.hpp"
#include "kernels/subwarp/lanes.cuh"
#include "kernels/tuning/apply.hpp"
#include "kernels/tuning/setup.hpp"

namespace blockjacobi::kernels {

namespace {

template <class C>
struct ApplyArguments {
  const C* inverse;
  const BlockSlot* slots;
  const C* r;
  C* z;
};

/// z = X r for orders n <= W: a group of W lanes a block, lane i computes z_i.
template <int W, class C>
__global__ void __launch_bounds__(tiny_apply_threads)
    apply_tiny_kernel(const ApplyArguments<C> arguments, const SlotRange range) {
  constexpr int groups = tiny_apply_threads / W;
  const offset_t member = static_cast<offset_t>(blockIdx.x) * groups + static_cast<int>(threadIdx.x) / W;
  if (member >= range.count) return;  // whole groups leave
  const BlockSlot slot = arguments.slots[range.first + member];
  const auto lanes = Lanes<W>::current();
  const int n = slot.size;
  const bool owns = lanes.rank < n;
  const C own = owns ? arguments.r[slot.first_row + lanes.rank] : C{};
  const C* x = arguments.inverse + slot.start + (owns ? lanes.rank : 0);
  C sum{};
#pragma unroll 4
  for (int j = 0; j < n; ++j) sum += x[j * n] * lanes.broadcast(own, j);
  if (owns) arguments.z[slot.first_row + lanes.rank] = sum;
}

/// z = X r for orders above: blockIdx.y numbers the tiles of rows, each warp sums its share of the columns.
template <class C>
__global__ void __launch_bounds__(block_apply_policy.threads)
    apply_large_kernel(const ApplyArguments<C> arguments, const index_t first_slot) {
  constexpr int warps = block_apply_policy.threads / 32;
  constexpr int tile = block_apply_policy.rows;
  constexpr int rows_per_lane = tile / 32;
  __shared__ C partial[warps][tile];

  const BlockSlot slot = arguments.slots[first_slot + static_cast<offset_t>(blockIdx.x)];
  const int n = slot.size;
  const int first = static_cast<int>(blockIdx.y) * tile;
  if (first >= n) return;  // the whole thread block: the launch has tiles for the largest order
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const C* x = arguments.inverse + slot.start;
  const C* r = arguments.r + slot.first_row;

  C sum[rows_per_lane] = {};
  int row[rows_per_lane];
#pragma unroll
  for (int k = 0; k < rows_per_lane; ++k) row[k] = min(first + lane + 32 * k, n - 1);
#pragma unroll 4
  for (int j = warp; j < n; j += warps) {
    const C scale = r[j];
#pragma unroll
    for (int k = 0; k < rows_per_lane; ++k) sum[k] += x[row[k] + j * n] * scale;
  }
#pragma unroll
  for (int k = 0; k < rows_per_lane; ++k) partial[warp][lane + 32 * k] = sum[k];
  __syncthreads();

  const int own = static_cast<int>(threadIdx.x);
  if (own >= tile || first + own >= n) return;
  C total = partial[0][own];
#pragma unroll
  for (int w = 1; w < warps; ++w) total += partial[w][own];
  arguments.z[slot.first_row + first + own] = total;
}

template <int W, class C>
void launch_apply_tiny(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  constexpr int groups = tiny_apply_threads / W;
  const auto blocks = static_cast<unsigned>((static_cast<offset_t>(range.count) + groups - 1) / groups);
  apply_tiny_kernel<W, C><<<blocks, tiny_apply_threads, 0, stream>>>(arguments, range);
  check_launch("apply_tiny_kernel");
}

/// The narrowest lane group that holds the largest order of the range.
template <int W, class C>
void apply_tiny(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  if constexpr (W < largest_tiny_order)
    if (range.largest > W) return apply_tiny<2 * W>(arguments, range, stream);
  launch_apply_tiny<W>(arguments, range, stream);
}

template <class C>
void apply_large(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const dim3 grid(static_cast<unsigned>(range.count),
                  static_cast<unsigned>((range.largest + block_apply_policy.rows - 1) / block_apply_policy.rows));
  apply_large_kernel<C><<<grid, block_apply_policy.threads, 0, stream>>>(arguments, range.first);
  check_launch("apply_large_kernel");
}

constexpr int tiny_bounds[] = {1, 2, 4, 8, 16, 32};

}  // namespace

template <class C>
void apply_blocks(const BlockBatchView<const C>& inverse, const C* r, C* z, CUstream_st* stream) {
  const ApplyArguments<C> arguments{inverse.data, inverse.slots, r, z};
  for_each_class(inverse.groups, 0, tiny_bounds,
                 [&](const SlotRange& range) { apply_tiny<1>(arguments, range, stream); });
  for_each_class(inverse.groups, largest_tiny_order, block_apply_bounds,
                 [&](const SlotRange& range) { apply_large(arguments, range, stream); });
}

#define BLOCKJACOBI_INSTANTIATE(C) \
  template void apply_blocks(const BlockBatchView<const C>&, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
