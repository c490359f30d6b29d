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
  const C* x;
};

template <class C>
CsrRows<C> rows_of(const CsrView<C, std::int32_t>& a, const C* x) {
  return {a.rows, a.row_offsets, a.columns, a.values, static_cast<int>(a.base), x};
}

/// At which entry, from a.base on, row i begins; of rows behind the matrix the end of all.
template <class C>
__device__ int offset_of(const CsrRows<C>& a, offset_t i) {
  return a.rows > 0 ? a.offsets[min(i, static_cast<offset_t>(a.rows))] : a.base;
}

/// Entries on their way: first + k stride of a matrix, none from `end` on.
template <int K, class C>
struct RowEntries {
  index_t columns[K];  ///< or -1
  C values[K];

  __device__ void load(const CsrRows<C>& a, int first, int stride, int end) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int entry = first + k * stride;
      columns[k] = entry < end ? load_once(a.columns + entry) - a.base : index_t{-1};
      values[k] = entry < end ? load_once(a.values + entry) : C{};
    }
  }
  /// With their elements of x.
  __device__ void multiply(const C* x) {
#pragma unroll
    for (int k = 0; k < K; ++k) values[k] = columns[k] >= 0 ? values[k] * x[columns[k]] : C{};
  }
};

/// The rows of A x, a group of lanes a row. Called by all threads of a launch of csr_policy.
template <class Shape>
struct RowProducts {
  static constexpr int width = Shape::lanes;
  template <class C>
  struct Scratch {};

  /// visit(i, (A x)_i) once for each row, in one lane. begin() is called once by each thread before x is read; there is
  /// no more to do if it is false.
  ///
  /// Nothing of the next row is on its way meanwhile: other warps are at work, and with more under way
  /// products took longer.
  template <class C, class Begin, class Visit>
  __device__ static void run(const CsrRows<C>& a, Scratch<C>&, Begin begin, Visit visit) {
    // As many bytes as of doubles.
    constexpr int K = sizeof(C) > 8 ? (Shape::entries + 1) / 2 : Shape::entries;
    const auto lanes = Lanes<width>::current();
    const offset_t stride = static_cast<offset_t>(gridDim.x) * (csr_policy.threads / width);
    if (!begin()) return;
    for (offset_t row = (static_cast<offset_t>(blockIdx.x) * csr_policy.threads + threadIdx.x) / width; row < a.rows;
         row += stride) {
      const int end = a.offsets[row + 1] - a.base;
      C sum{};
      for (int first = a.offsets[row] - a.base + lanes.rank; first < end; first += K * width) {
        RowEntries<K, C> entries;
        entries.load(a, first, width, end);
        entries.multiply(a.x);
#pragma unroll
        for (int k = 0; k < K; ++k) sum += entries.values[k];
      }
      __syncwarp(lanes.mask);
#pragma unroll
      for (int half = width / 2; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
      if (lanes.rank == 0) visit(row, sum);
    }
  }
};

/// One lane a row: a warp multiplies the entries of its 32 rows in the order in which they stand, and each lane adds up
/// the products of its row from shared memory, while the next entries are on their way.
template <int entries_>
struct RowProducts<RowShape<1, entries_>> {
  static constexpr int warps = csr_policy.threads / 32;
  template <class C>
  static constexpr int per_lane = sizeof(C) > 8 ? entries_ / 2 : entries_;
  template <class C>
  struct Scratch {
    C products[warps][32 * per_lane<C>];
  };

  template <class C, class Begin, class Visit>
  __device__ static void run(const CsrRows<C>& a, Scratch<C>& scratch, Begin begin, Visit visit) {
    constexpr int K = per_lane<C>;
    constexpr int together = 32 * K;
    const auto lanes = Lanes<32>::current();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const offset_t rows = a.rows, stride = static_cast<offset_t>(gridDim.x) * csr_policy.threads;
    C* const products = scratch.products[warp];
    offset_t row = static_cast<offset_t>(blockIdx.x) * csr_policy.threads + threadIdx.x;
    int next_from = offset_of(a, row), next_to = offset_of(a, row + 1);
    int from, to;     // of this lane's row, in the pieces of the warp's rows
    int piece, last;  // the entries that are on their way, and the end of all
    RowEntries<K, C> entries;
    const auto begin_rows = [&] {
      from = next_from - a.base;
      to = next_to - a.base;
      piece = __shfl_sync(~0u, from, 0);
      last = __shfl_sync(~0u, to, 31);
      entries.load(a, piece + lanes.rank, 32, last);
      next_from = offset_of(a, row + stride);
      next_to = offset_of(a, row + stride + 1);
    };
    begin_rows();
    if (!begin()) return;
    C sum{};
    while (row - lanes.rank < rows) {
      entries.multiply(a.x);
#pragma unroll
      for (int k = 0; k < K; ++k) products[lanes.rank + 32 * k] = entries.values[k];
      lanes.sync();
      const int begin_here = max(from - piece, 0), end_here = min(to - piece, together);
      const offset_t own = row;
      piece += together;
      const bool ends = piece >= last;
      if (ends) {
        row += stride;
        begin_rows();
      } else {
        entries.load(a, piece + lanes.rank, 32, last);
      }
      for (int k = begin_here; k < end_here; ++k) sum += products[k];
      lanes.sync();
      if (!ends) continue;
      if (own < rows) visit(own, sum);
      sum = C{};
    }
  }
};

}  // namespace blockjacobi::kernels
