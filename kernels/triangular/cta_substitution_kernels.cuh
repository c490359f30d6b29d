#pragma once

#include "kernels/launch/cta.cuh"
#include "kernels/lu/interchanged_rows.cuh"
#include "kernels/triangular/cta_substitution.cuh"
#include "kernels/triangular/policy.hpp"
#include "kernels/triangular/steps.hpp"
#include "kernels/triangular/warp_plain.cuh"

namespace blockjacobi::kernels {

/// A thread block for up to R right-hand sides of one matrix, Ctas of them a multiprocessor. Rows are interchanged when
/// they are read, or for transposes when they are written; ipiv is null if they are not.
template <class C, int R, int row_bytes, int pieces, int Ctas>
__global__ void __launch_bounds__(threads_for_rows(largest_order), Ctas)
    solve_substitution_kernel(const MatrixBatchView<const C> factors, const index_t* ipiv, const MatrixBatchView<C> b,
                              const SolveSteps steps) {
  using Solve = CtaSubstitution<C, R, row_bytes, pieces>;
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

/// The same for any number of right-hand sides where shared memory has no room for the factor or the solutions: a warp
/// has one of them after the other.
template <class C>
__global__ void __launch_bounds__(plain_solve_threads)
    solve_plain_kernel(const MatrixBatchView<const C> factors, const index_t* ipiv, const MatrixBatchView<C> b,
                       const SolveSteps steps) {
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(factors, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const auto right = detail::matrix_of(b, k, n, b.cols);
  const auto lower = TriangularFactor<C>::of(matrix, steps.lower, steps.unit_lower);
  const auto upper = TriangularFactor<C>::of(matrix, steps.upper, steps.unit_upper);
  const index_t* const own = ipiv != nullptr ? ipiv + k * factors.rows : nullptr;
  for (int j = static_cast<int>(threadIdx.x) / 32; j < b.cols; j += plain_solve_threads / 32) {
    C* const x = right.column(j);
    if (steps.interchanges_first()) plain_interchanges(own, n, false, x);
    plain_substitution<true>(lower, n, x);
    plain_substitution<false>(upper, n, x);
    if (!steps.interchanges_first()) plain_interchanges(own, n, true, x);
  }
}

}  // namespace blockjacobi::kernels
