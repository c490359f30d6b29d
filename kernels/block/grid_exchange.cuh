#pragma once

#include <cuda/atomic>

namespace blockjacobi::kernels {

/// Sums over a grid whose thread blocks are all on the device at once (a cooperative launch), with the result in each
/// of them, as often as wanted: every thread block tells its sums to all others and waits for theirs. What a thread
/// block wrote before is visible to the others afterwards, to loads that go to L2 (__ldcg).
struct ExchangeSlot {
  double sums[3];
  unsigned long long round;  ///< in which they were written; never falls
};

class GridExchange {
 public:
  /// `slots`: two for each thread block, zero before the first launch and unchanged between launches.
  __device__ explicit GridExchange(ExchangeSlot* slots) : slots_(slots) {
    round_ = __ldcg(&slots_[blockIdx.x].round);
    const unsigned long long other = __ldcg(&slots_[gridDim.x + blockIdx.x].round);
    if (other > round_) round_ = other;
  }

  /// `sums` of thread 0 of each thread block; the totals stand in every thread. At least gridDim.x threads, whole
  /// warps.
  template <int K>
  __device__ void run(double (&sums)[K], double (&scratch)[K][32]) {
    static_assert(K <= 3);
    ++round_;
    // Two sets in turn: who is in the next round already must not overwrite what others still read.
    ExchangeSlot* const set = slots_ + (round_ & 1) * gridDim.x;
    __syncthreads();  // what this thread block wrote
    if (threadIdx.x == 0) {
      ExchangeSlot& own = set[blockIdx.x];
#pragma unroll
      for (int k = 0; k < K; ++k) __stcg(&own.sums[k], sums[k]);
      __threadfence();
      flag(own).store(round_, cuda::memory_order_release);
    }
    double mine[K] = {};
    if (threadIdx.x < gridDim.x) {
      ExchangeSlot& theirs = set[threadIdx.x];
      while (flag(theirs).load(cuda::memory_order_acquire) < round_) {
      }
#pragma unroll
      for (int k = 0; k < K; ++k) mine[k] = __ldcg(&theirs.sums[k]);
      __threadfence();
    }
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int warps = static_cast<int>(gridDim.x + 31) / 32;
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) mine[k] += __shfl_xor_sync(~0u, mine[k], distance);
      if (lane == 0 && warp < warps) scratch[k][warp] = mine[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sums[k] = scratch[k][0];
      for (int w = 1; w < warps; ++w) sums[k] += scratch[k][w];
    }
    __syncthreads();
  }

 private:
  using Flag = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
  __device__ static Flag flag(ExchangeSlot& slot) { return Flag(slot.round); }

  ExchangeSlot* slots_;
  unsigned long long round_;
};

}  // namespace blockjacobi::kernels
