#pragma once

#include <atomic>
#include <exception>

namespace blockjacobi::detail {

/// An exception must not leave an OpenMP region, or the program ends. The threads of one do in run() what may throw,
/// and behind it rethrow() throws the first exception that any of them met.
class FirstException {
 public:
  /// f(), or nothing once a call has thrown.
  template <class F>
  void run(F&& f) noexcept {
    if (thrown_.load(std::memory_order_relaxed)) return;
    try {
      f();
    } catch (...) {
      if (!thrown_.exchange(true)) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> thrown_ = false;
  std::exception_ptr first_;
};

}  // namespace blockjacobi::detail
