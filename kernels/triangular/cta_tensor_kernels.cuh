#pragma once

#include "kernels/launch/cta.cuh"
#include "kernels/lu/interchanged_rows.cuh"
#include "kernels/triangular/cta_tensor.cuh"
#include "kernels/triangular/steps.hpp"

namespace blockjacobi::kernels {

/// A thread block for one of every `chunks` groups of 8 T right-hand sides of one matrix. Rows are interchanged when
/// they are read, or for transposes when they are written; ipiv is null if they are not.
/// why one thread block a multiprocessor: with no number ptxas 13.0 gave some of them 64 registers where 128 spill.
template <class C, int T, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    solve_tensor_kernel(const MatrixBatchView<const C> factors, const index_t* ipiv, const MatrixBatchView<C> b,
                        const SolveSteps steps, const unsigned chunks) {
  using Solve = CtaTensorSolve<C, T>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x / chunks;
  const auto matrix = detail::matrix_of(factors, k);
  const int n = matrix.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order || thread >= threads_for_rows(n)) return;
  const Solve solve{*reinterpret_cast<typename Solve::Shared*>(shared), n};
  int* const row = solve.shared.row;
  find_interchanged_rows(ipiv != nullptr ? ipiv + k * factors.rows : nullptr, n, row);
  const auto lower = TriangularFactor<C>::of(matrix, steps.lower, steps.unit_lower);
  const auto upper = TriangularFactor<C>::of(matrix, steps.upper, steps.unit_upper);
  const bool at_first = steps.interchanges_first();
  const offset_t stride = offset_t{Solve::width} * chunks;
#pragma unroll 1
  for (offset_t first = Solve::width * (blockIdx.x % chunks); first < b.cols; first += stride) {
    auto right = detail::matrix_of(b, k, n, b.cols);
    right.data += first * right.ld;
    const int columns = static_cast<int>(min(b.cols - first, offset_t{Solve::width}));
    typename Solve::Tiles x;
    solve.load(x, columns, [&](int i, int j) { return right(at_first ? row[i] : i, j); });
    solve.template solve<true>(x, lower);
    solve.template solve<false>(x, upper);
    solve.store(x, columns, [&](int i, int j, C value) { right(at_first ? i : row[i], j) = value; });
  }
}

}  // namespace blockjacobi::kernels
