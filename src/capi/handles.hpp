#pragma once

#include "capi/guarded.hpp"
#include "capi/held.hpp"

#include <memory>
#include <optional>
#include <variant>

/// What the opaque types of blockjacobi.h hold.

struct bj_backend {
  blockjacobi::Backend value;
};

struct bj_partition {
  blockjacobi::BlockPartition value;
  /// To the numbering of the blocks, where that is not the user's.
  std::optional<blockjacobi::Permutation> permutation = {};
};

struct bj_block_jacobi {
  blockjacobi::capi::OfAnyScalar<blockjacobi::capi::HeldPreconditioner> value;
};

struct bj_operator {
  blockjacobi::capi::OfAnyScalar<blockjacobi::capi::HeldOperator> value;
};

struct bj_suggestion {
  blockjacobi::Suggestion value;
  std::int32_t unknowns;
};

struct bj_workspace {
  blockjacobi::capi::OfAnyScalar<blockjacobi::capi::HeldWorkspace> value;
};

namespace blockjacobi::capi {

/// s, d, c or z of what a handle holds.
template <template <class> class Held>
char scalar_name(const OfAnyScalar<Held>& value) {
  return std::visit([]<class T>(const Held<T>&) { return to_char(scalar_type<T>); }, value);
}

BlockJacobiOptions options_of(const bj_block_jacobi_options& wanted);

// What the functions of these names make.
std::unique_ptr<bj_block_jacobi> make_block_jacobi(const Backend& backend, const bj_csr* matrix,
                                                   const bj_partition& partition, const BlockJacobiOptions& options);
std::unique_ptr<bj_block_jacobi> make_two_level(const Backend& backend, const bj_csr* matrix,
                                                const bj_partition& partition, const BlockJacobiOptions& options,
                                                const bj_two_level_options& coarse);
std::unique_ptr<bj_block_jacobi> make_multigrid(const Backend& backend, const bj_csr* matrix,
                                                const bj_partition& partition, const BlockJacobiOptions& options,
                                                const bj_multigrid_options& multigrid);
std::unique_ptr<bj_operator> make_numbered_operator(const Backend& backend, const bj_csr* matrix,
                                                    const bj_partition& partition);

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
    throw InvalidArgument(message("offset_bits is {}, must be 32 or 64", m.offset_bits));
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
