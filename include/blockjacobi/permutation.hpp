#pragma once

#include <blockjacobi/error.hpp>
#include <blockjacobi/export.hpp>
#include <blockjacobi/types.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace detail {
class PermutationImpl;
}

/// A renumbering P of 0 .. size() - 1: what has the number order()[k] becomes number k. Immutable; copies share their
/// numbers; safe to share between threads. One that was moved from is of nothing.
///
/// Numbers that were found on a device stay there (with the backend, which lives as long) until somebody asks for them:
/// that first call uses the backend, so not while another thread does, nor while its stream is captured.
class BLOCKJACOBI_EXPORT Permutation {
 public:
  /// Of nothing.
  Permutation() = default;

  /// Every number stays. Throws InvalidArgument for size < 0.
  [[nodiscard]] static Permutation identity(index_t size);

  /// order[k] is the old number of what becomes number k. Throws InvalidArgument naming the position unless every
  /// number 0 .. order.size() - 1 stands in it once.
  [[nodiscard]] static Permutation from_order(std::vector<index_t> order);

  index_t size() const noexcept;
  /// On the host. Where a device found them the first call takes memory and waits for its stream; whatever follows but
  /// impl() may be that call.
  std::span<const index_t> order() const;
  bool is_identity() const;
  /// Its order()[i] is the new number of i.
  Permutation inverse() const;

  /// P x: element k is x[order()[k]]. Throws InvalidArgument unless x has size() elements.
  template <class T>
  std::vector<T> to_permuted(const std::vector<T>& x) const {
    require_size("to_permuted", x.size());
    const std::span<const index_t> old = order();
    std::vector<T> y(x.size());
    for (std::size_t k = 0; k < y.size(); ++k) y[k] = x[static_cast<std::size_t>(old[k])];
    return y;
  }

  /// P^T y, back in the old numbering. Throws as to_permuted().
  template <class T>
  std::vector<T> to_original(const std::vector<T>& y) const {
    require_size("to_original", y.size());
    const std::span<const index_t> old = order();
    std::vector<T> x(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) x[static_cast<std::size_t>(old[k])] = y[k];
    return x;
  }

  friend bool operator==(const Permutation& a, const Permutation& b) { return a.equals(b); }

  /// For the library.
  explicit Permutation(std::shared_ptr<const detail::PermutationImpl> impl) noexcept : impl_(std::move(impl)) {}
  /// Null if it is of nothing.
  const std::shared_ptr<const detail::PermutationImpl>& impl() const noexcept { return impl_; }

 private:
  bool equals(const Permutation& other) const;
  void require_size(const char* function, std::size_t size) const {
    if (size != static_cast<std::size_t>(this->size()))
      throw InvalidArgument(std::string("Permutation::") + function + ": the vector has " + std::to_string(size) +
                            " elements, must have " + std::to_string(this->size()));
  }
  std::shared_ptr<const detail::PermutationImpl> impl_;
};

}  // namespace blockjacobi
