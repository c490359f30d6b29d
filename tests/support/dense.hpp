#pragma once

#include "support/random.hpp"
#include "support/wide.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace blockjacobi::test {

template <Scalar T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// long double, or complex of it: the precision in which residuals are evaluated.
template <Scalar T>
struct Wide {
  using type = long double;
};
template <class R>
struct Wide<std::complex<R>> {
  using type = std::complex<long double>;
};
template <Scalar T>
using WideDense = std::conditional_t<is_complex<T>, WideComplex, WideReal>;

template <Scalar T>
WideDense<T> widened(const Dense<T>& a) {
  return a.template cast<typename Wide<T>::type>();
}

/// A B, compiled once for each scalar.
template <Scalar T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b);

/// The largest sum of absolute values in a row; NaN if the matrix has one.
template <Scalar T>
long double infinity_norm(const Dense<T>& a) {
  return infinity_norm(widened(a));
}

/// Dense block with large elements on a shifted diagonal: rows move in pivoting, and the condition number stays far
/// from the singular threshold, which is as large as 6e-4 for fp32 blocks of order 512.
template <Scalar T>
Dense<T> random_dense(index_t n, Random& random) {
  Dense<T> a(n, n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i) a(i, j) = random.scalar<T>();
  const auto shift = static_cast<real_t<T>>(1.5 * std::sqrt(n));
  for (index_t i = 0; i < n; ++i) a(i, (i + n / 3 + 1) % n) += shift;
  return a;
}

/// min(||I - A X||, ||I - X A||) / (N eps ||A|| ||X||) in the infinity norm, evaluated in long double.
template <Scalar T>
double inverse_error(const Dense<T>& a, const Dense<T>& x) {
  const WideDense<T> wide_a = widened(a), wide_x = widened(x);
  const long double scale = static_cast<long double>(a.rows()) *
                            static_cast<long double>(std::numeric_limits<real_t<T>>::epsilon()) *
                            infinity_norm(wide_a) * infinity_norm(wide_x);
  const long double right = infinity_norm(defect_of_identity(wide_a, wide_x));
  const long double left = infinity_norm(defect_of_identity(wide_x, wide_a));
  const long double error = std::min(left, right) / scale;
  return std::isfinite(error) ? static_cast<double>(error) : std::numeric_limits<double>::infinity();
}

/// Block-diagonal matrix with every element of the blocks stored, and its partition.
template <Scalar T>
struct BlockDiagonal {
  std::vector<Dense<T>> blocks;

  BlockPartition partition() const {
    std::vector<index_t> offsets{0};
    for (const auto& block : blocks) offsets.push_back(offsets.back() + static_cast<index_t>(block.rows()));
    return BlockPartition::from_offsets(offsets);
  }

  CsrMatrix<T> matrix() const {
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    std::vector<T> values;
    index_t first = 0;
    for (const auto& block : blocks) {
      const auto n = static_cast<index_t>(block.rows());
      for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < n; ++j) {
          columns.push_back(first + j);
          values.push_back(block(i, j));
        }
        offsets.push_back(static_cast<offset_t>(columns.size()));
      }
      first += n;
    }
    return CsrMatrix<T>(first, first, std::move(offsets), std::move(columns), std::move(values));
  }
};

/// The inverse that a BlockJacobi stores for block b.
template <Scalar T>
Dense<T> stored_inverse(const BlockJacobi<T>& m, index_t b) {
  const std::vector<T> values = m.inverse_block(b);
  const index_t n = m.partition().block_size(b);
  return Eigen::Map<const Dense<T>>(values.data(), n, n);
}

}  // namespace blockjacobi::test
