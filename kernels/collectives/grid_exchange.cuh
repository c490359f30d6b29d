#pragma once

#include "kernels/collectives/cta_reduce.cuh"

#include <cuda/atomic>

namespace blockjacobi::kernels {

/// A double and the round in which it was written, in words that are written and read whole: who finds the round finds
/// the number with it.
struct ExchangeWord {
  unsigned long long high;  ///< 32 bits of the number, then the round
  unsigned long long low;
};
inline constexpr int exchange_sums = 3;
struct ExchangeSlot {
  ExchangeWord sums[exchange_sums];
};

/// Sums over a grid whose thread blocks are all on the device at once (a cooperative launch), with the result in each
/// of them, as often as wanted: every thread block tells its sums to all others and waits for theirs. What a thread
/// block wrote before is visible to all threads of the others afterwards, through L1 as well, since the fence empties
/// it; only __ldg() and whatever else reads past coherence may still find what was there before.
class GridExchange {
 public:
  struct Scratch {
    double partial[exchange_sums][max_warps_per_cta];
  };

  /// `slots`: two for each thread block, zero before the first launch and unchanged between launches.
  __device__ explicit GridExchange(ExchangeSlot* slots) : slots_(slots) {
    const unsigned even = round_of(__ldcg(&slots_[blockIdx.x].sums[0].high));
    const unsigned odd = round_of(__ldcg(&slots_[gridDim.x + blockIdx.x].sums[0].high));
    // The two are consecutive; the later one counts, also where the count begins anew.
    round_ = static_cast<int>(odd - even) > 0 ? odd : even;
  }

  /// The sums of each thread become those of the whole grid. At least gridDim.x threads, whole warps.
  template <int K>
  __device__ void run(double (&sums)[K], Scratch& scratch) {
    static_assert(K <= exchange_sums);
    ++round_;
    // Two sets in turn: who is in the next round already must not overwrite what others still read.
    ExchangeSlot* const set = slots_ + (round_ & 1) * gridDim.x;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    sum_warps(sums, scratch);
    if (warp == 0) {  // behind the barrier that the sums passed, as the writes of all threads are
      const int warps = static_cast<int>(blockDim.x) / 32;
      double own[K];
#pragma unroll
      for (int k = 0; k < K; ++k) own[k] = sum_lanes(lane < warps ? scratch.partial[k][lane] : 0.0);
      if (lane == 0) {
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
#pragma unroll
        for (int k = 0; k < K; ++k) put(set[blockIdx.x].sums[k], own[k]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = 0.0;
    if (thread < static_cast<int>(gridDim.x)) {
#pragma unroll
      for (int k = 0; k < K; ++k) sums[k] = get(set[thread].sums[k]);
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    }
    sum_warps(sums, scratch);
    const int warps = static_cast<int>(gridDim.x + 31) / 32;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sums[k] = scratch.partial[k][0];
      for (int w = 1; w < warps; ++w) sums[k] += scratch.partial[k][w];
    }
    __syncthreads();
  }

 private:
  using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

  __device__ static unsigned round_of(unsigned long long word) { return static_cast<unsigned>(word); }
  __device__ static double sum_lanes(double v) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
    return v;
  }
  template <int K>
  __device__ static void sum_warps(const double (&sums)[K], Scratch& scratch) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const double sum = sum_lanes(sums[k]);
      if (threadIdx.x % 32 == 0) scratch.partial[k][threadIdx.x / 32] = sum;
    }
    __syncthreads();
  }
  __device__ void put(ExchangeWord& to, double value) const {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
    Word(to.low).store((bits << 32) | round_, cuda::memory_order_relaxed);
    Word(to.high).store((bits >> 32 << 32) | round_, cuda::memory_order_relaxed);
  }
  __device__ double get(ExchangeWord& from) const {
    unsigned long long high, low;
    do {
      high = Word(from.high).load(cuda::memory_order_relaxed);
      low = Word(from.low).load(cuda::memory_order_relaxed);
    } while (round_of(high) != round_ || round_of(low) != round_);
    return __longlong_as_double(static_cast<long long>((high >> 32 << 32) | (low >> 32)));
  }

  ExchangeSlot* slots_;
  unsigned round_;
};

}  // namespace blockjacobi::kernels
