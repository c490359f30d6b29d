#pragma once

#include "kernels/block/block_solve.cuh"
#include "kernels/block/interchanged_rows.cuh"
#include "kernels/global/blocked_launch.cuh"
#include "kernels/global/solve_few.cuh"
#include "kernels/global/solve_steps.cuh"

namespace blockjacobi::kernels {

/// A thread block for one of every `chunks` groups of 8 T right-hand sides of one matrix. Rows are interchanged when
/// they are read, or for transposes when they are written; ipiv is null if they are not.
template <class C, int T, int Threads>
__global__ void __launch_bounds__(Threads)
    solve_blocked_kernel(const MatrixBatchView<const C> factors, const index_t* ipiv, const MatrixBatchView<C> b,
                         const SolveSteps steps, const unsigned chunks) {
  using Solve = BlockSolve<C, T>;
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

template <class C, int T, int Threads>
void launch_solve(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                  const SolveSteps& steps, const char* name, CUstream_st* stream) {
  using Solve = BlockSolve<C, T>;
  if (factors.count > INT_MAX) check(cudaErrorInvalidConfiguration, name);
  const offset_t groups = (b.cols - 1) / Solve::width + 1, chunks = std::min(groups, INT_MAX / factors.count);
  launch_blocked(solve_blocked_kernel<C, T, Threads>, name, factors.rows, factors.count * chunks,
                 Solve::bytes(factors.rows), stream, factors, ipiv, b, steps, static_cast<unsigned>(chunks));
}

template <class C>
void solve_blocked(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                   const SolveSteps& steps, const char* name, CUstream_st* stream) {
  if (b.cols <= most_few_columns) return solve_few(factors, ipiv, b, steps, name, stream);
  constexpr int roomy = solve_threads(0), most = solve_threads(largest_blocked_order);
  const auto launch = [&]<int T, int Threads>() { launch_solve<C, T, Threads>(factors, ipiv, b, steps, name, stream); };
  if constexpr (detail::Arithmetic<C>::is_complex) {
    if (solve_threads(factors.rows) == roomy) return launch.template operator()<2, roomy>();
  } else {
    if (solve_tiles(false, factors.rows, b.cols) == 4) return launch.template operator()<4, roomy>();
  }
  launch.template operator()<2, most>();
}

template <class C>
void getrs_blocked(Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
                   CUstream_st* stream) {
  solve_blocked(lu, ipiv, b, SolveSteps::of_lu(op), "getrs_blocked", stream);
}

template <class C>
void potrs_blocked(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
                   CUstream_st* stream) {
  solve_blocked(cholesky, nullptr, b, SolveSteps::of_cholesky(triangle), "potrs_blocked", stream);
}

}  // namespace blockjacobi::kernels
