#pragma once

namespace blockjacobi::test {

/// cudaMallocHost() of a program that links failing_pinned.cpp with --wrap: while an object of this lives it finds no
/// memory, and leaves an error of CUDA behind.
class FailingPinned {
 public:
  FailingPinned();
  ~FailingPinned();
  FailingPinned(const FailingPinned&) = delete;
  FailingPinned& operator=(const FailingPinned&) = delete;
  /// Allocations that were not given back.
  static int live();
};

}  // namespace blockjacobi::test
