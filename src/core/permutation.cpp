#include <blockjacobi/permutation.hpp>

#include "core/message.hpp"

#include <limits>
#include <numeric>

namespace blockjacobi {

Permutation Permutation::identity(index_t size) {
  if (size < 0) throw InvalidArgument(detail::message("Permutation::identity: size is {}, must be >= 0", size));
  std::vector<index_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return Permutation(std::move(order));
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
  return Permutation(std::move(order));
}

Permutation detail::permutation_of(std::vector<index_t> order) { return Permutation(std::move(order)); }

bool Permutation::is_identity() const noexcept {
  for (std::size_t k = 0; k < order_.size(); ++k)
    if (order_[k] != static_cast<index_t>(k)) return false;
  return true;
}

Permutation Permutation::inverse() const {
  std::vector<index_t> number(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) number[static_cast<std::size_t>(order_[k])] = static_cast<index_t>(k);
  return Permutation(std::move(number));
}

}  // namespace blockjacobi
