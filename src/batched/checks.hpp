#pragma once

#include "backend/backend_impl.hpp"
#include "core/message.hpp"

#include <blockjacobi/batched.hpp>
#include <blockjacobi/error.hpp>

namespace blockjacobi::detail {

/// The elements of a matrix of the largest order: `run` of them from every multiple of the leading dimension on, within
/// the `extent` from the first one to the last.
struct Footprint {
  offset_t extent;
  offset_t run;
};

/// Checks of the arguments of one function of batched.hpp. All throw InvalidArgument with the numbers.
template <Scalar T>
class BatchedChecks {
  using View = MatrixBatchView<const T>;

 public:
  BatchedChecks(const char* function, const Backend& backend) : function_(function), backend_(backend) {}

  /// Sizes, memory space, leading dimension, pointers, stride and orders of the operand called `name`.
  void matrices(const char* name, const View& a) const;
  /// As matrices, and rows = cols.
  void square(const char* name, const View& a) const;
  /// A square output x of the shape of the input `a`; the storage of a or disjoint from it.
  void output(const View& a, const View& x) const;
  /// An output x of packed triangles.
  void packed_output(const View& a, const View& x) const;
  /// Right-hand sides b of the systems with the matrices `a`, which are called `name`; disjoint from them.
  void right_hand_sides(const char* name, const View& a, const View& b) const;
  /// An array of `each` elements for every one of `count` matrices.
  void array(const char* name, const void* data, offset_t each, offset_t count) const;
  void relative_tolerance(double rtol) const;
  /// One of the enumerators, which count from 0 to `last`.
  template <class Enum>
  void enumerator(const char* name, Enum value, Enum last) const {
    if (static_cast<int>(value) < 0 || value > last)
      fail(name, "is {}, must be in 0..{}", static_cast<int>(value), static_cast<int>(last));
  }

 private:
  void shape(const char* name, const View& a, index_t largest_cols) const;
  void storage(const char* name, const View& a, offset_t extent) const;
  void entries(const char* name, const View& a, const index_t* orders) const;
  void shape_of_output(const View& a, const View& x) const;
  void overlap(const View& a, const Footprint& of_a, const char* name, const View& x, const Footprint& of_x) const;

  template <class... A>
  [[noreturn]] void fail(const char* name, fmt::format_string<A...> format, A&&... arguments) const {
    throw InvalidArgument(detail::message("batched::{}: {}: {}", function_, name,
                                          detail::message(format, std::forward<A>(arguments)...)));
  }

  const char* function_;
  const Backend& backend_;
};

/// The view as BatchedOps takes it: with a leading dimension unless the matrices differ in order.
template <class T>
MatrixBatchView<T> resolved(MatrixBatchView<T> a) {
  if (a.ld == 0 && a.orders == nullptr) a.ld = a.rows;
  return a;
}

/// The output x of a function of `a`: the orders are those of a.
template <class A, class T>
MatrixBatchView<T> resolved_output(const MatrixBatchView<A>& a, MatrixBatchView<T> x) {
  x.orders = a.orders;
  return resolved(x);
}

}  // namespace blockjacobi::detail
