#pragma once

#include "kernels/apply/launch.hpp"
#include "kernels/apply/plan.hpp"
#include "kernels/apply/policy.hpp"
#include "kernels/collectives/staging.cuh"
#include "kernels/storage/elements.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

/// Where the elements of a row of op(X) stand in a stored block, from a column on and round.
class FullPath {
 public:
  __device__ FullPath(int row, int column, int order, bool transposed)
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

/// The same in a packed triangle: to the diagonal along the row, from there down the column.
class PackedPath {
 public:
  __device__ PackedPath(int row, int column, int order, bool)
      : row_(row),
        column_(column),
        offset_(min(row, column) * (2 * order - min(row, column) - 1) / 2 + max(row, column)),
        order_(order) {}
  __device__ int column() const { return column_; }
  __device__ int offset() const { return offset_; }
  __device__ void advance() {
    offset_ += column_ < row_ ? order_ - 1 - column_ : 1;
    if (++column_ < order_) return;
    column_ = 0;
    offset_ = row_;
  }

 private:
  int row_, column_, offset_, order_;
};

/// The products of P consecutive rows of op(X), from `row` on, with K vectors.
template <detail::Format format, int P, int K, class C>
__device__ void staged_rows(const StoredElements<C, format>& x, const C* const (&r)[K], int n, int row,
                            int first_column, Op op, C (&sum)[P][K]) {
  constexpr bool packed = format == detail::Format::packed;
  const bool transposed = op != Op::none, conjugated = op == Op::conjugate_transpose;
  std::conditional_t<packed, PackedPath, FullPath> path(row, first_column, n, transposed);
#pragma unroll 4
  for (int step = 0; step < n; ++step) {
    const int column = path.column();
    C elements[P];
    x.load(path.offset(), elements);
    // A packed X is Hermitian: X^T is the conjugate of X, X^H is X.
    if (packed ? (row >= column) == (transposed && !conjugated) : conjugated) elements[0] = detail::conj(elements[0]);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const C scale = r[k][column];
#pragma unroll
      for (int p = 0; p < P; ++p) sum[p][k] += elements[p] * scale;
    }
    path.advance();
  }
#pragma unroll
  for (int p = 0; p < P; ++p)
#pragma unroll
    for (int k = 0; k < K; ++k) sum[p][k] = x.scaled(sum[p][k]);
}

/// Division of small numbers, rows of a thread block, by an order. Half a row is far more than floats are wrong by.
class SmallDivisor {
 public:
  __device__ explicit SmallDivisor(int divisor) : reciprocal_(1.0f / static_cast<float>(divisor)) {}
  __device__ int quotient(int row) const { return static_cast<int>((static_cast<float>(row) + 0.5f) * reciprocal_); }

 private:
  float reciprocal_;
};

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
  const offset_t first = offset_t{blockIdx.x - group.first_cta} * group.share;
  const int count = static_cast<int>(min(offset_t{group.share}, group.count - first));
  const int rows = count * n;
  const auto block_bytes = static_cast<int>(detail::format_block_bytes(format, n, sizeof(R), parts));
  const detail::ColumnsView<const C>& from = arguments.r;
  const detail::ColumnsView<C>& to = arguments.z;
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
    r[k] = reinterpret_cast<C*>(in_pieces ? staging.add(source, static_cast<unsigned>(rows * sizeof(C)), area) : area);
  }
  staging.end();

  const int thread = static_cast<int>(threadIdx.x);
  index_t* const first_rows =
      reinterpret_cast<index_t*>(shared + K * pitch + staging_bytes(static_cast<unsigned>(count * block_bytes)));
  if (group.first_row < 0) {
    for (int block = thread; block < count; block += staged_apply_threads)
      first_rows[block] = blocks.first_row(first_slot + block);
    __syncthreads();
  }
  const SmallDivisor order(n);
  const auto row_of = [&](int row) {
    if (group.first_row >= 0) return first_row + row;
    const int block = order.quotient(row);
    return offset_t{first_rows[block]} + (row - block * n);
  };
  // Blocks that begin in the same bank are read from different columns on.
  const int rotation = n == 2 || n == 4 || n == 8 ? n - 1 : 0;
  // P rows a thread at a time, for the columns from `column` on.
  const auto multiply = [&]<int P>(index_t column, std::integral_constant<int, P>) {
    for (int row = P * thread; row < rows; row += P * staged_apply_threads) {
      const int block = order.quotient(row), i = row - block * n;
      const StoredElements<C, format> elements(x + block * block_bytes,
                                               exponent_of<format>(blocks, first_slot + block));
      const C* vectors[K];
#pragma unroll
      for (int k = 0; k < K; ++k) vectors[k] = r[k] + block * n;
      C sum[P][K] = {};
      const int begin = (block & rotation) ^ (arguments.op == Op::none ? 0 : i);
      staged_rows<format, P, K, C>(elements, vectors, n, i, begin, arguments.op, sum);
      C* const target = to.data + row_of(row) * to.row_stride;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (column + k >= to.count) continue;
#pragma unroll
        for (int p = 0; p < P; ++p) {
          C& z = target[p * to.row_stride + (column + k) * to.column_stride];
          const C product = arguments.alpha * sum[p][k];
          z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
        }
      }
    }
  };
  // Two numbers of two bytes are one of four if both lie in one block and column.
  constexpr bool has_pairs = parts == 1 && detail::format_part_bytes(format, sizeof(R)) == 2;
  const bool in_pairs = has_pairs && n % 2 == 0 && arguments.op == Op::none;
  for (index_t column = 0; column < from.count; column += K) {
    if (column > 0) __syncthreads();
    if (!in_pieces || column > 0) {
#pragma unroll 4
      for (int row = thread; row < rows; row += staged_apply_threads) {
        const C* const source = from.data + row_of(row) * from.row_stride;
#pragma unroll
        for (int k = 0; k < K; ++k) r[k][row] = source[min(column + k, from.count - 1) * from.column_stride];
      }
    }
    __syncthreads();
    if (column == 0) staging.wait();
    if constexpr (has_pairs)
      if (in_pairs) {
        multiply(column, std::integral_constant<int, 2>{});
        continue;
      }
    multiply(column, std::integral_constant<int, 1>{});
  }
}

}  // namespace blockjacobi::kernels
