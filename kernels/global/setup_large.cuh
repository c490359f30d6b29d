#pragma once

#include "kernels/block/block_gauss_jordan.cuh"
#include "kernels/block/gauss_jordan.cuh"
#include "kernels/block/reduce.cuh"
#include "kernels/check.hpp"
#include "kernels/global/blocked_launch.cuh"
#include "kernels/global/setup.cuh"
#include "kernels/subwarp/extract.cuh"
#include "kernels/subwarp/lanes.cuh"
#include "kernels/tuning/setup.hpp"

#include <climits>

namespace blockjacobi::kernels {

/// Scalars, then reals, then integers of the dynamic shared memory.
struct LargeSharedLayout {
  std::size_t scalars;
  std::size_t integers;
};

__host__ __device__ constexpr LargeSharedLayout large_shared_layout(int n, int panel) {
  const auto order = static_cast<std::size_t>(n);
  const auto width = static_cast<std::size_t>(panel);
  return {2 * order * width + width + order, 3 * order};
}

template <class C>
__host__ __device__ constexpr std::size_t large_shared_bytes(int n, int panel) {
  const LargeSharedLayout layout = large_shared_layout(n, panel);
  return layout.scalars * sizeof(C) + layout.integers * sizeof(int);
}

/// Shared memory whose size does not depend on the order.
template <class C>
struct LargeScratch {
  ReduceScratch<1, detail::arithmetic_real_t<C>> reals;
  ReduceScratch<1, int> integers;
  detail::arithmetic_real_t<C> magnitude;
};

/// A block of order 33..512 in its place, and so in L2, worked on by a thread block.
template <class C>
struct LargeBlock {
  using R = detail::arithmetic_real_t<C>;

  BlockElimination<C> elimination;
  C* diagonal;
  int* row_exponent;
  int* column_exponent;
  LargeScratch<C>& scratch;

  __device__ LargeBlock(C* block, int n, int panel_width, unsigned char* shared, LargeScratch<C>& scratch_)
      : scratch(scratch_) {
    C* next = reinterpret_cast<C*>(shared);
    int* integers = reinterpret_cast<int*>(next + large_shared_layout(n, panel_width).scalars);
    const auto take = [&next](int count) {
      C* taken = next;
      next += count;
      return taken;
    };
    elimination = {
        block,   n, n, panel_width, take(n * panel_width), take(n * panel_width), take(panel_width), &scratch.magnitude,
        integers};
    diagonal = take(n);
    row_exponent = integers + n;
    column_exponent = integers + 2 * n;
  }

  __device__ int n() const { return elimination.n; }
  __device__ C& at(int i, int j) const { return elimination.a[i + static_cast<offset_t>(j) * elimination.ld]; }

  /// visit(i, j) over all elements: a warp for each column.
  template <class Visit>
  __device__ void for_each_element(Visit visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    for (int j = static_cast<int>(threadIdx.x) / 32; j < n(); j += warps)
      for (int i = lane; i < n(); i += 32) visit(i, j);
  }

  /// visit(i) over all rows or columns: a thread for each.
  template <class Visit>
  __device__ void for_each_row(Visit visit) const {
    for (int i = static_cast<int>(threadIdx.x); i < n(); i += static_cast<int>(blockDim.x)) visit(i);
  }

  __device__ void clear() const {
    for_each_element([&](int i, int j) { at(i, j) = C{}; });
    __syncthreads();
  }

  __device__ void extract(const C* values, const detail::PositionMapView& map, offset_t slot) const {
    const MapRange entries = range_of(map, slot);
    if (entries.slot.row_stride != 0) {
      const C* const first = values + entries.slot.first_source;
      for_each_element([&](int j, int i) { at(i, j) = first[i * entries.slot.row_stride + j]; });  // row by row
    } else {
      clear();
      extract_entries(values, map, entries, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x),
                      [&](int i, int j, C value) { at(i, j) = value; });
    }
    __syncthreads();
    for_each_row([&](int i) { diagonal[i] = at(i, i); });
    __syncthreads();
  }

  /// i + j n of the first element in column-major order that is NaN or Inf; INT_MAX if there is none.
  __device__ int first_non_finite() const {
    int first = INT_MAX;
    for_each_element([&](int i, int j) {
      if (!detail::finite(at(i, j))) first = min(first, i + j * n());
    });
    return block_reduce(first, scratch.integers, [](int a, int b) { return a < b ? a : b; });
  }

  /// Scales rows, then columns, by powers of two; columns would underflow between the two.
  __device__ void equilibrate() const {
    for_each_row([&](int i) {
      R largest = 0;
      for (int j = 0; j < n(); ++j) largest = fmax(largest, detail::abs1(at(i, j)));
      row_exponent[i] = detail::equilibrating_exponent(largest);
    });
    __syncthreads();
    const auto lanes = Lanes<32>::current();
    const int warps = static_cast<int>(blockDim.x) / 32;
    for (int j = static_cast<int>(threadIdx.x) / 32; j < n(); j += warps) {
      int largest = detail::no_exponent;
      for (int i = lanes.rank; i < n(); i += 32)
        largest = max(largest, detail::magnitude_exponent(detail::abs1(at(i, j))) + row_exponent[i]);
      largest = lanes.reduce(largest, [](int a, int b) { return a > b ? a : b; });
      const int exponent = detail::equilibrating_exponent(largest);
      if (lanes.rank == 0) column_exponent[j] = exponent;
      for (int i = lanes.rank; i < n(); i += 32)
        at(i, j) = detail::scale_by_power(at(i, j), row_exponent[i] + exponent);
    }
    __syncthreads();
  }

  __device__ R infinity_norm() const {
    R norm = 0;
    for_each_row([&](int i) {
      R sum = 0;
      for (int j = 0; j < n(); ++j) sum += detail::modulus(at(i, j));
      norm = LargerOrNan<R>{}(norm, sum);
    });
    return block_reduce(norm, scratch.reals, LargerOrNan<R>{});
  }

  /// (R A C)^-1 = C^-1 A^-1 R^-1: element (i, j) takes the scales of column i and row j. False if it overflows.
  __device__ bool undo_scaling() const {
    bool all_finite = true;
    for_each_element([&](int i, int j) {
      const C x = detail::scale_by_power(at(i, j), column_exponent[i] + row_exponent[j]);
      all_finite = all_finite && detail::finite(x);
      at(i, j) = x;
    });
    return __syncthreads_and(all_finite) != 0;
  }

  /// Equilibrates and inverts a finite block, which `invert` does; it returns as BlockGaussJordan::run().
  template <class Invert>
  __device__ Outcome<R> solve(Invert invert) const {
    equilibrate();
    const R norm = infinity_norm();
    const auto outcome = invert();
    if (outcome.info != 0) return {outcome.info, R(0)};
    const R rcond = outcome.regular ? reciprocal_condition(norm, infinity_norm()) : R(0);
    const bool finite = outcome.regular && undo_scaling();
    const bool accepted = finite && rcond >= detail::singular_threshold<R>(n());
    return {accepted ? 0 : detail::info_ill_conditioned(n()), rcond};
  }

  __device__ void set_diagonal(detail::Fallback fallback) const {
    __syncthreads();
    clear();
    for_each_row([&](int i) { at(i, i) = detail::fallback_diagonal(fallback, diagonal[i]); });
    __syncthreads();
  }
};

/// Dynamic shared memory that a thread block of the kernel may use beside the static one, which the compiler may pad.
template <class Kernel>
std::size_t bytes_limit(Kernel* kernel) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes(setup_large_kernel)");
  constexpr std::size_t granularity = 128;
  return (shared_memory_limit() - attributes.sharedSizeBytes) / granularity * granularity;
}

template <class C, int W>
__global__ void __launch_bounds__(largest_blocked_order, 1)
    setup_large_kernel(const SetupArguments<C> arguments, const index_t first_slot, const GaussJordanPolicy policy) {
  using Real = detail::arithmetic_real_t<C>;
  using Elimination = BlockGaussJordan<C, W>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ LargeScratch<C> scratch;

  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  const BlockSlot slot = arguments.slots[s];
  const int n = slot.size;
  C* stored = arguments.inverse + slot.start;
  const LargeBlock<C> block(stored, n, 0, shared, scratch);

  block.extract(arguments.values, arguments.map, s);
  const int bad = block.first_non_finite();
  Outcome<Real> outcome{detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
  if (bad == INT_MAX)
    outcome = block.solve([&] {
      const auto layout = Elimination::Layout::of(n, policy);
      const Elimination elimination{shared + aligned_bytes(large_shared_bytes<C>(n, 0)), n, layout};
      const auto result = elimination.run({stored, n, n, n}, {stored, n, n, n});
      __syncthreads();
      return result;
    });
  if (outcome.info != 0) block.set_diagonal(arguments.fallback);
  if (threadIdx.x == 0) store_outcome(arguments, slot, outcome);
}

template <class C>
void setup_large(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  constexpr int width = gauss_jordan_width(scalar_words<C>, detail::Arithmetic<C>::is_complex);
  using Elimination = BlockGaussJordan<C, width>;
  const int n = range.largest, threads = Elimination::Layout::threads(n);
  const auto policy = Elimination::Layout::policy(n);
  const std::size_t bytes =
      aligned_bytes(large_shared_bytes<C>(n, 0)) + Elimination::bytes(n, Elimination::Layout::of(n, policy));
  constexpr auto kernel = setup_large_kernel<C, width>;
  // why not `bytes`: a launch recorded in a graph must not lose its right to a later, smaller one
  check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes_limit(kernel))),
      "cudaFuncSetAttribute(setup_large_kernel)");
  kernel<<<static_cast<unsigned>(range.count), static_cast<unsigned>(threads), bytes, stream>>>(arguments, range.first,
                                                                                                policy);
  check_launch("setup_large_kernel");
}

}  // namespace blockjacobi::kernels
