#include "backends/batched_lu.hpp"
#include "support/hard_matrices.hpp"
#include "support/reference_lu.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
void expect_lu(const NamedMatrix<T>& a, const LuFactors<T>& factors, std::size_t k) {
  SCOPED_TRACE(a.name + ", order " + std::to_string(a.matrix.rows()));
  const auto n = a.matrix.rows();
  EXPECT_EQ(factors.info[k], 0);
  for (std::size_t i = 0; i < factors.ipiv[k].size(); ++i) {
    ASSERT_GE(factors.ipiv[k][i], static_cast<index_t>(i) + 1);
    ASSERT_LE(factors.ipiv[k][i], n);
  }
  EXPECT_LE(lu_error(a.matrix, factors.lu[k], factors.ipiv[k]), accuracy);
  // Rounding may turn the choice among pivots that are equal but for rounding in single precision.
  if (std::is_same_v<real_t<T>, double>) {
    EXPECT_EQ(factors.ipiv[k], reference_lu(a.matrix).ipiv);
  }
  const auto bound = 1 + 100 * static_cast<real_t<T>>(n) * std::numeric_limits<real_t<T>>::epsilon();
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = j + 1; i < n; ++i) {
      const T l = factors.lu[k](i, j);
      // The pivot is the largest by |Re| + |Im|, which differs from |.| by up to sqrt(2) for the complex.
      const auto slack = is_complex<T> ? static_cast<real_t<T>>(std::sqrt(2.0)) : real_t<T>(1);
      ASSERT_LE(std::abs(l), bound * slack);
    }
}

TYPED_TEST(BatchedOnBackend, LuOfHardMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(101);
  for (const index_t n : all_batched_orders()) {
    const auto matrices = hard_matrices<T>(n, random);
    for (const BatchForm& form : forms_of_order(n)) {
      const auto factors = lu_factored(this->make_backend(), without_names(matrices), form);
      for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
    }
  }
}

TYPED_TEST(BatchedOnBackend, LuOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(112);
  for (const index_t n : large_orders) {
    const auto matrices = large_matrices<T>(n, random);
    const auto factors = lu_factored(this->make_backend(), without_names(matrices), {.padding = n % 3});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// Of an order that no scalar has in shared memory as a whole.
TYPED_TEST(BatchedOnBackend, LuByPanels) {
  using T = typename TypeParam::Scalar;
  Random random(116);
  for (const bool padded : {false, true}) {
    const auto matrices = large_matrices<T>(101, random);
    const auto factors = lu_factored(this->make_backend(), without_names(matrices), {.padding = padded ? 3 : 0});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// Of orders that other kernels have, with so many panels that warps without rows interchange those of others.
TYPED_TEST(BatchedOnBackend, LuOfALargeMatrix) {
  using T = typename TypeParam::Scalar;
  Random random(118);
  for (const index_t n : {180, 257}) {
    const std::vector<NamedMatrix<T>> matrices{{"large", uniform_random<T>(n, n, random)}};
    expect_lu(matrices[0], lu_factored(this->make_backend(), without_names(matrices), BatchForm{}), 0);
  }
}

TYPED_TEST(BatchedOnBackend, LuOfTinyAndLargeMatricesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  Random random(113);
  for (const BatchForm& form : batch_forms) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {7, 40, 33, 1, 32, 53})
      matrices.push_back({"form", uniform_random<T>(form.orders ? n : 53, form.orders ? n : 53, random)});
    if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
    const auto factors = lu_factored(this->make_backend(), without_names(matrices), form);
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

TYPED_TEST(BatchedOnBackend, LuInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  Random random(102);
  for (const BatchForm& form : batch_forms) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {7, 1, 12, 16, 3, 9, 19, 22, 28, 32})
      matrices.push_back({"form", uniform_random<T>(form.orders ? n : 9, form.orders ? n : 9, random)});
    if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
    const auto factors = lu_factored(this->make_backend(), without_names(matrices), form);
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// The first `count` kinds of singular matrices.
template <Scalar T>
void expect_lu_of_singular(const Backend& backend, const std::vector<index_t>& orders, std::size_t count) {
  Random random(103);
  for (const index_t n : orders) {
    auto matrices = singular_matrices<T>(n, random);
    matrices.resize(std::min(count, matrices.size()));
    for (const BatchForm& form : forms_of_order(n)) {
      const auto factors = lu_factored(backend, matrices, form);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE("matrix " + std::to_string(k) + ", order " + std::to_string(n));
        EXPECT_EQ(factors.info[k], reference_lu(matrices[k]).info);
        if (matrices[k].isZero(0)) {
          EXPECT_TRUE(factors.lu[k].isZero(0));
          continue;
        }
        EXPECT_LE(lu_error(matrices[k], factors.lu[k], factors.ipiv[k]), accuracy);
      }
    }
  }
}

TYPED_TEST(BatchedOnBackend, LuOfSingularMatricesGoesOn) {
  using T = typename TypeParam::Scalar;
  std::vector<index_t> tiny(32);
  std::iota(tiny.begin(), tiny.end(), 1);
  expect_lu_of_singular<T>(this->make_backend(), tiny, 6);
  expect_lu_of_singular<T>(this->make_backend(), {33, 97}, 3);
}

TYPED_TEST(BatchedOnBackend, LuOfEveryKindOfSingularMatrixGoesOn) {
  auto orders = all_batched_orders();
  std::erase_if(orders, [](index_t n) { return n > 128; });
  expect_lu_of_singular<typename TypeParam::Scalar>(this->make_backend(), orders, 6);
}

TYPED_TEST(BatchedOnBackend, LuTakesTheFirstOfEqualPivots) {
  using T = typename TypeParam::Scalar;
  Dense<T> a = Dense<T>::Identity(5, 5);
  a.col(0) << T(1), T(-3), T(3), T(2), T(-3);
  std::vector<Dense<T>> matrices{a};
  std::vector<index_t> expected{2};
  if constexpr (is_complex<T>) {
    a.col(0) << T(0, 4), T(-3, 3), T(5, 0), T(2, -4), T(3, 3);  // moduli 4, 4.2, 5, 4.5, 4.2; sums 4, 6, 5, 6, 6
    matrices.push_back(a);
    expected.push_back(2);
  }
  const auto factors = lu_factored(this->make_backend(), matrices);
  for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_EQ(factors.ipiv[k][0], expected[k]);
}

/// Pivots that differ in the last place only, and equal ones, wherever the two rows are.
TYPED_TEST(BatchedOnBackend, LuTellsNearlyEqualPivotsApart) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Random random(114);
  for (const index_t n : {5, 9, 12, 15, 16, 17, 18, 24, 32, 40}) {
    std::vector<Dense<T>> matrices;
    std::vector<index_t> expected;
    for (const index_t distance : {1, 3, 4, 6, 8, 16})
      for (index_t i = 0; i < n; ++i) {
        const index_t j = (i + distance) % n;
        if (i == j) continue;
        for (const R other : {R(1), std::nextafter(R(1), R(2)), std::nextafter(R(1), R(0))}) {
          Dense<T> a = uniform_random<T>(n, n, random);
          a.col(0) *= R(0.25);
          a(i, 0) = T(1);
          a(j, 0) = T(-other);
          matrices.push_back(a);
          expected.push_back(1 + (other == R(1) ? std::min(i, j) : other > R(1) ? j : i));
        }
      }
    const auto factors = lu_factored(this->make_backend(), matrices);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      ASSERT_EQ(factors.ipiv[k][0], expected[k]) << "matrix " << k << " of order " << n;
      ASSERT_LE(lu_error(matrices[k], factors.lu[k], factors.ipiv[k]), accuracy) << "matrix " << k << ", order " << n;
    }
  }
}

/// `count` matrices, a singular one among the others, which do not feel it.
template <Scalar T>
void expect_lu_beside_a_singular_one(const Backend& backend, index_t n, std::size_t count, Random& random) {
  std::vector<NamedMatrix<T>> matrices;
  for (std::size_t k = 0; k < count; ++k) matrices.push_back({"random", uniform_random<T>(n, n, random)});
  const std::size_t singular = count / 2;
  matrices[singular].matrix.col(n / 2).setZero();
  const auto factors = lu_factored(backend, without_names(matrices));
  for (std::size_t k = 0; k < count; ++k) {
    if (k == singular)
      EXPECT_EQ(factors.info[k], static_cast<int>(n / 2) + 1) << count << " matrices of order " << n;
    else
      expect_lu(matrices[k], factors, k);
  }
}

/// Batches that fill the last warp in part.
TYPED_TEST(BatchedOnBackend, LuOfFewMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(115);
  for (const index_t n : {9, 13, 17, 18, 20, 24, 32})
    for (std::size_t count = 1; count <= 11; ++count)
      expect_lu_beside_a_singular_one<T>(this->make_backend(), n, count, random);
}

/// The same where a warp has a matrix a lane, or two.
TYPED_TEST(BatchedOnBackend, LuOfTinyMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(119);
  for (const index_t n : {1, 2, 3, 4})
    for (const std::size_t count : {1U, 31U, 32U, 33U, 65U, 129U, 289U})
      expect_lu_beside_a_singular_one<T>(this->make_backend(), n, count, random);
}

/// Singular but for rounding in single precision.
TYPED_TEST(BatchedOnBackend, LuOfHilbertMatrices) {
  using T = typename TypeParam::Scalar;
  for (const index_t n : {5, 6, 7, 8}) {
    const NamedMatrix<T> a{"Hilbert", hilbert<T>(n)};
    for (const BatchForm& form : forms_of_order(n)) {
      const auto factors = lu_factored(this->make_backend(), std::vector<Dense<T>>(3, a.matrix), form);
      for (std::size_t k = 0; k < 3; ++k) expect_lu(a, factors, k);
    }
  }
}

TYPED_TEST(BatchedOnBackend, TwoRunsOfLuGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  Random random(120);
  for (const index_t n : {5, 16, 29, 75}) {
    std::vector<Dense<T>> a;
    for (int k = 0; k < 100; ++k) a.push_back(uniform_random<T>(n, n, random));
    const auto one = lu_factored(this->make_backend(), a), two = lu_factored(this->make_backend(), a);
    EXPECT_EQ(one.ipiv, two.ipiv);
    EXPECT_EQ(one.info, two.info);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(one.lu[k], two.lu[k])) << "order " << n;
  }
}

}  // namespace
}  // namespace blockjacobi::test
