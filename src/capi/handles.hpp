#pragma once

#include "capi/guarded.hpp"

#include <variant>

/// What the opaque types of blockjacobi.h hold.

struct bj_backend {
  blockjacobi::Backend value;
};

struct bj_partition {
  blockjacobi::BlockPartition value;
};

struct bj_block_jacobi {
  std::variant<blockjacobi::BlockJacobi<float>, blockjacobi::BlockJacobi<double>,
               blockjacobi::BlockJacobi<std::complex<float>>, blockjacobi::BlockJacobi<std::complex<double>>>
      value;
};

struct bj_operator {
  std::variant<blockjacobi::LinearOperator<float>, blockjacobi::LinearOperator<double>,
               blockjacobi::LinearOperator<std::complex<float>>, blockjacobi::LinearOperator<std::complex<double>>>
      value;
  /// The matrix of an operator in block rows.
  std::variant<std::monostate, blockjacobi::BsrMatrix<float>, blockjacobi::BsrMatrix<double>,
               blockjacobi::BsrMatrix<std::complex<float>>, blockjacobi::BsrMatrix<std::complex<double>>>
      bsr = {};
};

struct bj_workspace {
  std::variant<blockjacobi::CgWorkspace<float>, blockjacobi::CgWorkspace<double>,
               blockjacobi::CgWorkspace<std::complex<float>>, blockjacobi::CgWorkspace<std::complex<double>>,
               blockjacobi::GmresWorkspace<float>, blockjacobi::GmresWorkspace<double>,
               blockjacobi::GmresWorkspace<std::complex<float>>, blockjacobi::GmresWorkspace<std::complex<double>>>
      value;
};

namespace blockjacobi::capi {

template <class T>
struct Tag {
  using type = T;
};

/// Calls f(Tag<T>) for the scalar of that number.
template <class F>
decltype(auto) with_scalar(bj_scalar scalar, F&& f) {
  switch (enumerator<ScalarType>(scalar, 4, "scalar")) {
    case ScalarType::s: return f(Tag<float>{});
    case ScalarType::d: return f(Tag<double>{});
    case ScalarType::c: return f(Tag<std::complex<float>>{});
    case ScalarType::z: break;
  }
  return f(Tag<std::complex<double>>{});
}

/// Calls f with the view that the caller's structure describes.
template <class F>
decltype(auto) with_csr(const bj_csr* matrix, F&& f) {
  const bj_csr& m = *required(matrix, "the matrix");
  const auto base = enumerator<IndexBase>(m.base, 2, "base");
  const MemorySpace space = space_of(m.space);
  if (m.offset_bits != 32 && m.offset_bits != 64)
    throw InvalidArgument(fmt::format("offset_bits is {}, must be 32 or 64", m.offset_bits));
  return with_scalar(m.scalar, [&](auto tag) -> decltype(auto) {
    using T = typename decltype(tag)::type;
    const auto view = [&](auto offset) {
      using O = decltype(offset);
      return CsrView<T, O>{
          m.rows, m.cols, m.nnz, static_cast<const O*>(m.row_offsets), m.columns, static_cast<const T*>(m.values),
          base,   space};
    };
    return m.offset_bits == 32 ? f(view(std::int32_t{})) : f(view(std::int64_t{}));
  });
}

}  // namespace blockjacobi::capi
