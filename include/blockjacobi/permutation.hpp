#pragma once

#include <blockjacobi/error.hpp>
#include <blockjacobi/export.hpp>
#include <blockjacobi/types.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {

class Permutation;

namespace detail {
/// For the library: of an order that is known to be one.
Permutation permutation_of(std::vector<index_t> order);
}  // namespace detail

/// A renumbering P of 0 .. size() - 1: what has the number order()[k] becomes number k. Immutable host object; safe to
/// share between threads. One that was moved from is of nothing.
class BLOCKJACOBI_EXPORT Permutation {
 public:
  /// Of nothing.
  Permutation() = default;

  /// Every number stays. Throws InvalidArgument for size < 0.
  [[nodiscard]] static Permutation identity(index_t size);

  /// order[k] is the old number of what becomes number k. Throws InvalidArgument naming the position unless every
  /// number 0 .. order.size() - 1 stands in it once.
  [[nodiscard]] static Permutation from_order(std::vector<index_t> order);

  index_t size() const noexcept { return static_cast<index_t>(order_.size()); }
  std::span<const index_t> order() const noexcept { return order_; }
  bool is_identity() const noexcept;
  /// Its order()[i] is the new number of i.
  Permutation inverse() const;

  /// P x: element k is x[order()[k]]. Throws InvalidArgument unless x has size() elements.
  template <class T>
  std::vector<T> to_permuted(const std::vector<T>& x) const {
    require_size("to_permuted", x.size());
    std::vector<T> y(x.size());
    for (std::size_t k = 0; k < y.size(); ++k) y[k] = x[static_cast<std::size_t>(order_[k])];
    return y;
  }

  /// P^T y, back in the old numbering. Throws as to_permuted().
  template <class T>
  std::vector<T> to_original(const std::vector<T>& y) const {
    require_size("to_original", y.size());
    std::vector<T> x(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) x[static_cast<std::size_t>(order_[k])] = y[k];
    return x;
  }

  friend bool operator==(const Permutation&, const Permutation&) = default;
  friend Permutation detail::permutation_of(std::vector<index_t> order);

 private:
  explicit Permutation(std::vector<index_t> order) : order_(std::move(order)) {}
  void require_size(const char* function, std::size_t size) const {
    if (size != order_.size())
      throw InvalidArgument(std::string("Permutation::") + function + ": the vector has " + std::to_string(size) +
                            " elements, must have " + std::to_string(order_.size()));
  }
  std::vector<index_t> order_;
};

}  // namespace blockjacobi
