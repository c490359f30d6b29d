#pragma once

#include "backend/operator_impl.hpp"
#include "core/compute_views.hpp"

#include <blockjacobi/linear_operator.hpp>

namespace blockjacobi::detail {

/// A user's function as operator or preconditioner (Base is OperatorImpl<T> or PreconditionerImpl<T>).
template <class Base, Scalar T>
class Callback final : public Base {
 public:
  Callback(MemorySpace space, index_t rows, VectorFunction<T> function, Capture capture)
      : space_(space), rows_(rows), function_(std::move(function)), capture_(capture) {}
  index_t rows() const override { return rows_; }
  bool capturable() const override { return capture_ == Capture::yes; }
  void apply(const compute_t<T>* x, compute_t<T>* y) const override {
    function_(VectorView<const T>(public_cast(x), rows_, space_), VectorView<T>(public_cast(y), rows_, space_));
  }

 private:
  MemorySpace space_;
  index_t rows_;
  VectorFunction<T> function_;
  Capture capture_;
};

}  // namespace blockjacobi::detail
