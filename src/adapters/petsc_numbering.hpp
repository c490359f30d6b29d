#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <petscsys.h>

#include <span>
#include <utility>
#include <vector>

namespace blockjacobi::petsc {

/// The rows of a rank in the order of their clusters, and vectors on the way there and back, in a backend's memory.
class Numbering {
 public:
  using T = PetscScalar;
  using In = MultiVectorView<const T>;
  using Out = MultiVectorView<T>;

  Numbering(const Backend& backend, Permutation permutation)
      : permutation_(std::move(permutation)),
        to_clusters_(selection(backend, permutation_.order())),
        to_rank_(selection(backend, permutation_.inverse().order())),
        r_(backend, permutation_.order().size()),
        z_(backend, permutation_.order().size()) {}

  const Permutation& permutation() const noexcept { return permutation_; }

  /// Z = P^T f(P R), for columns in the backend's memory. Allocates where there are more of them than ever before.
  template <class F>
  void around(const In& R, const Out& Z, F f) {
    const auto size = static_cast<std::size_t>(R.rows) * static_cast<std::size_t>(R.cols);
    if (r_.size() < size) {
      r_ = Array<T>(r_.backend(), size);
      z_ = Array<T>(z_.backend(), size);
    }
    const Out r{r_.data(), R.rows, R.cols, R.rows, Layout::column_major, R.space};
    const Out z{z_.data(), R.rows, R.cols, R.rows, Layout::column_major, R.space};
    for (index_t j = 0; j < R.cols; ++j) to_clusters_.apply(column(R, j), column(r, j));
    f(In{r.data, r.rows, r.cols, r.ld, r.layout, r.space}, z);
    for (index_t j = 0; j < R.cols; ++j) to_rank_.apply(column(z, j), column(Z, j));
  }

 private:
  /// y_k = x_from[k], as a product, which every backend enqueues.
  static LinearOperator<T> selection(const Backend& backend, std::span<const index_t> from) {
    const auto size = static_cast<index_t>(from.size());
    std::vector<offset_t> offsets(from.size() + 1);
    for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<offset_t>(k);
    return SparseMatrix<T>(backend, CsrMatrix<T>(size, size, std::move(offsets), {from.begin(), from.end()},
                                                 std::vector<T>(from.size(), T(1))));
  }
  template <class Element>
  static VectorView<Element> column(const MultiVectorView<Element>& v, index_t j) {
    return {v.data + j * v.ld, v.rows, v.space};
  }

  Permutation permutation_;
  LinearOperator<T> to_clusters_, to_rank_;
  Array<T> r_, z_;
};

}  // namespace blockjacobi::petsc
