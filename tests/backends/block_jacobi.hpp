#pragma once

#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/dense.hpp"

namespace blockjacobi::test {

/// The fixtures of the tests of block_jacobi.hpp.
template <class Case>
class BlockJacobiOnBackend : public BackendTest<Case> {};
template <class Case>
class BlockJacobiLargeBatch : public BackendTest<Case> {};

inline constexpr double inverse_accuracy = 10.0;  // of inverse_error, the library's promise

inline BlockJacobiOptions with(SingularPolicy policy) {
  BlockJacobiOptions options;
  options.singular = policy;
  return options;
}

template <Scalar T>
void expect_accurate(const BlockJacobi<T>& m, const BlockDiagonal<T>& a) {
  const std::vector<int> info = m.info();
  for (index_t b = 0; b < m.partition().blocks(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    EXPECT_EQ(info[i], 0) << "block " << b;
    EXPECT_LE(inverse_error<T>(a.blocks[i], stored_inverse(m, b)), inverse_accuracy)
        << "block " << b << " of order " << a.blocks[i].rows();
  }
}

}  // namespace blockjacobi::test
