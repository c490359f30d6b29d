#pragma once

#include "core/shared/scalar.hpp"
#include "kernels/collectives/lanes.cuh"
#include "kernels/collectives/load_once.cuh"
#include "kernels/krylov/csr_shape.hpp"
#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::kernels {

/// The product of the rows of a CSR matrix with x.
template <class C>
struct CsrRows {
  index_t rows;
  const int* __restrict__ offsets;
  const index_t* __restrict__ columns;
  const C* __restrict__ values;
  int base;
  const C* __restrict__ x;
};

template <class C>
CsrRows<C> rows_of(const CsrView<C, std::int32_t>& a, const C* x) {
  return {a.rows, a.row_offsets, a.columns, a.values, static_cast<int>(a.base), x};
}

/// products[k] = entry first + k stride times its element of x, 0 from `end` on; all are on the way at once.
template <int K, class C>
__device__ void load_products(const CsrRows<C>& a, int first, int stride, int end, C (&products)[K]) {
  index_t columns[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int entry = first + k * stride;
    columns[k] = entry < end ? load_once(a.columns + entry) - a.base : index_t{-1};
    products[k] = entry < end ? load_once(a.values + entry) : C{};
  }
#pragma unroll
  for (int k = 0; k < K; ++k) products[k] = columns[k] >= 0 ? products[k] * load_again(a.x + columns[k]) : C{};
}

/// The rows of A x, a group of lanes a row. Called by all threads of a launch of csr_policy.
template <class Shape>
struct RowProducts {
  static constexpr int width = Shape::lanes;
  template <class C>
  struct Scratch {};

  /// visit(i, (A x)_i) once for each row, in one lane.
  template <class C, class Visit>
  __device__ static void run(const CsrRows<C>& a, Scratch<C>&, Visit visit) {
    // As many bytes as of doubles.
    constexpr int K = sizeof(C) > 8 ? (Shape::entries + 1) / 2 : Shape::entries;
    const auto lanes = Lanes<width>::current();
    const offset_t stride = static_cast<offset_t>(gridDim.x) * (csr_policy.threads / width);
    offset_t row = (static_cast<offset_t>(blockIdx.x) * csr_policy.threads + threadIdx.x) / width;
    for (; row < a.rows; row += stride) {
      const int end = a.offsets[row + 1] - a.base;
      C sum{};
      for (int first = a.offsets[row] - a.base + lanes.rank; first < end; first += K * width) {
        C products[K];
        load_products(a, first, width, end, products);
#pragma unroll
        for (int k = 0; k < K; ++k) sum += products[k];
      }
      __syncwarp(lanes.mask);
#pragma unroll
      for (int half = width / 2; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
      if (lanes.rank == 0) visit(row, sum);
    }
  }
};

/// One lane a row: a warp multiplies the entries of its 32 rows in the order in which they stand, and each lane adds up
/// the products of its row from shared memory.
template <int entries_>
struct RowProducts<RowShape<1, entries_>> {
  static constexpr int warps = csr_policy.threads / 32;
  template <class C>
  static constexpr int per_lane = sizeof(C) > 8 ? entries_ / 2 : entries_;
  template <class C>
  struct Scratch {
    C products[warps][32 * per_lane<C>];
  };

  template <class C, class Visit>
  __device__ static void run(const CsrRows<C>& a, Scratch<C>& scratch, Visit visit) {
    constexpr int K = per_lane<C>;
    constexpr int entries = 32 * K;
    const auto lanes = Lanes<32>::current();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    C* const products = scratch.products[warp];
    const offset_t stride = static_cast<offset_t>(gridDim.x) * csr_policy.threads;
    for (offset_t row0 = (static_cast<offset_t>(blockIdx.x) * warps + warp) * 32; row0 < a.rows; row0 += stride) {
      const offset_t row = row0 + lanes.rank;
      const offset_t rows = a.rows;
      const int begin = a.offsets[row < rows ? row : rows] - a.base;
      const int end = a.offsets[row < rows ? row + 1 : rows] - a.base;
      const int last = __shfl_sync(~0u, end, 31);
      C sum{};
      for (int chunk = __shfl_sync(~0u, begin, 0); chunk < last; chunk += entries) {
        C own[K];
        load_products(a, chunk + lanes.rank, 32, last, own);
#pragma unroll
        for (int k = 0; k < K; ++k) products[lanes.rank + 32 * k] = own[k];
        lanes.sync();
        const int to = min(end, chunk + entries) - chunk;
        for (int k = max(begin, chunk) - chunk; k < to; ++k) sum += products[k];
        lanes.sync();
      }
      if (row < rows) visit(row, sum);
    }
  }
};

}  // namespace blockjacobi::kernels
