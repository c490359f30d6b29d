#pragma once

#include "support/dense.hpp"

namespace blockjacobi::test {

/// abs1 of the textbook: |Re| + |Im|.
template <Scalar T>
real_t<T> pivot_size(T a) {
  return std::abs(std::real(a)) + std::abs(std::imag(a));
}

template <Scalar T>
struct ReferenceLu {
  std::vector<index_t> ipiv;  ///< 1-based
  int info = 0;
};

/// Textbook LU with partial pivoting, row operations one by one: what getrf is compared with.
template <Scalar T>
ReferenceLu<T> reference_lu(Dense<T> a) {
  ReferenceLu<T> result;
  const auto n = static_cast<index_t>(a.rows());
  for (index_t k = 0; k < n; ++k) {
    index_t pivot = k;
    for (index_t i = k + 1; i < n; ++i)
      if (pivot_size(a(i, k)) > pivot_size(a(pivot, k))) pivot = i;
    result.ipiv.push_back(pivot + 1);
    a.row(k).swap(a.row(pivot));
    if (a(k, k) == T(0)) {
      if (result.info == 0) result.info = k + 1;
      continue;
    }
    for (index_t i = k + 1; i < n; ++i) {
      a(i, k) /= a(k, k);
      for (index_t j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return result;
}

}  // namespace blockjacobi::test
