#pragma once

#include "kernels/apply/launch.hpp"
#include "kernels/apply/plan.hpp"
#include "kernels/apply/policy.hpp"
#include "kernels/collectives/lanes.cuh"
#include "kernels/storage/elements.cuh"

namespace blockjacobi::kernels {

template <class R>
__device__ R sum_of(const Lanes<32>& lanes, R v) {
  return lanes.reduce(v, [](R a, R b) { return a + b; });
}
template <class R>
__device__ detail::Complex<R> sum_of(const Lanes<32>& lanes, detail::Complex<R> v) {
  return {sum_of(lanes, v.re), sum_of(lanes, v.im)};
}

/// Elements of shared memory in which several columns of R lie, and later what the warps found.
inline constexpr int wide_apply_exchange = apply_columns_at_once * max_block_size;

/// Rows of op(X) of a block that does not fit into shared memory, times K columns from `column`.
template <class C, detail::Format format, int K>
struct WideRows {
  static constexpr int warps = wide_apply_threads / 32;
  static constexpr int rows = wide_apply_rows;
  static constexpr int rows_per_lane = rows / 32;
  static constexpr bool is_real = !detail::Arithmetic<C>::is_complex;
  /// Columns whose loads are under way together.
  static constexpr int at_once = K == 1                                      ? (sizeof(C) == 16 ? 2 : 4)
                                 : is_real && format == detail::Format::full ? 32 / static_cast<int>(sizeof(C))
                                                                             : 2;
  static_assert(warps * rows <= max_block_size, "what the warps found fits where R was");

  const StoredElements<C, format> x;
  const ApplyColumns<C>& arguments;
  index_t first_row;  ///< of the block in the matrix
  index_t column;
  int n;
  int first;  ///< rows of the block
  int end;

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// What column k of R holds for the block.
  __device__ const C* vector(int k) const {
    const detail::ColumnsView<const C>& from = arguments.r;
    return from.data + first_row * from.row_stride + min(column + k, from.count - 1) * from.column_stride;
  }

  /// R of the block in shared memory, K numbers a row.
  __device__ void bring_vectors(C* shared) const {
    for (int e = static_cast<int>(threadIdx.x); e < n * K; e += wide_apply_threads) {
      const int k = e / n, i = e - k * n;
      shared[i * K + k] = vector(k)[i * arguments.r.row_stride];
    }
    __syncthreads();
  }

  __device__ void store(int row, int k, C sum) const {
    const detail::ColumnsView<C>& to = arguments.z;
    if (row >= end || column + k >= to.count) return;
    C& z = to.data[(first_row + row) * to.row_stride + (column + k) * to.column_stride];
    const C product = arguments.alpha * x.scaled(sum);
    z = detail::is_zero(arguments.beta) ? product : product + arguments.beta * z;
  }

  __device__ C element(int i, int j) const {
    if constexpr (format == detail::Format::packed) {
      const bool below = i >= j;
      const int row = below ? i : j, column = below ? j : i;
      const C e = x[column * (2 * n - column - 1) / 2 + row];
      // X^T is the conjugate of X, X^H is X.
      return below == (arguments.op == Op::transpose) ? detail::conj(e) : e;
    } else {
      return x[i + j * n];
    }
  }

  /// A lane has rows, the warps share the columns. `shared` has wide_apply_exchange elements, or with one column
  /// max_block_size, which then only exchange sums: a single number is read from where it is.
  __device__ void by_rows(C* shared) const {
    if constexpr (K > 1) bring_vectors(shared);
    const C* const r = vector(0);
    const offset_t stride = arguments.r.row_stride;
    C sum[K][rows_per_lane] = {};
    int row[rows_per_lane];
#pragma unroll
    for (int m = 0; m < rows_per_lane; ++m) row[m] = min(first + lane() + 32 * m, end - 1);
#pragma unroll(at_once)
    for (int j = warp(); j < n; j += warps) {
      C e[rows_per_lane];
#pragma unroll
      for (int m = 0; m < rows_per_lane; ++m) e[m] = element(row[m], j);
      alignas(16) C scale[K];
      if constexpr (K > 1)
        load_row(shared + j * K, scale);
      else
        scale[0] = r[j * stride];
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int m = 0; m < rows_per_lane; ++m) sum[k][m] += e[m] * scale[k];
    }
    if constexpr (K > 1) __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int m = 0; m < rows_per_lane; ++m) shared[(warp() * K + k) * rows + lane() + 32 * m] = sum[k][m];
    __syncthreads();
#pragma unroll
    for (int round = 0; round < (K * rows + wide_apply_threads - 1) / wide_apply_threads; ++round) {
      const int own = static_cast<int>(threadIdx.x) + round * wide_apply_threads;
      if (own >= K * rows) break;
      C total = shared[own];
#pragma unroll
      for (int w = 1; w < warps; ++w) total += shared[w * K * rows + own];
      store(first + own % rows, own / rows, total);
    }
  }

  /// A warp has rows of op(X), which are columns as they are stored. One column of R is read from `shared`, of
  /// max_block_size elements.
  __device__ void by_columns(C* shared) const {
    if constexpr (K == 1) bring_vectors(shared);
    const auto lanes = Lanes<32>::current();
    const bool conjugated = arguments.op == Op::conjugate_transpose;
    const offset_t stride = arguments.r.row_stride;
    const C* r[K];
#pragma unroll
    for (int k = 0; k < K; ++k) r[k] = vector(k);
    constexpr int together = K > 1 ? 1 : sizeof(C) == 16 ? 2 : 4;  // columns that share what is read of R
    for (int j = first + warp() * together; j < end; j += warps * together) {
      C sum[K][together] = {};
#pragma unroll(K > 1 ? 2 : 4)
      for (int i = lanes.rank; i < n; i += 32) {
        C e[together];
#pragma unroll
        for (int m = 0; m < together; ++m) {
          e[m] = x[i + min(j + m, end - 1) * n];
          if (conjugated) e[m] = detail::conj(e[m]);
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const C scale = K == 1 ? shared[i] : r[k][i * stride];
#pragma unroll
          for (int m = 0; m < together; ++m) sum[k][m] += e[m] * scale;
        }
      }
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int m = 0; m < together; ++m) {
          const C total = sum_of(lanes, sum[k][m]);
          if (lanes.rank == 0) store(j + m, k, total);
        }
    }
  }

 private:
  __device__ static void load_row(const C* row, C (&numbers)[K]) {
    struct alignas(16) Piece {
      C numbers[16 / sizeof(C)];
    };
    const Piece* const pieces = reinterpret_cast<const Piece*>(row);
#pragma unroll
    for (int p = 0; p < K / static_cast<int>(16 / sizeof(C)); ++p) reinterpret_cast<Piece*>(numbers)[p] = pieces[p];
  }
};

/// Thread blocks of a multiprocessor for which registers are kept: one column by rows at 160 in s reaches 94 % of the
/// copy bandwidth with 48 registers and 87 with 64.
template <class C, detail::Format format, int K, bool by_columns>
constexpr int wide_apply_least() {
  if (!WideRows<C, format, K>::is_real || format == detail::Format::packed) return 1;
  if (K == 1) return by_columns ? 3 : 5;
  return by_columns || format != detail::Format::full ? 1 : 3;
}

/// Shared memory of a thread block, in elements.
constexpr int wide_apply_shared(int columns, bool by_columns) {
  return columns == 1 ? max_block_size : by_columns ? 0 : wide_apply_exchange;
}

/// Z = alpha op(X) R + beta Z, several thread blocks a block. A kernel for each of the two ways, for the registers of
/// one are not those of the other.
template <class C, detail::Format format, int K, bool by_columns, class Blocks>
__global__ void __launch_bounds__(wide_apply_threads, wide_apply_least<C, format, K, by_columns>())
    apply_wide_kernel(const __grid_constant__ ApplyPlan plan, const Blocks blocks, const ApplyColumns<C> arguments) {
  using R = detail::arithmetic_real_t<C>;
  using Rows = WideRows<C, format, K>;
  extern __shared__ __align__(16) std::byte exchange[];
  C* const shared = reinterpret_cast<C*>(exchange);
  const ApplyGroup& group = plan.group_of(blockIdx.x);
  const auto cta = static_cast<int>(blockIdx.x - group.first_cta);
  const offset_t block = cta / group.share;
  const int n = group.order;
  const offset_t block_bytes = detail::format_block_bytes(format, n, sizeof(R), sizeof(C) / sizeof(R));
  const offset_t slot = group.first_slot + block;
  const StoredElements<C, format> x(blocks.data + group.start + block * block_bytes, exponent_of<format>(blocks, slot));
  const index_t first_row =
      group.first_row >= 0 ? group.first_row + static_cast<index_t>(block) * n : blocks.first_row(slot);
  // Shares of about the same size, in whole warps.
  const int most = ((n + group.share - 1) / group.share + 31) / 32 * 32;
  const int first = cta % group.share * most;
  const int end = min(first + most, n);
  const index_t columns = K == 1 ? 1 : arguments.r.count;
  for (index_t column = 0; column < columns; column += K) {
    const Rows work{x, arguments, first_row, column, n, first, end};
    if (column > 0) __syncthreads();
    if constexpr (by_columns)
      work.by_columns(shared);
    else
      work.by_rows(shared);
  }
}

}  // namespace blockjacobi::kernels
