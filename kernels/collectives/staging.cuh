#pragma once

#include "kernels/collectives/copy_barrier.cuh"

namespace blockjacobi::kernels {

/// Shared memory, 16-byte aligned, that staging of so many bytes takes: they may begin and end off the boundaries.
__host__ __device__ constexpr unsigned staging_bytes(unsigned bytes) { return (bytes + 31) / 16 * 16; }

/// Consecutive bytes of global memory on their way to shared memory, by the copy engine of the multiprocessor: many
/// bytes in flight for one instruction. One a thread block, in shared memory; all of its threads call begin(), add()
/// for each piece, end(), then wait after a barrier.
class Staging {
 public:
  __device__ void begin() {
    if (threadIdx.x == 0) barrier_.initialize();
  }

  /// `from` has an even address, and the bytes before it down to the last multiple of 16 can be read. Returns where the
  /// bytes will be in `area`.
  __device__ std::byte* add(const void* from, unsigned bytes, std::byte* area) {
    const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
    const std::byte* const source = static_cast<const std::byte*>(from) - shift;
    const unsigned whole = (shift + bytes) / 16 * 16;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0 && whole > 0) {
      barrier_.expect(whole);
      barrier_.copy(source, whole, area);
    }
#else
    // Without a copy engine by all threads; the barrier before wait() makes it seen.
    for (unsigned at = 16 * threadIdx.x; at < whole; at += 16 * blockDim.x) barrier_.copy(source + at, 16, area + at);
#endif
    // What is left of the last 16 bytes; what follows it may not be readable.
    const unsigned rest = whole + 2 * threadIdx.x;
    if (rest >= shift && rest < shift + bytes)
      *reinterpret_cast<std::uint16_t*>(area + rest) = *reinterpret_cast<const std::uint16_t*>(source + rest);
    return area + shift;
  }

  __device__ void end() {
    if (threadIdx.x == 0) barrier_.arrive();
  }

  __device__ void wait() { barrier_.wait(0); }

 private:
  CopyBarrier barrier_;
};

}  // namespace blockjacobi::kernels
