#pragma once

#include "arrays.hpp"

#include <cstdint>

namespace blockjacobi::python {

/// The arrays of a square sparse matrix in CSR that somebody else owns, held for as long as this object.
class SparseView {
 public:
  /// `columns` are of int32, `offsets` of int32 or int64; Python has narrowed what is wider.
  SparseView(std::int64_t rows, std::int64_t cols, nb::object offsets, nb::object columns, nb::object values,
             const PythonBackend& backend);

  ScalarType scalar() const noexcept { return scalar_; }
  std::int64_t nnz() const noexcept { return nnz_; }
  index_t rows() const noexcept { return rows_; }
  MemorySpace space() const noexcept { return space_; }
  const CallerStreams& streams() const noexcept { return streams_; }

  /// f(CsrView<T, O>) for T of scalar() and O of the offsets.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return with_scalar(scalar_, [&](auto tag) -> decltype(auto) {
      using T = typename decltype(tag)::type;
      return visit_scalar<T>(f);
    });
  }

  /// The same where the caller knows the scalar, T.
  template <class T, class F>
  decltype(auto) visit_scalar(F&& f) const {
    return wide_ ? f(view<T, std::int64_t>()) : f(view<T, std::int32_t>());
  }

 private:
  template <class T, class O>
  CsrView<T, O> view() const {
    return {rows_,           cols_, nnz_, static_cast<const O*>(offsets_), columns_, static_cast<const T*>(values_),
            IndexBase::zero, space_};
  }

  nb::object owners_[3];
  CallerStreams streams_;
  index_t rows_ = 0, cols_ = 0;
  offset_t nnz_ = 0;
  const void* offsets_ = nullptr;
  const index_t* columns_ = nullptr;
  const void* values_ = nullptr;
  bool wide_ = false;
  ScalarType scalar_ = ScalarType::d;
  MemorySpace space_ = MemorySpace::host;
};

void bind_matrix(nb::module_& module);

}  // namespace blockjacobi::python
