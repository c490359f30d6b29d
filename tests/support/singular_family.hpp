#pragma once

#include "support/dense.hpp"

namespace blockjacobi::test {

/// Singular blocks of many kinds, among regular ones that must stay as they are.
template <Scalar T>
BlockDiagonal<T> singular_family(Random& random, const std::vector<index_t>& orders = {1, 2, 6, 16, 32, 40}) {
  BlockDiagonal<T> a;
  for (const index_t n : orders) {
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(Dense<T>::Zero(n, n));
    if (n == 1) continue;
    a.blocks.push_back(Dense<T>::Constant(n, n, T(-3)));
    Dense<T> column = random_dense<T>(n, random);
    column.col(1).setZero();
    a.blocks.push_back(column);
    Dense<T> row = random_dense<T>(n, random);
    row.row(n - 1).setZero();
    a.blocks.push_back(row);
    const index_t rank = n / 2;
    Dense<T> left(n, rank), right(n, rank);
    for (index_t j = 0; j < rank; ++j)
      for (index_t i = 0; i < n; ++i) {
        left(i, j) = T(static_cast<real_t<T>>(random.index(9) - 4));
        right(i, j) = T(static_cast<real_t<T>>(random.index(9) - 4));
      }
    left.row(0).setOnes();
    right.row(0).setOnes();
    a.blocks.push_back(product(left, Dense<T>(right.transpose())));
    a.blocks.push_back(product(left, Dense<T>(left.transpose())));  // symmetric, semidefinite
    Dense<T> graded = product(left, Dense<T>(right.transpose()));
    for (index_t i = 0; i < n; ++i) {
      graded.row(i) *= std::ldexp(real_t<T>(1), 7 * (i % 4));
      graded.col(i) *= std::ldexp(real_t<T>(1), 5 * (i % 3) - 9);
    }
    a.blocks.push_back(graded);
  }
  return a;
}

}  // namespace blockjacobi::test
