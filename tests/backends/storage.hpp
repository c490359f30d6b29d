#pragma once

#include "support/backends.hpp"
#include "support/dense.hpp"

namespace blockjacobi::test {

/// The fixture of the tests of the formats in which inverses are stored.
template <class Case>
class StorageOnBackend : public BackendTest<Case> {};

inline constexpr Storage all_storages[] = {Storage::full, Storage::packed, Storage::fp32,
                                           Storage::bf16, Storage::fp16,   Storage::adaptive};

inline BlockJacobiOptions with(Storage storage, double accuracy = 0.1) {
  BlockJacobiOptions options;
  options.storage = storage;
  options.accuracy = accuracy;
  return options;
}

/// Hermitian positive definite, far from singular.
template <Scalar T>
Dense<T> random_definite(index_t n, Random& random) {
  Dense<T> a(n, n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i) a(i, j) = random.scalar<T>();
  a = (a + a.adjoint()).eval();
  for (index_t i = 0; i < n; ++i) a(i, i) += T(4 * std::sqrt(static_cast<real_t<T>>(n)) + 1);
  return a;
}

template <Scalar T>
BlockDiagonal<T> definite_blocks(std::initializer_list<index_t> orders, std::uint64_t seed) {
  Random random(seed);
  BlockDiagonal<T> a;
  for (const index_t n : orders) a.blocks.push_back(random_definite<T>(n, random));
  return a;
}

/// ||I - A X||, infinity norm.
template <Scalar T>
double right_residual(const Dense<T>& a, const Dense<T>& x) {
  return static_cast<double>(infinity_norm(defect_of_identity(widened(a), widened(x))));
}

}  // namespace blockjacobi::test
