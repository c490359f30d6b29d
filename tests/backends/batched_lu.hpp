#pragma once

#include "support/batch.hpp"

namespace blockjacobi::test {

/// What getrf gave for one batch.
template <Scalar T>
struct LuFactors {
  std::vector<Dense<T>> lu;
  std::vector<std::vector<index_t>> ipiv;  // 1-based
  std::vector<int> info;
  bool padding_untouched = false;
};

template <Scalar T>
LuFactors<T> lu_factored(const Backend& backend, const std::vector<Dense<T>>& matrices, const BatchForm& form = {}) {
  const TestBatch<T> batch(backend, matrices, form);
  const auto rows = static_cast<std::size_t>(batch.view().rows);
  Array<index_t> ipiv(backend, rows * matrices.size());
  ipiv.zero();
  Array<int> info(backend, matrices.size());
  batched::getrf(backend, batch.view(), ipiv.data(), info.data());
  LuFactors<T> result{batch.matrices(), {}, info.to_host(), batch.padding_untouched()};
  const std::vector<index_t> pivots = ipiv.to_host();
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto first = pivots.begin() + static_cast<std::ptrdiff_t>(k * rows);
    result.ipiv.emplace_back(first, first + matrices[k].rows());
  }
  return result;
}

/// P A, the row interchanges in getrf's order.
template <Scalar T>
Dense<T> interchanged(Dense<T> a, const std::vector<index_t>& ipiv) {
  for (std::size_t i = 0; i < ipiv.size(); ++i) a.row(static_cast<Eigen::Index>(i)).swap(a.row(ipiv[i] - 1));
  return a;
}

/// ||P A - L U|| / (N eps ||A||).
template <Scalar T>
double lu_error(const Dense<T>& a, const Dense<T>& lu, const std::vector<index_t>& ipiv) {
  const WideDense<T> factors = widened(lu);
  WideDense<T> l = factors.template triangularView<Eigen::StrictlyLower>();
  l.diagonal().setOnes();
  const WideDense<T> u = factors.template triangularView<Eigen::Upper>();
  return scaled_error<T>(widened(interchanged(a, ipiv)) - product(l, u), a.rows(), infinity_norm(widened(a)));
}

}  // namespace blockjacobi::test
