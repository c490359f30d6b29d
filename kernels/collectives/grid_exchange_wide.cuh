#pragma once

#include "kernels/collectives/lanes.cuh"
#include "kernels/collectives/message.cuh"

#include <cstddef>

namespace blockjacobi::kernels {

/// As GridExchange, for many sums at once, which would be too much for every thread block to read from all others: each
/// sum belongs to one of them, which adds it up and tells all.
///
/// Nobody waits for ever: a thread block tells its shares before it waits for anything, an owner waits for shares
/// alone, and the totals come from the owners. Two sets of messages in turn are enough, as no thread block tells
/// anything of round r + 2 before it has the totals of r + 1, to which all others have told their shares; and they do
/// that once they have read all of round r.
class WideGridExchange {
 public:
  using Slot = Message<double>;
  /// Copies of each total, for as many parts of the grid; see exchange_copies.
  static constexpr int copies = 4;

  /// Of at most `most` sums.
  __host__ __device__ static constexpr std::size_t slots_for(int ctas, int most) {
    return 2 * static_cast<std::size_t>(ctas + copies) * static_cast<std::size_t>(most);
  }

  /// `slots`: slots_for(gridDim.x, most), zero before the first launch and unchanged between launches of as many thread
  /// blocks. A barrier of the thread block has to follow before run().
  __device__ WideGridExchange(Slot* slots, int most)
      : slots_(slots), most_(most), round_(last_round(*share_slot(0, 0, blockIdx.x), *share_slot(1, 0, blockIdx.x))) {}

  /// Of the sums exchanged last; the same in all thread blocks.
  __device__ unsigned round() const { return round_; }

  /// totals[k width + c], k < count, is what share(k, lane, sums) leaves in sums[c], summed over the lanes of one warp
  /// of each thread block and over the grid: the same bits everywhere. 0 < count width <= most, the same in all thread
  /// blocks. meanwhile() is called by one thread of the thread block. Whole warps, at least two; `totals` in shared
  /// memory. What share() reads was there at the barrier before; a barrier at the end.
  template <int width, class Share, class Meanwhile>
  __device__ void run(int count, double* totals, Share share, Meanwhile meanwhile) {
    const auto lanes = Lanes<32>::current();
    const auto add = [](double a, double b) { return a + b; };
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int warp = thread / 32, warps = threads / 32;
    round_ = next_round(round_);
    const int set = static_cast<int>(round_ & 1);
    for (int k = warp; k < count; k += warps) {
      double sums[width] = {};
      share(k, lanes.rank, sums);
#pragma unroll
      for (int c = 0; c < width; ++c) sums[c] = lanes.reduce(sums[c], add);
#pragma unroll
      for (int c = 0; c < width; ++c)
        if (lanes.rank == c) put(*share_slot(set, k * width + c, blockIdx.x), round_, sums[c]);
    }
    if (warp == warps - 1)
      for (int k = static_cast<int>(blockIdx.x); k < count * width; k += static_cast<int>(gridDim.x)) {
        const double total =
            lanes.reduce(sum_of_messages(share_slot(set, k, 0), static_cast<int>(gridDim.x), round_, lanes.rank), add);
        if (lanes.rank < copies) put(*total_slot(set, k, lanes.rank), round_, total);
      }
    if (thread == (warps - 2) * 32) meanwhile();
    for (int k = thread; k < count * width; k += threads)
      totals[k] = receive(*total_slot(set, k, static_cast<int>(blockIdx.x) % copies), round_);
    __syncthreads();
  }
  template <int width, class Share>
  __device__ void run(int count, double* totals, Share share) {
    run<width>(count, totals, share, [] {});
  }

 private:
  __device__ Slot* share_slot(int set, int k, unsigned cta) const {
    return slots_ + (set * most_ + k) * gridDim.x + cta;
  }
  __device__ Slot* total_slot(int set, int k, int copy) const {
    return slots_ + 2 * most_ * gridDim.x + (copy * 2 + set) * most_ + k;
  }

  Slot* slots_;
  int most_;
  unsigned round_;
};

}  // namespace blockjacobi::kernels
