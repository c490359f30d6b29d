#pragma once

#include "linear_system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <utility>

namespace solve {

/// The matrix as it was read, on the host and, once somebody asks, on the backend, with the vectors that belong to it.
template <Scalar T>
class System {
 public:
  System(blockjacobi::Backend backend, const CsrMatrix<T>& matrix, Vectors<T> vectors,
         const blockjacobi::SparseMatrixOptions& stated)
      : backend_(std::move(backend)), matrix_(matrix), vectors_(std::move(vectors)), stated_(stated) {}

  const blockjacobi::Backend& backend() const noexcept { return backend_; }
  const CsrMatrix<T>& matrix() const noexcept { return matrix_; }
  const Vectors<T>& vectors() const noexcept { return vectors_; }
  /// With what is known of it.
  const blockjacobi::SparseMatrix<T>& on_backend() {
    if (!on_backend_) on_backend_ = blockjacobi::SparseMatrix<T>::adopt(backend_, matrix_, stated_);
    return *on_backend_;
  }

 private:
  blockjacobi::Backend backend_;
  const CsrMatrix<T>& matrix_;
  Vectors<T> vectors_;
  blockjacobi::SparseMatrixOptions stated_;
  std::optional<blockjacobi::SparseMatrix<T>> on_backend_;
};

}  // namespace solve
