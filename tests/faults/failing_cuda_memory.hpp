#pragma once

namespace blockjacobi::test {

/// Memory that CUDA itself hands out, in a program that links failing_cuda_memory.cpp with --wrap: it can be made to
/// run out once, which leaves an error of CUDA behind, and what was not given back is counted.
class FailingCudaMemory {
 public:
  enum Kind {
    pinned,  ///< by cudaMallocHost()
    pooled   ///< by cudaMallocFromPoolAsync()
  };
  /// The allocation after the next `allocations` ones of that kind fails.
  FailingCudaMemory(Kind kind, long allocations);
  ~FailingCudaMemory();
  FailingCudaMemory(const FailingCudaMemory&) = delete;
  FailingCudaMemory& operator=(const FailingCudaMemory&) = delete;
  /// From here on none fails; whether one did.
  bool stop();
  /// Allocations that were not given back, those by cudaMallocAsync() among the pooled ones.
  static long live(Kind kind);
  /// The call that fails.
  static const char* call(Kind kind);

 private:
  Kind kind_;
};

}  // namespace blockjacobi::test
