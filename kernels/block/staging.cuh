#pragma once

#include <cstddef>
#include <cstdint>

namespace blockjacobi::kernels {

/// Consecutive bytes of global memory on their way to shared memory, by the copy engine of the multiprocessor: many
/// bytes in flight at the cost of one instruction. One a thread block, in shared memory.
struct Staging {
  alignas(8) std::uint64_t barrier;
};

/// Shared memory, 16-byte aligned, that staging of so many bytes takes: it may begin and end off the boundaries.
__host__ __device__ constexpr std::size_t staging_bytes(std::size_t bytes) { return (bytes + 47) / 16 * 16; }

/// All threads. `from` has an even address, and the bytes before it down to the last multiple of 16 can be read.
/// Returns where the bytes will be.
__device__ inline const std::byte* begin_staging(Staging& staging, const std::byte* from, unsigned bytes,
                                                 std::byte* area) {
  const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
  const unsigned whole = (shift + bytes) / 16 * 16;
  if (threadIdx.x == 0) {
    const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&staging.barrier));
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(area));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(whole) : "memory");
    if (whole > 0)
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
          "l"(from - shift), "r"(whole), "r"(barrier)
          : "memory");
  }
  // What is left of the last 16 bytes; what follows it may not be readable.
  const unsigned rest = whole + 2 * threadIdx.x;
  if (rest < shift + bytes)
    *reinterpret_cast<std::uint16_t*>(area + rest) = *reinterpret_cast<const std::uint16_t*>(from - shift + rest);
  return area + shift;
}

/// After a barrier of the thread block that follows begin_staging().
__device__ inline void wait_for_staging(Staging& staging) {
  const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&staging.barrier));
  unsigned done = 0;
  while (done == 0)
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
}

}  // namespace blockjacobi::kernels
