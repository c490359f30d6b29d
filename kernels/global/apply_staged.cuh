#pragma once

#include "kernels/block/staging.cuh"
#include "kernels/global/apply_plan.hpp"
#include "kernels/global/stored_elements.cuh"
#include "kernels/launch_storage.hpp"
#include "kernels/tuning/apply.hpp"

namespace blockjacobi::kernels {

/// Where an element of op(X) stands in a stored block, column after column, from a first one and round.
class ElementPath {
 public:
  __device__ ElementPath(int row, int column, int order, bool transposed)
      : column_(column),
        offset_(transposed ? row * order + column : row + column * order),
        step_(transposed ? 1 : order),
        order_(order) {}
  __device__ int column() const { return column_; }
  __device__ int offset() const { return offset_; }
  __device__ void advance() {
    offset_ += step_;
    if (++column_ < order_) return;
    column_ = 0;
    offset_ -= step_ * order_;
  }

 private:
  int column_, offset_, step_, order_;
};

/// The product of a row of op(X) with K vectors.
template <detail::Format format, int K, class C>
__device__ void staged_row(const StoredElements<C, format>& x, const C* const (&r)[K], int n, int row,
                           int first_column, Op op, C (&sum)[K]) {
  constexpr bool packed = format == detail::Format::packed;
  const bool transposed = op != Op::none, conjugated = op == Op::conjugate_transpose;
  ElementPath path(row, first_column, n, transposed && !packed);
#pragma unroll 4
  for (int step = 0; step < n; ++step) {
    const int column = path.column();
    C element;
    if constexpr (packed) {
      const bool below = row >= column;
      element = x[static_cast<int>(detail::packed_index(below ? row : column, below ? column : row, n))];
      // X^T is the conjugate of X, X^H is X.
      if (below == (transposed && !conjugated)) element = detail::conj(element);
    } else {
      element = x[path.offset()];
      if (conjugated) element = detail::conj(element);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) sum[k] += element * r[k][column];
    path.advance();
  }
}

/// Z = alpha op(X) R + beta Z for blocks that fit into shared memory, several a thread block. They come there as one
/// piece, and what the order or the format makes of their addresses is left to shared memory. K columns at a time.
template <class C, detail::Format format, int K, class Blocks>
__global__ void __launch_bounds__(staged_apply_threads)
    apply_staged_kernel(const __grid_constant__ ApplyPlan plan, const Blocks blocks, const ApplyColumns<C> arguments) {
  using R = detail::arithmetic_real_t<C>;
  constexpr int parts = sizeof(C) / sizeof(R);
  extern __shared__ __align__(16) std::byte shared[];
  __shared__ Staging staging;

  const ApplyGroup& group = plan.group_of(blockIdx.x);
  const int n = group.order;
  const offset_t first = offset_t{blockIdx.x - group.first_tile} * group.share;
  const int count = static_cast<int>(min(offset_t{group.share}, group.count - first));
  const int rows = count * n;
  const auto block_bytes = static_cast<int>(detail::format_block_bytes(format, n, sizeof(R), parts));
  const Columns<const C>& from = arguments.r;
  const Columns<C>& to = arguments.z;
  const unsigned pitch = staging_bytes(static_cast<unsigned>(rows * sizeof(C)));

  // The vectors come the same way if their rows follow each other.
  const offset_t first_slot = group.first_slot + first;
  const offset_t first_row = group.first_row + first * n;
  const bool in_pieces = group.first_row >= 0 && from.row_stride == 1;
  staging.begin();
  const std::byte* const x = staging.add(blocks.data + group.start + first * block_bytes,
                                         static_cast<unsigned>(count * block_bytes), shared + K * pitch);
  C* r[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    std::byte* const area = shared + k * pitch;
    const C* const source = from.data + first_row + min(k, from.count - 1) * from.column_stride;
    r[k] = reinterpret_cast<C*>(
        in_pieces ? staging.add(source, static_cast<unsigned>(rows * sizeof(C)), area) : area);
  }
  staging.end();

  const auto row_of = [&](int row) {
    return group.first_row >= 0 ? first_row + row : offset_t{blocks.first_row(first_slot + row / n)} + row % n;
  };
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  // Blocks that begin in the same bank are read from different columns on.
  const int rotation = n == 2 || n == 4 || n == 8 ? n - 1 : 0;
  for (index_t column = 0; column < from.count; column += K) {
    if (column > 0) __syncthreads();
    if (!in_pieces || column > 0) {
#pragma unroll 4
      for (int row = thread; row < rows; row += threads) {
        const C* const source = from.data + row_of(row) * from.row_stride;
#pragma unroll
        for (int k = 0; k < K; ++k)
          r[k][row] = source[min(column + k, from.count - 1) * from.column_stride];
      }
    }
    __syncthreads();
    if (column == 0) staging.wait();
    for (int row = thread; row < rows; row += threads) {
      const int block = row / n, i = row - block * n;
      const StoredElements<C, format> elements(x + block * block_bytes,
                                               factor_of<format, R>(blocks, first_slot + block));
      const C* vectors[K];
#pragma unroll
      for (int k = 0; k < K; ++k) vectors[k] = r[k] + block * n;
      C sum[K] = {};
      const int begin = (block & rotation) ^ (arguments.op == Op::none ? 0 : i);
      staged_row<format, K, C>(elements, vectors, n, i, begin, arguments.op, sum);
      C* const target = to.data + row_of(row) * to.row_stride;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (column + k >= to.count) continue;
        C& z = target[(column + k) * to.column_stride];
        const C product = arguments.alpha * sum[k];
        z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
      }
    }
  }
}

}  // namespace blockjacobi::kernels
