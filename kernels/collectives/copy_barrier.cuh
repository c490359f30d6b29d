#pragma once

#include <cstddef>
#include <cstdint>

namespace blockjacobi::kernels {

/// By each thread that has read or written what copies will overwrite or count on, before the barrier behind which
/// these are issued: without it the copy engine need not come after them.
__device__ inline void order_before_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Bytes of global memory as the copy engine of a multiprocessor takes them: in whole units of 16. The last unit is
/// left out if it ends behind `limit`, where nothing may be read; store_rest() brings what that leaves. The bytes
/// before the first one down to the last multiple of 16 can be read.
class CopyUnits {
 public:
  __device__ CopyUnits(const void* from, unsigned bytes, const void* limit)
      : shift_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16)),
        end_(shift_ + bytes),
        source_(static_cast<const std::byte*>(from) - shift_),
        whole_((end_ + 15) / 16 * 16) {
    if (source_ + whole_ > static_cast<const std::byte*>(limit)) whole_ = end_ / 16 * 16;
  }
  /// Where, from the beginning of their place in shared memory on, the bytes themselves begin.
  __device__ unsigned shift() const { return shift_; }
  __device__ const std::byte* source() const { return source_; }
  /// Bytes for the copy engine.
  __device__ unsigned whole() const { return whole_; }

  /// By one thread, before copies that may overwrite it later are issued.
  template <class C>
  __device__ void store_rest(std::byte* to) const {
    if (whole_ >= end_) return;
#pragma unroll 1
    for (unsigned at = max(whole_, shift_); at < end_; at += sizeof(C))
      *reinterpret_cast<C*>(to + at) = *reinterpret_cast<const C*>(source_ + at);
    order_before_copies();
  }

 private:
  unsigned shift_, end_;
  const std::byte* source_;
  unsigned whole_;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Tells in shared memory when copies of the copy engine have arrived, one turn after the other.
class CopyBarrier {
 public:
  /// By one thread; the others may use it after a barrier.
  __device__ void initialize() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    order_before_copies();
  }

  /// By one thread in each turn: expect() for all bytes that the copies of the turn bring, then arrive().
  __device__ void expect(unsigned bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }

  /// Issues a copy; addresses and bytes are multiples of 16.
  __device__ void copy(const std::byte* from, unsigned bytes, std::byte* to) {
    if (bytes == 0) return;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes), "r"(address())
                 : "memory");
  }

  /// Waits for a turn, 0 for even and 1 for odd ones.
  __device__ void wait(unsigned parity) {
    unsigned done = 0;
    while (done == 0)
      asm volatile(
          "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(address()), "r"(parity)
          : "memory");
  }

 private:
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&barrier_)); }

  std::uint64_t barrier_;
};

#else

/// The same without a copy engine, which devices before Hopper lack: the thread that issues a copy carries it out, and
/// what the lanes of a warp copied is there for them after wait(). For other warps that takes a barrier.
class CopyBarrier {
 public:
  __device__ void initialize() {}
  __device__ void expect(unsigned) {}
  __device__ void arrive() {}
  __device__ void copy(const std::byte* from, unsigned bytes, std::byte* to) {
#pragma unroll 4
    for (unsigned at = 0; at < bytes; at += 16)
      *reinterpret_cast<int4*>(to + at) = *reinterpret_cast<const int4*>(from + at);
  }
  __device__ void wait(unsigned) { __syncwarp(); }

 private:
  std::uint64_t barrier_;  // as large as on other devices: the host computes with its size
};

#endif

}  // namespace blockjacobi::kernels
