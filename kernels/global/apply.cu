#include "kernels/check.hpp"
#include "kernels/global/block_batch.hpp"
#include "kernels/launch.hpp"
#include "kernels/subwarp/lanes.cuh"
#include "kernels/tuning/apply.hpp"
#include "kernels/tuning/setup.hpp"

#include <type_traits>

namespace blockjacobi::kernels {

namespace {

template <class C>
struct ApplyArguments {
  const C* inverse;
  const BlockSlot* slots;
  const C* r;
  C* z;
};

/// An element of X as op(X) has it.
template <Op op, class C>
__device__ C element(C x) {
  return op == Op::conjugate_transpose ? detail::conj(x) : x;
}

/// z = op(X) r for orders n <= W: a group of W lanes a block, lane i computes z_i. Where op transposes, a lane reads
/// its column one element after the other; the cache lines that it shares with its neighbours stay in L1 meanwhile.
template <int W, Op op, class C>
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
  const int row_step = op == Op::none ? 1 : n;
  const int column_step = op == Op::none ? n : 1;
  const C* x = arguments.inverse + slot.start + (owns ? lanes.rank * row_step : 0);
  C sum{};
#pragma unroll 4
  for (int j = 0; j < n; ++j) sum += element<op>(x[j * column_step]) * lanes.broadcast(own, j);
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

template <class R>
__device__ R sum_of(const Lanes<32>& lanes, R v) {
  return lanes.reduce(v, [](R a, R b) { return a + b; });
}
template <class R>
__device__ detail::Complex<R> sum_of(const Lanes<32>& lanes, detail::Complex<R> v) {
  return {sum_of(lanes, v.re), sum_of(lanes, v.im)};
}

/// z = op(X) r for the same orders where op transposes: blockIdx.y numbers the tiles of columns, a warp takes one
/// column after the other and its lanes share the rows.
template <Op op, class C>
__global__ void __launch_bounds__(block_apply_policy.threads)
    apply_large_transposed_kernel(const ApplyArguments<C> arguments, const index_t first_slot) {
  constexpr int warps = block_apply_policy.threads / 32;
  const BlockSlot slot = arguments.slots[first_slot + static_cast<offset_t>(blockIdx.x)];
  const int n = slot.size;
  const int first = static_cast<int>(blockIdx.y) * block_apply_policy.rows;
  const int end = min(first + block_apply_policy.rows, n);
  const auto lanes = Lanes<32>::current();
  const C* r = arguments.r + slot.first_row;
  for (int j = first + static_cast<int>(threadIdx.x) / 32; j < end; j += warps) {
    const C* x = arguments.inverse + slot.start + j * n;
    C sum{};
#pragma unroll 4
    for (int i = lanes.rank; i < n; i += 32) sum += element<op>(x[i]) * r[i];
    sum = sum_of(lanes, sum);
    if (lanes.rank == 0) arguments.z[slot.first_row + j] = sum;
  }
}

template <int W, Op op, class C>
void launch_apply_tiny(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  constexpr int groups = tiny_apply_threads / W;
  const auto blocks = static_cast<unsigned>((static_cast<offset_t>(range.count) + groups - 1) / groups);
  apply_tiny_kernel<W, op, C><<<blocks, tiny_apply_threads, 0, stream>>>(arguments, range);
  check_launch("apply_tiny_kernel");
}

/// The narrowest lane group that holds the largest order of the range.
template <int W, Op op, class C>
void apply_tiny(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  if constexpr (W < largest_tiny_order)
    if (range.largest > W) return apply_tiny<2 * W, op>(arguments, range, stream);
  launch_apply_tiny<W, op>(arguments, range, stream);
}

template <Op op, class C>
void apply_large(const ApplyArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const dim3 grid(static_cast<unsigned>(range.count),
                  static_cast<unsigned>((range.largest + block_apply_policy.rows - 1) / block_apply_policy.rows));
  if constexpr (op == Op::none)
    apply_large_kernel<C><<<grid, block_apply_policy.threads, 0, stream>>>(arguments, range.first);
  else
    apply_large_transposed_kernel<op, C><<<grid, block_apply_policy.threads, 0, stream>>>(arguments, range.first);
  check_launch("apply_large_kernel");
}

constexpr int tiny_bounds[] = {1, 2, 4, 8, 16, 32};

template <Op op, class C>
void apply_groups(std::span<const BlockGroup> groups, const ApplyArguments<C>& arguments, CUstream_st* stream) {
  for_each_class(groups, 0, tiny_bounds, [&](const SlotRange& range) { apply_tiny<1, op>(arguments, range, stream); });
  for_each_class(groups, largest_tiny_order, block_apply_bounds,
                 [&](const SlotRange& range) { apply_large<op>(arguments, range, stream); });
}

}  // namespace

template <class C>
void apply_blocks(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z, CUstream_st* stream) {
  const ApplyArguments<C> arguments{inverse.data, inverse.slots, r, z};
  constexpr bool is_real = std::is_same_v<C, detail::arithmetic_real_t<C>>;
  if (op == Op::none) return apply_groups<Op::none>(inverse.groups, arguments, stream);
  if (op == Op::transpose || is_real) return apply_groups<Op::transpose>(inverse.groups, arguments, stream);
  if constexpr (!is_real) apply_groups<Op::conjugate_transpose>(inverse.groups, arguments, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C) \
  template void apply_blocks(const BlockBatchView<const C>&, Op, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
