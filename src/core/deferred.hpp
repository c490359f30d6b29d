#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace blockjacobi::detail {

/// Elements that are made when somebody first asks for them: once, whichever thread asks. If that throws they are still
/// to be made.
template <class T>
class Deferred {
 public:
  Deferred() = default;
  /// Made already.
  explicit Deferred(std::vector<T> made) noexcept : elements_(std::move(made)), is_made_(true) {}

  template <class Make>
  std::span<const T> get(Make make) const {
    if (!is_made_.load(std::memory_order_acquire)) {
      const std::scoped_lock lock(mutex_);
      if (!is_made_.load(std::memory_order_relaxed)) {
        elements_ = make();
        is_made_.store(true, std::memory_order_release);
      }
    }
    return elements_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<T> elements_;
  mutable std::atomic<bool> is_made_ = false;
};

}  // namespace blockjacobi::detail
