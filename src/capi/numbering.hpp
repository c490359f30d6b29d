#pragma once

#include "capi/message.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace blockjacobi::capi {

/// `size` elements on the host or in the backend's memory.
template <class T>
void require_vector(const char* name, const VectorView<T>& v, index_t size, const Backend& backend) {
  if (v.size != size) throw InvalidArgument(message("{}: length is {}, must be {}", name, v.size, size));
  if (size > 0 && v.data == nullptr) throw InvalidArgument(message("{}: null pointer, length {}", name, size));
  if (v.space != MemorySpace::host && v.space != backend.memory_space())
    throw InvalidArgument(
        message("{}: lies on the device, the backend ({}) computes on the host", name, backend.description()));
}

/// In the backend's memory.
template <class T>
void require_space(const char* name, const VectorView<T>& v, const Backend& backend) {
  if (v.space != backend.memory_space())
    throw InvalidArgument(message("{}: lies on the {}, the backend ({}) computes on the {}", name, to_string(v.space),
                                  backend.description(), to_string(backend.memory_space())));
}

/// y_k = x_from[k] in the backend's memory, as a product with a matrix, which every backend enqueues.
template <Scalar T>
class Gather {
 public:
  template <class Number>
  Gather(const Backend& backend, std::span<const Number> from) : product_(selection(backend, from)) {}

  void operator()(VectorView<const T> x, VectorView<T> y) const { product_.apply(x, y); }

 private:
  template <class Number>
  static SparseMatrix<T> selection(const Backend& backend, std::span<const Number> from) {
    if (from.size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
      throw InvalidArgument(message("the matrix has {} entries, a renumbered one can have {}", from.size(),
                                    std::numeric_limits<index_t>::max()));
    const auto size = static_cast<index_t>(from.size());
    std::vector<offset_t> offsets(from.size() + 1);
    for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<offset_t>(k);
    return {backend, CsrMatrix<T>(size, size, std::move(offsets), std::vector<index_t>(from.begin(), from.end()),
                                  std::vector<T>(from.size(), T(1)))};
  }

  LinearOperator<T> product_;
};

/// From the user's numbering of a system to that of its blocks and back, in a backend's memory. Holds the vectors that
/// are under way: one call at a time.
template <Scalar T>
class Numbering {
 public:
  Numbering(const Backend& backend, const Permutation& permutation, std::span<const offset_t> value_map)
      : permutation_(permutation),
        to_blocks_(backend, permutation.order()),
        to_user_(backend, permutation_.inverse().order()),
        to_matrix_(backend, value_map),
        values_(backend, value_map.size()),
        staged_(backend, backend.memory_space() == MemorySpace::host ? 0 : rows()),
        in_(backend, rows()),
        out_(backend, rows()) {}

  const Permutation& permutation() const noexcept { return permutation_; }
  const Backend& backend() const noexcept { return in_.backend(); }

  /// y = P x, y in the backend's memory and x there or on the host.
  void to_blocks(VectorView<const T> x, VectorView<T> y) {
    if (x.space != y.space) {
      staged_.copy_from_host(x.data);
      x = staged_.view();
    }
    to_blocks_(x, y);
  }

  /// x = P^T y, the other way.
  void to_user(VectorView<const T> y, VectorView<T> x) {
    if (x.space == y.space) return to_user_(y, x);
    to_user_(y, staged_.view());
    staged_.copy_to_host(x.data);
  }

  /// z = P^T f(P r) in the backend's memory.
  template <class F>
  void around(VectorView<const T> r, VectorView<T> z, F&& f) {
    for (const auto& [name, v] : {std::pair("input", r), std::pair("output", VectorView<const T>(z))}) {
      require_vector(name, v, permutation_.size(), backend());
      require_space(name, v, backend());
    }
    to_blocks(r, in_.view());
    f(VectorView<const T>(in_.view()), out_.view());
    to_user(out_.view(), z);
  }

  /// f(P b, y), with y = P x before and x = P^T y behind, for vectors on the host or in the backend's memory.
  template <class F>
  void solved(VectorView<const T> b, VectorView<T> x, F&& f) {
    require_vector("b", b, permutation_.size(), backend());
    require_vector("x", x, permutation_.size(), backend());
    to_blocks(b, in_.view());
    to_blocks(x, out_.view());
    f(VectorView<const T>(in_.view()), out_.view());
    to_user(out_.view(), x);
  }

  /// The values of the renumbered matrix, in the backend's memory as those given.
  const T* ordered(const T* values, offset_t nnz, MemorySpace space) {
    const auto own = static_cast<index_t>(values_.size());
    if (nnz != own) throw InvalidArgument(message("{} values, the pattern has {}", nnz, own));
    const VectorView<const T> given{values, own, space};
    require_vector("values", given, own, backend());
    require_space("values", given, backend());
    to_matrix_(given, values_.view());
    return values_.data();
  }

 private:
  std::size_t rows() const noexcept { return static_cast<std::size_t>(permutation_.size()); }

  Permutation permutation_;
  Gather<T> to_blocks_, to_user_, to_matrix_;
  Array<T> values_, staged_, in_, out_;
};

}  // namespace blockjacobi::capi
