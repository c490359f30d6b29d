#pragma once

namespace blockjacobi::test {

/// operator new of a program that links failing_new.cpp: it can be made to throw std::bad_alloc once, in whichever
/// thread the allocation comes, and counts the allocations that were not given back.
class FailingNew {
 public:
  /// The allocation after the next `allocations` ones fails.
  explicit FailingNew(long allocations);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  /// From here on none fails; whether one did.
  static bool stop();
  static long live();
};

}  // namespace blockjacobi::test
