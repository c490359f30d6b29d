#pragma once

#include "kernels/collectives/thread_stage.cuh"
#include "kernels/launch/tiny_batch.cuh"
#include "kernels/qr/policy.hpp"
#include "kernels/qr/team_careful.cuh"
#include "kernels/qr/thread.cuh"

namespace blockjacobi::kernels {

/// Shared memory of a thread block in which each thread has a matrix: the matrices, then their tau.
template <int N, class C>
struct QrThreadScratch {
  static constexpr int threads = qr_threads(N);
  using Stage = ThreadStage<C, N, threads>;
  static constexpr int tau_stride = N | 1;
  static constexpr std::size_t bytes = Stage::shared_bytes + sizeof(C) * threads * tau_stride;
};

template <int N, class C>
__global__ void __launch_bounds__(QrThreadScratch<N, C>::threads, 1)
    geqrf_thread_kernel(const ContiguousBatch<C, N> a, C* tau) {
  constexpr int threads = QrThreadScratch<N, C>::threads, stride = QrThreadScratch<N, C>::tau_stride;
  using Stage = ThreadStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  C* const staged = reinterpret_cast<C*>(shared + Stage::shared_bytes);
  const int rank = static_cast<int>(threadIdx.x);
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Stage::fetch(shared, a[first].data, count);

  C* const own = Stage::own(shared);
  C* const own_tau = staged + rank * stride;
  ThreadQr<C, N> factorization;
  Stage::load(own, factorization.x);
  const bool served = factorization.run(own_tau) || rank >= count;
  if (served) factorization.store(own);
  if (Team<1>::any_in_warp(!served)) CarefulQr<C, N, 1>{own, served ? 0 : N, N, own_tau, Team<1>::current()}.run();

  Stage::flush(shared, a[first].data, count);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int t = i * threads + rank;
    if (t < count * N) tau[first * N + t] = staged[t / N * stride + t % N];
  }
}

}  // namespace blockjacobi::kernels
