#pragma once

#include "kernels/apply/launch.hpp"
#include "kernels/apply/plan.hpp"
#include "kernels/apply/policy.hpp"
#include "kernels/collectives/deal_out.cuh"
#include "kernels/storage/elements.cuh"

namespace blockjacobi::kernels {

// Products with small blocks straight from global memory, where the vectors are so much of what is moved that
// shared memory costs more than it saves. Some lanes, which are neighbours in a warp, have a block together; those
// without one only take part in the shuffles.

/// The block of a lane.
template <int n, int lanes>
struct DirectBlock {
  static constexpr int at_once = direct_apply_threads / lanes;  ///< of a thread block

  offset_t number;  ///< in its group
  int rank;
  bool exists;

  __device__ explicit DirectBlock(const ApplyGroup& group)
      : number(offset_t{blockIdx.x} * at_once + threadIdx.x / lanes),
        rank(static_cast<int>(threadIdx.x) % lanes),
        exists(number < group.count) {}

  template <class Blocks>
  __device__ offset_t first_row(const ApplyGroup& group, const Blocks& blocks) const {
    return group.first_row >= 0 ? group.first_row + number * n : offset_t{blocks.first_row(group.first_slot + number)};
  }
};

template <class C>
__device__ void store_product(const ApplyColumns<C>& arguments, C sum, C& z) {
  const C product = arguments.alpha * sum;
  z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
}

/// z = alpha X r + beta z, X in a narrow format: a lane reads its columns of X as one piece, and the rows of z are
/// dealt out as the columns were.
template <detail::Format format, int n, class Blocks>
__global__ void __launch_bounds__(direct_apply_threads)
    apply_narrow_columns_kernel(const ApplyGroup group, const Blocks blocks, const ApplyColumns<double> arguments) {
  constexpr int lanes = direct_apply_narrow_lanes, own = n / lanes, part_bytes = detail::format_part_bytes(format, 8);
  constexpr int words = own * n * part_bytes / 4, at_once = words % 4 == 0 ? 4 : 2;
  struct alignas(4 * at_once) Piece {
    std::uint32_t words[at_once];
  };
  const DirectBlock<n, lanes> block(group);
  double sum[n] = {};
  offset_t row = 0;
  int exponent = 0;
  if (block.exists) {
    std::uint32_t x[words];
    const std::byte* const data = blocks.data + group.start + block.number * (n * n * part_bytes);
    const Piece* const pieces = reinterpret_cast<const Piece*>(data) + block.rank * (words / at_once);
#pragma unroll
    for (int p = 0; p < words / at_once; ++p) {
      const Piece piece = pieces[p];
#pragma unroll
      for (int w = 0; w < at_once; ++w) x[p * at_once + w] = piece.words[w];
    }
    row = block.first_row(group, blocks) + block.rank * own;
    double r[own];
#pragma unroll
    for (int j = 0; j < own; ++j) r[j] = arguments.r.data[(row + j) * arguments.r.row_stride];
    exponent = exponent_of<format>(blocks, group.first_slot + block.number);
    const auto element = [&x](int e) {
      if constexpr (part_bytes == 4)
        return widened<format>(__uint_as_float(x[e]));
      else
        return widened_upper<format>(e % 2 == 0 ? x[e / 2] << 16 : x[e / 2]);
    };
#pragma unroll
    for (int j = 0; j < own; ++j)
#pragma unroll
      for (int i = 0; i < n; ++i) sum[i] += element(j * n + i) * r[j];
  }
  sum_and_deal_out<lanes>(sum, block.rank);
  if (!block.exists) return;
  const double factor = detail::power_of_two(double(), exponent);
#pragma unroll
  for (int i = 0; i < own; ++i)
    store_product(arguments, factor * sum[i], arguments.z.data[(row + i) * arguments.z.row_stride]);
}

}  // namespace blockjacobi::kernels
