#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <optional>

namespace solve {

/// A matrix in a backend's memory: a host matrix is used in place, a device gets a copy. What `host` refers to must
/// outlive this object.
template <blockjacobi::Scalar T>
class BackendMatrix {
 public:
  BackendMatrix(const blockjacobi::Backend& backend, const blockjacobi::CsrView<T>& host) : view_(host) {
    if (backend.memory_space() == blockjacobi::MemorySpace::host) return;
    view_.row_offsets = copy(row_offsets_, backend, host.row_offsets, host.rows + blockjacobi::offset_t{1});
    view_.columns = copy(columns_, backend, host.columns, host.nnz);
    view_.values = copy(values_, backend, host.values, host.nnz);
    view_.space = backend.memory_space();
  }

  const blockjacobi::CsrView<T>& view() const noexcept { return view_; }

 private:
  template <class E>
  static const E* copy(std::optional<blockjacobi::Array<E>>& array, const blockjacobi::Backend& backend, const E* host,
                       blockjacobi::offset_t count) {
    array.emplace(backend, static_cast<std::size_t>(count));
    array->copy_from_host(host);
    return array->data();
  }

  std::optional<blockjacobi::Array<blockjacobi::offset_t>> row_offsets_;
  std::optional<blockjacobi::Array<blockjacobi::index_t>> columns_;
  std::optional<blockjacobi::Array<T>> values_;
  blockjacobi::CsrView<T> view_;
};

}  // namespace solve
