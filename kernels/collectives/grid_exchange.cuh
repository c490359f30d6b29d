#pragma once

#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/collectives/message.cuh"

namespace blockjacobi::kernels {

inline constexpr int exchange_sums = 8;
/// Copies of each slot, for as many parts of the grid: all thread blocks that wait read all slots again and again, and
/// a part of the cache that serves one line to all of them would be late with what is written to it.
inline constexpr int exchange_copies = 4;

/// Sums over a grid whose thread blocks are all on the device at once (a cooperative launch), with the result in each
/// of them, as often as wanted: every thread block tells its sums to all others and waits for theirs. It orders no
/// other memory: what else the thread blocks tell each other goes by messages of the same rounds.
class GridExchange {
 public:
  using Slot = Message<double>;
  struct Scratch {
    double own[exchange_sums][max_warps_per_cta];
    double all[exchange_sums][max_warps_per_cta];
  };

  /// `slots`: slots_for(gridDim.x), zero before the first launch and unchanged between launches of as many thread
  /// blocks.
  __device__ explicit GridExchange(Slot* slots)
      : slots_(slots), round_(last_round(*slot(0, 0, 0, blockIdx.x), *slot(0, 1, 0, blockIdx.x))) {}
  __host__ __device__ static constexpr std::size_t slots_for(int ctas) {
    return 2 * std::size_t{exchange_copies * exchange_sums} * static_cast<std::size_t>(ctas);
  }

  /// Of the sums exchanged last; the same in all thread blocks.
  __device__ unsigned round() const { return round_; }

  /// The sums of each thread become those of the whole grid. At least gridDim.x threads, whole warps. A barrier of the
  /// thread block.
  template <int K>
  __device__ void run(double (&sums)[K], Scratch& scratch) {
    static_assert(K <= exchange_sums);
    round_ = next_round(round_);
    // Two sets in turn: who is in the next round already must not overwrite what others still read.
    const int set = static_cast<int>(round_ & 1);
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    sum_warps(sums, scratch.own);
    if (warp == 0) {
      const int warps = static_cast<int>(blockDim.x) / 32;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const double own = sum_lanes(lane < warps ? scratch.own[k][lane] : 0.0);
        if (lane % K == k && lane / K < exchange_copies) put(*slot(lane / K, set, k, blockIdx.x), round_, own);
      }
    }
    const bool listens = thread < static_cast<int>(gridDim.x);
    bool waits = listens;
    while (waits) {
      waits = false;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const Slot& told = *slot(static_cast<int>(blockIdx.x) % exchange_copies, set, k, threadIdx.x);
        waits = !get(told, round_, sums[k]) || waits;
      }
    }
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = listens ? sums[k] : 0.0;
    sum_warps(sums, scratch.all);
    const int warps = static_cast<int>(gridDim.x + 31) / 32;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sums[k] = scratch.all[k][0];
      for (int w = 1; w < warps; ++w) sums[k] += scratch.all[k][w];
    }
  }

  /// The same of what share(k, lane) returns in the lanes of one warp, k < K. The other warps call meanwhile(first), to
  /// be shared by the threads `first`, `first` + 1, ... of the thread block. What share() reads was there at the
  /// barrier before, and there is one between two runs.
  template <int K, class Share, class Meanwhile>
  __device__ void run(double (&sums)[K], Scratch& scratch, Share share, Meanwhile meanwhile) {
    static_assert(K <= exchange_sums);
    round_ = next_round(round_);
    const int set = static_cast<int>(round_ & 1);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    if (warp < K) {
      const double own = sum_lanes(share(warp, lane));
      if (lane < exchange_copies) put(*slot(lane, set, warp, blockIdx.x), round_, own);
      const Slot* const told = slot(static_cast<int>(blockIdx.x) % exchange_copies, set, warp, 0);
      const double all = sum_lanes(sum_of_messages(told, static_cast<int>(gridDim.x), round_, lane));
      if (lane == 0) scratch.all[warp][0] = all;
    } else {
      meanwhile(32 * K);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = scratch.all[k][0];
  }

 private:
  __device__ Slot* slot(int copy, int set, int k, unsigned cta) const {
    return slots_ + ((copy * 2 + set) * exchange_sums + k) * gridDim.x + cta;
  }
  __device__ static double sum_lanes(double v) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
    return v;
  }
  template <int K>
  __device__ static void sum_warps(const double (&sums)[K], double (&partial)[exchange_sums][max_warps_per_cta]) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const double sum = sum_lanes(sums[k]);
      if (threadIdx.x % 32 == 0) partial[k][threadIdx.x / 32] = sum;
    }
    __syncthreads();
  }

  Slot* slots_;
  unsigned round_;
};

}  // namespace blockjacobi::kernels
