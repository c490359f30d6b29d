#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/lu/cta_panels.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// LU factorization of one matrix that lies in shared memory as a whole.
template <class C, int R>
struct SharedLu {
  using Lu = CtaPanelLu<C, R>;
  Lu lu;

  __host__ __device__ static constexpr std::size_t bytes(int n) {
    const auto order = static_cast<std::size_t>(n);
    return Lu::candidate_count * sizeof(typename Lu::Candidate) + sizeof(typename Lu::Moves) +
           static_cast<std::size_t>(Lu::padded(n)) * static_cast<std::size_t>(Lu::leading_dimension(n)) * sizeof(C) +
           (order + 1) * sizeof(int);
  }

  __device__ SharedLu(unsigned char* shared, int n) {
    lu.rows = lu.columns = n;
    lu.ld = Lu::leading_dimension(n);
    lu.candidates = reinterpret_cast<typename Lu::Candidate*>(shared);
    lu.moves = reinterpret_cast<typename Lu::Moves*>(lu.candidates + Lu::candidate_count);
    lu.a = reinterpret_cast<C*>(lu.moves + 1);
    lu.pivots = reinterpret_cast<int*>(lu.a + Lu::padded(n) * lu.ld);
    lu.info = lu.pivots + n;
  }

  /// In place; pivots and info are in shared memory on return, visible to all.
  __device__ void run(const detail::MatrixRef<C>& matrix) const {
    if (Lu::thread() == 0) *lu.info = 0;
#pragma unroll 1
    for (int j = Lu::warp(); j < lu.columns; j += Lu::warps()) {
      const C* const from = matrix.column(j);
      C* const to = &lu.at(0, j);
#pragma unroll
      for (int r = 0; r < R; ++r)
        if (32 * r + Lu::lane() < lu.rows) copy_async(to + 32 * r + Lu::lane(), from + 32 * r + Lu::lane());
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    lu.run();
    __syncthreads();
#pragma unroll 2
    for (int j = Lu::warp(); j < lu.columns; j += Lu::warps()) {
      C* const to = matrix.column(j);
      const C* const from = &lu.at(0, j);
#pragma unroll
      for (int r = 0; r < R; ++r)
        if (32 * r + Lu::lane() < lu.rows) to[32 * r + Lu::lane()] = from[32 * r + Lu::lane()];
    }
  }
};

}  // namespace blockjacobi::kernels
