#pragma once

#include <cstddef>
#include <cstdint>

namespace blockjacobi::kernels {

/// Shared memory, 16-byte aligned, that staging of so many bytes takes: they may begin and end off the boundaries.
__host__ __device__ constexpr unsigned staging_bytes(unsigned bytes) { return (bytes + 31) / 16 * 16; }

/// Consecutive bytes of global memory on their way to shared memory, by the copy engine of the multiprocessor: many
/// bytes in flight for one instruction. One a thread block, in shared memory; all of its threads call begin(), add()
/// for each piece, end(), then wait after a barrier.
class Staging {
 public:
  __device__ void begin() {
    if (threadIdx.x != 0) return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  /// `from` has an even address, and the bytes before it down to the last multiple of 16 can be read. Returns where the
  /// bytes will be in `area`.
  __device__ std::byte* add(const void* from, unsigned bytes, std::byte* area) {
    const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
    const std::byte* const source = static_cast<const std::byte*>(from) - shift;
    const unsigned whole = (shift + bytes) / 16 * 16;
    if (threadIdx.x == 0 && whole > 0) {
      const auto to = static_cast<unsigned>(__cvta_generic_to_shared(area));
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(whole) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                   "l"(source), "r"(whole), "r"(address())
                   : "memory");
    }
    // What is left of the last 16 bytes; what follows it may not be readable.
    const unsigned rest = whole + 2 * threadIdx.x;
    if (rest >= shift && rest < shift + bytes)
      *reinterpret_cast<std::uint16_t*>(area + rest) = *reinterpret_cast<const std::uint16_t*>(source + rest);
    return area + shift;
  }

  __device__ void end() {
    if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }

  __device__ void wait() {
    unsigned done = 0;
    while (done == 0)
      asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                   : "=r"(done)
                   : "r"(address())
                   : "memory");
  }

 private:
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&barrier_)); }

  std::uint64_t barrier_;
};

}  // namespace blockjacobi::kernels
