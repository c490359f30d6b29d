#pragma once

#include "capi/guarded.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <span>
#include <utility>

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

/// From the user's numbering of a system to that of its blocks and back, in a backend's memory. Holds the vectors that
/// are under way: one call at a time.
template <Scalar T>
class Numbering {
 public:
  Numbering(const Backend& backend, const Permutation& permutation, std::span<const offset_t> value_map)
      : renumbering_(backend, permutation),
        to_matrix_(backend, value_map, static_cast<offset_t>(value_map.size())),
        values_(backend, value_map.size()),
        staged_(backend, backend.memory_space() == MemorySpace::host ? 0 : rows()),
        work_(backend, 2 * rows()) {}

  const Permutation& permutation() const noexcept { return renumbering_.permutation(); }
  const Backend& backend() const noexcept { return renumbering_.backend(); }

  /// y = P x, y in the backend's memory and x there or on the host.
  void to_blocks(VectorView<const T> x, VectorView<T> y) {
    if (x.space != y.space) {
      staged_.copy_from_host(x.data);
      x = staged_.view();
    }
    renumbering_.to_permuted(x, y);
  }

  /// x = P^T y, the other way.
  void to_user(VectorView<const T> y, VectorView<T> x) {
    if (x.space == y.space) return renumbering_.to_original(y, x);
    renumbering_.to_original(y, staged_.view());
    staged_.copy_to_host(x.data);
  }

  /// z = P^T f(P r) in the backend's memory.
  template <class F>
  void around(VectorView<const T> r, VectorView<T> z, F&& f) {
    for (const auto& [name, v] : {std::pair("input", r), std::pair("output", VectorView<const T>(z))}) {
      require_vector(name, v, size(), backend());
      require_space(name, v, backend());
    }
    renumbering_.around(r, z, work_, f);
  }

  /// f(P b, y), with y = P x before and x = P^T y behind, for vectors on the host or in the backend's memory.
  template <class F>
  void solved(VectorView<const T> b, VectorView<T> x, F&& f) {
    require_vector("b", b, size(), backend());
    require_vector("x", x, size(), backend());
    const VectorView<T> right{work_.data(), size(), backend().memory_space()};
    const VectorView<T> left{work_.data() + size(), size(), backend().memory_space()};
    to_blocks(b, right);
    to_blocks(x, left);
    f(VectorView<const T>(right), left);
    to_user(left, x);
  }

  /// The values of the renumbered matrix, in the backend's memory as those given.
  const T* ordered(const T* values, offset_t nnz, MemorySpace space) {
    const auto own = static_cast<index_t>(values_.size());
    if (nnz != own) throw InvalidArgument(message("{} values, the pattern has {}", nnz, own));
    const VectorView<const T> given{values, own, space};
    require_vector("values", given, own, backend());
    require_space("values", given, backend());
    to_matrix_.apply(given, values_.view());
    return values_.data();
  }

 private:
  index_t size() const noexcept { return permutation().size(); }
  std::size_t rows() const noexcept { return static_cast<std::size_t>(size()); }

  Renumbering<T> renumbering_;
  Gather<T> to_matrix_;
  Array<T> values_, staged_, work_;
};

}  // namespace blockjacobi::capi
