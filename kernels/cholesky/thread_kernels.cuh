#pragma once

#include "kernels/cholesky/policy.hpp"
#include "kernels/cholesky/thread.cuh"
#include "kernels/launch/tiny_batch.cuh"

namespace blockjacobi::kernels {

template <int N, class C>
__global__ void __launch_bounds__(cholesky_threads(N))
    potrf_thread_kernel(const ContiguousBatch<C, N> a, bool upper, int* info) {
  constexpr int threads = cholesky_threads(N);
  using Stage = TriangleStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Stage::fetch(shared, a[first].data, count, upper);
  C* const own = Stage::own(shared);
  ThreadCholesky<C, N> cholesky;
  cholesky.template load<Stage>(own, upper);
  const int outcome = cholesky.factor();
  cholesky.template store<Stage>(own, upper);
  Stage::flush(shared, a[first].data, count, upper);
  if (static_cast<int>(threadIdx.x) < count) info[first + threadIdx.x] = outcome;
}

}  // namespace blockjacobi::kernels
