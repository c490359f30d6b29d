#pragma once

#include "core/deferred.hpp"

#include <blockjacobi/array.hpp>

#include <optional>
#include <span>
#include <vector>

namespace blockjacobi::detail {

/// What the copies of a Permutation share: numbers, at least one, each once, that stay where they were found. order()
/// makes those of the host.
class PermutationImpl {
 public:
  explicit PermutationImpl(std::vector<index_t> order)
      : size_(static_cast<index_t>(order.size())), on_host_(std::move(order)) {}
  /// In the memory of a backend.
  explicit PermutationImpl(Array<index_t> order)
      : size_(static_cast<index_t>(order.size())), in_backend_(std::move(order)) {}

  index_t size() const { return size_; }
  /// Waits for the backend if they come from there.
  std::span<const index_t> order() const {
    return on_host_.get([this] { return in_backend_->to_host(); });
  }
  /// Null unless they lie in the memory of that backend.
  const index_t* order_in(const Backend& backend) const {
    return in_backend_ && in_backend_->backend() == backend ? in_backend_->data() : nullptr;
  }

 private:
  index_t size_;
  std::optional<Array<index_t>> in_backend_;
  Deferred<index_t> on_host_;
};

}  // namespace blockjacobi::detail
