#pragma once

#include <blockjacobi/error.hpp>

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// What std::move leaves behind, the same for every class of its kind. An object of values is empty, as one of size
/// zero. A handle to shared state has no move of its own, so that a move copies it. A sole owner refuses every use but
/// assignment and destruction. Members of the types below make that so, without a move written by hand.
namespace blockjacobi::detail {

/// A number of an object of values: zero once it was moved from.
template <class T>
class ZeroOnceMoved {
  static_assert(std::is_arithmetic_v<T>);

 public:
  ZeroOnceMoved(T value = T()) noexcept : value_(value) {}
  ZeroOnceMoved(const ZeroOnceMoved&) = default;
  ZeroOnceMoved(ZeroOnceMoved&& other) noexcept : value_(std::exchange(other.value_, T())) {}
  ZeroOnceMoved& operator=(ZeroOnceMoved other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~ZeroOnceMoved() = default;
  operator T() const noexcept { return value_; }

 private:
  T value_;
};

/// The offsets o[0] = 0 <= o[1] <= ... of rows or blocks: those of none, {0}, once they were moved from.
template <class O>
class Offsets {
 public:
  Offsets() = default;
  Offsets(std::vector<O> offsets) noexcept : own_(std::move(offsets)) {}
  std::span<const O> view() const noexcept { return own_.empty() ? std::span<const O>(&none, 1) : own_; }

 private:
  static constexpr O none = 0;
  std::vector<O> own_;
};

/// The only owner of an Impl. Every use of one that was moved from throws InvalidArgument with the name of the class.
template <class Impl>
class SoleOwner {
 public:
  SoleOwner(const char* name, std::unique_ptr<Impl> impl) noexcept : name_(name), impl_(std::move(impl)) {}
  Impl& operator*() const {
    if (!impl_) throw InvalidArgument(std::string(name_) + ": the object was moved from");
    return *impl_;
  }
  Impl* operator->() const { return &**this; }

 private:
  const char* name_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blockjacobi::detail
