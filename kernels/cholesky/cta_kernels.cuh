#pragma once

#include "kernels/cholesky/cta.cuh"
#include "kernels/cholesky/policy.hpp"
#include "kernels/launch/cta.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block, Ctas of them a multiprocessor. Orders above `above`.
template <class C, int rows, int columns, bool upper, int Ctas>
__global__ void __launch_bounds__(32 * cholesky_cta_warps, Ctas)
    potrf_cta_kernel(const MatrixBatchView<C> a, const int above, int* info) {
  using Factorization = CtaCholesky<C, rows, columns, upper>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= above) return;
  const int outcome = Factorization(matrix, *reinterpret_cast<typename Factorization::Diagonal*>(shared)).run();
  if (threadIdx.x == 0) info[k] = outcome_within(matrix.rows, outcome);
}

}  // namespace blockjacobi::kernels
