#pragma once

#include "core/shared/singular_rule.hpp"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/collectives/equilibrate.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/inverse/cta_in_place.cuh"
#include "kernels/setup/extract.cuh"
#include "kernels/setup/outcome.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// Scalars, then reals, then integers of the dynamic shared memory.
struct CtaBlockLayout {
  std::size_t scalars;
  std::size_t integers;
};

__host__ __device__ constexpr CtaBlockLayout cta_block_layout(int n, int panel) {
  const auto order = static_cast<std::size_t>(n);
  const auto width = static_cast<std::size_t>(panel);
  return {2 * order * width + width + order, 3 * order};
}

template <class C>
__host__ __device__ constexpr std::size_t cta_block_bytes(int n, int panel) {
  const CtaBlockLayout layout = cta_block_layout(n, panel);
  return layout.scalars * sizeof(C) + layout.integers * sizeof(int);
}

/// Shared memory whose size does not depend on the order.
template <class C>
struct CtaBlockScratch {
  ReduceScratch<1, detail::arithmetic_real_t<C>> reals;
  ReduceScratch<1, int> integers;
  detail::arithmetic_real_t<C> magnitude;
};

/// A thread block, as detail::Equilibration sees it.
struct CtaGroup {
  ReduceScratch<1, int>& scratch;
  int rank, size;

  __device__ void sync() const { __syncthreads(); }
  __device__ bool any(bool predicate) const { return predicate; }
  __device__ int max(int value) const {
    return cta_reduce(value, scratch, [](int x, int y) { return x > y ? x : y; });
  }
  __device__ int min(int value) const {
    return cta_reduce(value, scratch, [](int x, int y) { return x < y ? x : y; });
  }
};

/// A block of any order in its place, and so in L2, worked on by a thread block.
template <class C>
struct CtaBlock {
  using R = detail::arithmetic_real_t<C>;

  InPlaceElimination<C> elimination;
  C* diagonal;
  int* row_exponent;
  int* column_exponent;
  CtaBlockScratch<C>& scratch;

  __device__ CtaBlock(C* block, int n, int panel_width, unsigned char* shared, CtaBlockScratch<C>& scratch_)
      : scratch(scratch_) {
    C* next = reinterpret_cast<C*>(shared);
    int* integers = reinterpret_cast<int*>(next + cta_block_layout(n, panel_width).scalars);
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
    return cta_reduce(first, scratch.integers, [](int a, int b) { return a < b ? a : b; });
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

  /// Scales by detail::Equilibration. `work`: EquilibrationWork::bytes(n) of shared memory.
  __device__ void equilibrate_thoroughly(void* work) const {
    kernels::equilibrate<C, CtaGroup>({&at(0, 0),
                                       elimination.ld,
                                       n(),
                                       {scratch.integers, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)},
                                       row_exponent,
                                       column_exponent,
                                       detail::EquilibrationWork::at(work, n())});
    for_each_element(
        [&](int i, int j) { at(i, j) = detail::scale_by_power(at(i, j), row_exponent[i] + column_exponent[j]); });
    __syncthreads();
  }

  __device__ R infinity_norm() const {
    R norm = 0;
    for_each_row([&](int i) {
      R sum = 0;
      for (int j = 0; j < n(); ++j) sum += detail::modulus(at(i, j));
      norm = LargerOrNan<R>{}(norm, sum);
    });
    return cta_reduce(norm, scratch.reals, LargerOrNan<R>{});
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

  __device__ void set_diagonal(detail::Fallback fallback) const {
    __syncthreads();
    clear();
    for_each_row([&](int i) { at(i, i) = detail::fallback_diagonal(fallback, diagonal[i]); });
    __syncthreads();
  }
};

}  // namespace blockjacobi::kernels
