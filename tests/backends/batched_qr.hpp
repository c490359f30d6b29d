#pragma once

#include "support/batch.hpp"
#include "support/hard_matrices.hpp"

namespace blockjacobi::test {

/// What geqrf gave for one batch.
template <Scalar T>
struct QrFactors {
  std::vector<Dense<T>> qr;
  std::vector<std::vector<T>> tau;
  bool padding_untouched = false;
};

template <Scalar T>
QrFactors<T> qr_factored(const Backend& backend, const std::vector<Dense<T>>& matrices, const BatchForm& form = {}) {
  const TestBatch<T> batch(backend, matrices, form);
  const auto stride = static_cast<std::size_t>(std::min(batch.view().rows, batch.view().cols));
  Array<T> tau(backend, stride * matrices.size());
  tau.zero();
  batched::geqrf(backend, batch.view(), tau.data());
  QrFactors<T> result{batch.matrices(), {}, batch.padding_untouched()};
  const std::vector<T> all = tau.to_host();
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(k * stride);
    result.tau.emplace_back(first, first + std::min(matrices[k].rows(), matrices[k].cols()));
  }
  return result;
}

/// Q = H_1 H_2 ... H_k, m x m, in long double.
template <Scalar T>
WideDense<T> orthogonal_factor(const Dense<T>& qr, const std::vector<T>& tau) {
  using W = typename Wide<T>::type;
  const auto m = qr.rows();
  WideDense<T> q = WideDense<T>::Identity(m, m);
  for (std::size_t k = tau.size(); k-- > 0;) {
    const auto i = static_cast<Eigen::Index>(k);
    WideDense<T> v = WideDense<T>::Zero(m, 1);
    v(i) = W(1);
    v.bottomRows(m - i - 1) = widened<T>(qr.col(i).tail(m - i - 1));
    q -= W(tau[k]) * product(v, adjoint_product(v, q));
  }
  return q;
}

template <Scalar T>
void expect_qr(const NamedMatrix<T>& a, const Dense<T>& qr, const std::vector<T>& tau) {
  const auto m = a.matrix.rows(), n = a.matrix.cols();
  SCOPED_TRACE(a.name + ", " + std::to_string(m) + " x " + std::to_string(n));
  const WideDense<T> q = orthogonal_factor(qr, tau), r = widened(qr).template triangularView<Eigen::Upper>();
  const WideDense<T> wide_a = widened(a.matrix);
  EXPECT_LE(scaled_error<T>(wide_a - product(q, r), std::max(m, n), infinity_norm(wide_a)), accuracy);
  EXPECT_LE(scaled_error<T>(defect_of_identity(WideDense<T>(q.adjoint()), q), m, 1.0L), accuracy);
  for (Eigen::Index i = 0; i < std::min(m, n); ++i) EXPECT_EQ(std::imag(qr(i, i)), 0) << "r_ii is real";
}

/// The largest ||A x - Q R x|| and | ||Q R x|| - ||R x|| | over some x, of A and Q R as linear maps.
template <Scalar T>
void expect_qr_on_vectors(const Dense<T>& a, const Dense<T>& qr, const std::vector<T>& tau, Random& random) {
  using W = typename Wide<T>::type;
  const auto m = a.rows(), n = a.cols();
  const WideDense<T> wide_a = widened(a), x = widened(uniform_random<T>(static_cast<index_t>(n), 4, random));
  const WideDense<T> factors = widened(qr);
  WideDense<T> y = WideDense<T>::Zero(m, 4);
  y.topRows(std::min(m, n)) =
      product(WideDense<T>(factors.topRows(std::min(m, n)).template triangularView<Eigen::Upper>()), x);
  const auto norm = y.norm();
  for (std::size_t k = tau.size(); k-- > 0;) {
    const auto i = static_cast<Eigen::Index>(k);
    WideDense<T> v = factors.col(i).bottomRows(m - i);
    v(0) = W(1);
    const WideDense<T> rest = y.bottomRows(m - i);
    y.bottomRows(m - i) -= W(tau[k]) * product(v, adjoint_product(v, rest));
  }
  const auto unit = static_cast<long double>(std::max(m, n)) * std::numeric_limits<real_t<T>>::epsilon();
  EXPECT_LE(static_cast<double>((product(wide_a, x) - y).norm() / (unit * wide_a.norm() * x.norm())), accuracy);
  EXPECT_LE(static_cast<double>(std::abs(y.norm() - norm) / (unit * norm)), accuracy);
}

}  // namespace blockjacobi::test
