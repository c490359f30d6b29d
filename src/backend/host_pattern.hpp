#pragma once

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"

#include <vector>

namespace blockjacobi::detail {

/// A view with its pattern on the host, where analyses run: the view itself, or copies of its arrays. The values stay
/// where they are.
template <Scalar T, Offset O>
class HostPattern {
 public:
  /// Waits. Throws InvalidArgument, naming `where`, for a device matrix with a host backend.
  HostPattern(const char* where, const Backend& backend, const CsrView<T, O>& matrix) : view_(matrix) {
    if (matrix.space == MemorySpace::host) return;
    if (backend.memory_space() != MemorySpace::device)
      throw InvalidArgument(
          message("{}: the matrix lies on the device, the backend is {}", where, backend.description()));
    row_offsets_.resize(static_cast<std::size_t>(matrix.rows) + 1);
    columns_.resize(static_cast<std::size_t>(matrix.nnz));
    BackendImpl& impl = backend.impl();
    impl.copy_to_host(row_offsets_.data(), matrix.row_offsets, row_offsets_.size() * sizeof(O));
    impl.copy_to_host(columns_.data(), matrix.columns, columns_.size() * sizeof(index_t));
    view_.row_offsets = row_offsets_.data();
    view_.columns = columns_.data();
    view_.space = MemorySpace::host;
  }
  HostPattern(const HostPattern&) = delete;
  HostPattern& operator=(const HostPattern&) = delete;

  const CsrView<T, O>& view() const { return view_; }

 private:
  std::vector<O> row_offsets_;
  std::vector<index_t> columns_;
  CsrView<T, O> view_;
};

}  // namespace blockjacobi::detail
