#pragma once

namespace blockjacobi::detail {

// By cuda_range.cpp; they do nothing in a build without CUDA, by cuda_absent.cpp.
void begin_range(const char* name) noexcept;
void end_range() noexcept;

/// A stretch of time of the calling thread, which a profiler that knows NVTX (Nsight Systems) shows under this name in
/// the domain "blockjacobi". On CUDA the thread enqueues meanwhile. Costs nanoseconds where no profiler runs.
class Range {
 public:
  explicit Range(const char* name) noexcept { begin_range(name); }
  ~Range() { end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace blockjacobi::detail
