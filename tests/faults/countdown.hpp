#pragma once

#include <atomic>

namespace blockjacobi::test {

/// Which of the coming allocations fails: one, once, in whichever thread it comes.
class Countdown {
 public:
  /// That after the next `allocations` ones.
  void start(long allocations) {
    is_over_ = false;
    left_ = allocations;
  }
  /// From here on none; whether one did since start().
  bool stop() {
    left_ = never;
    return is_over_;
  }
  /// To be asked by each allocation: whether it is the one.
  bool ends_here() {
    // It goes on below zero: only the allocation that takes it from 0 fails.
    if (left_.load() < 0 || left_.fetch_sub(1) != 0) return false;
    is_over_ = true;
    return true;
  }

 private:
  static constexpr long never = -1;
  std::atomic<long> left_ = never;
  std::atomic<bool> is_over_ = false;
};

}  // namespace blockjacobi::test
