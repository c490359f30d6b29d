#include <blockjacobi/permutation.hpp>

#include "core/message.hpp"
#include "core/permutation_impl.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace blockjacobi {

namespace {

/// Of an order that is known to be one.
Permutation permutation_of(std::vector<index_t> order) {
  if (order.empty()) return {};
  return Permutation(std::make_shared<const detail::PermutationImpl>(std::move(order)));
}

}  // namespace

Permutation Permutation::identity(index_t size) {
  if (size < 0) throw InvalidArgument(detail::message("Permutation::identity: size is {}, must be >= 0", size));
  std::vector<index_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return permutation_of(std::move(order));
}

Permutation Permutation::from_order(std::vector<index_t> order) {
  if (order.size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
    throw InvalidArgument(detail::message("Permutation::from_order: {} numbers exceed 32 bits", order.size()));
  std::vector<bool> seen(order.size(), false);
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] < 0 || static_cast<std::size_t>(order[k]) >= order.size())
      throw InvalidArgument(
          detail::message("Permutation::from_order: order[{}] is {}, must be in 0..{}", k, order[k], order.size() - 1));
    if (seen[static_cast<std::size_t>(order[k])])
      throw InvalidArgument(detail::message("Permutation::from_order: order[{}] is {} once more", k, order[k]));
    seen[static_cast<std::size_t>(order[k])] = true;
  }
  return permutation_of(std::move(order));
}

index_t Permutation::size() const noexcept { return impl_ != nullptr ? impl_->size() : 0; }

std::span<const index_t> Permutation::order() const {
  return impl_ != nullptr ? impl_->order() : std::span<const index_t>();
}

bool Permutation::is_identity() const {
  const auto old = order();
  for (std::size_t k = 0; k < old.size(); ++k)
    if (old[k] != static_cast<index_t>(k)) return false;
  return true;
}

Permutation Permutation::inverse() const {
  const auto old = order();
  std::vector<index_t> number(old.size());
  for (std::size_t k = 0; k < old.size(); ++k) number[static_cast<std::size_t>(old[k])] = static_cast<index_t>(k);
  return permutation_of(std::move(number));
}

bool Permutation::equals(const Permutation& other) const {
  return impl_ == other.impl_ || std::ranges::equal(order(), other.order());
}

}  // namespace blockjacobi
