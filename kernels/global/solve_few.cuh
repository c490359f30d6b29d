#pragma once

#include "kernels/block/block_substitution.cuh"
#include "kernels/block/interchanged_rows.cuh"
#include "kernels/global/blocked_launch.cuh"
#include "kernels/global/solve_steps.cuh"

namespace blockjacobi::kernels {

/// A thread block for up to R right-hand sides of one matrix. Rows are interchanged when they are read, or for
/// transposes when they are written; ipiv is null if they are not.
template <class C, int R, int row_bytes, int pieces>
__global__ void __launch_bounds__(threads_for_rows(largest_blocked_order), few_blocks(scalar_words<C>, R))
    solve_few_kernel(const MatrixBatchView<const C> factors, const index_t* ipiv, const MatrixBatchView<C> b,
                     const SolveSteps steps) {
  using Solve = BlockSubstitution<C, R, row_bytes, pieces>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(factors, k);
  const int n = matrix.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order || thread >= threads_for_rows(n)) return;
  const Solve solve{*reinterpret_cast<typename Solve::Shared*>(shared), n};
  int* const row = reinterpret_cast<int*>(shared + Solve::bytes(n));
  const auto right = detail::matrix_of(b, k, n, b.cols);
  const bool at_first = steps.interchanges_first();
  C x[R];
  solve.solve(x, TriangularFactor<C>::of(matrix, steps.lower, steps.unit_lower),
              TriangularFactor<C>::of(matrix, steps.upper, steps.unit_upper), [&](C(&values)[R]) {
                find_interchanged_rows(ipiv != nullptr ? ipiv + k * factors.rows : nullptr, n, row);
                const int i = at_first ? row[thread] : thread;
#pragma unroll
                for (int j = 0; j < R; ++j) values[j] = thread < n && j < b.cols ? right(i, j) : C{};
              });
  const int i = at_first ? thread : row[thread];
#pragma unroll
  for (int j = 0; j < R; ++j)
    if (thread < n && j < b.cols) right(i, j) = x[j];
}

template <class C, int R, int row_bytes, int pieces>
void launch_solve_few(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                      const SolveSteps& steps, const char* name, CUstream_st* stream) {
  constexpr auto bytes_for = [](int n) {
    return BlockSubstitution<C, R, row_bytes, pieces>::bytes(n) + sizeof(int) * static_cast<std::size_t>(n);
  };
  static_assert(bytes_for(threads_for_rows(largest_blocked_order)) <= largest_shared_bytes);
  launch_blocked(solve_few_kernel<C, R, row_bytes, pieces>, name, factors.rows, factors.count,
                 bytes_for(threads_for_rows(factors.rows)), stream, factors, ipiv, b, steps);
}

template <class C>
void solve_few(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
               const SolveSteps& steps, const char* name, CUstream_st* stream) {
  constexpr int words = scalar_words<C>, most = most_few_columns;
  if (b.cols == 1)
    launch_solve_few<C, 1, few_row_bytes(words, 1), few_pieces(words, 1)>(factors, ipiv, b, steps, name, stream);
  else
    launch_solve_few<C, most, few_row_bytes(words, most), few_pieces(words, most)>(factors, ipiv, b, steps, name,
                                                                                   stream);
}

}  // namespace blockjacobi::kernels
