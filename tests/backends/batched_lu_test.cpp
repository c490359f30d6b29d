#include "support/batch.hpp"
#include "support/hard_matrices.hpp"
#include "support/reference_lu.hpp"
#include "support/shapes.hpp"

#include <numeric>

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

constexpr double accuracy = 10.0;  // of every backward error, the library's promise

/// What getrf gave for one batch.
template <Scalar T>
struct LuFactors {
  std::vector<Dense<T>> lu;
  std::vector<std::vector<index_t>> ipiv;  // 1-based
  std::vector<int> info;
  bool padding_untouched = false;
};

template <Scalar T>
LuFactors<T> factored(const Backend& backend, const std::vector<Dense<T>>& matrices, const BatchForm& form = {}) {
  const TestBatch<T> batch(backend, matrices, form);
  const auto rows = static_cast<std::size_t>(batch.view().rows);
  Array<index_t> ipiv(backend, rows * matrices.size());
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
  return scaled_error<T>(widened(interchanged(a, ipiv)) - l * u, a.rows(), infinity_norm(widened(a)));
}

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
      const auto factors = factored(this->make_backend(), without_names(matrices), form);
      for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
    }
  }
}

/// Among them sizes that no shared memory holds; few matrices, since the residuals take long.
template <Scalar T>
std::vector<NamedMatrix<T>> large_matrices(index_t n, Random& random) {
  auto matrices = hard_matrices<T>(n, random);
  matrices.erase(matrices.begin() + 5, matrices.end());
  if (n > 200) matrices.erase(matrices.begin() + 1, matrices.begin() + 4);
  return matrices;
}

TYPED_TEST(BatchedOnBackend, LuOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(112);
  for (const index_t n : large_orders) {
    const auto matrices = large_matrices<T>(n, random);
    const auto factors = factored(this->make_backend(), without_names(matrices), {.padding = n % 3});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// Of an order that no scalar has in shared memory as a whole.
TYPED_TEST(BatchedOnBackend, SmallLuByPanels) {
  using T = typename TypeParam::Scalar;
  Random random(116);
  for (const bool padded : {false, true}) {
    const auto matrices = large_matrices<T>(101, random);
    const auto factors = factored(this->make_backend(), without_names(matrices), {.padding = padded ? 3 : 0});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// Of an order that another kernel has.
TYPED_TEST(BatchedOnBackend, SmallLuOfALargeMatrix) {
  using T = typename TypeParam::Scalar;
  Random random(118);
  const std::vector<NamedMatrix<T>> matrices{{"large", uniform_random<T>(257, 257, random)}};
  expect_lu(matrices[0], factored(this->make_backend(), without_names(matrices), BatchForm{}), 0);
}

TYPED_TEST(BatchedOnBackend, SmallLuOfTinyAndLargeMatricesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  Random random(113);
  for (const BatchForm& form : batch_forms) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {7, 40, 33, 1, 32, 53})
      matrices.push_back({"form", uniform_random<T>(form.orders ? n : 53, form.orders ? n : 53, random)});
    if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
    const auto factors = factored(this->make_backend(), without_names(matrices), form);
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

TYPED_TEST(BatchedOnBackend, SmallLuInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  Random random(102);
  for (const BatchForm& form : batch_forms) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {7, 1, 12, 16, 3, 9})
      matrices.push_back({"form", uniform_random<T>(form.orders ? n : 9, form.orders ? n : 9, random)});
    if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
    const auto factors = factored(this->make_backend(), without_names(matrices), form);
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) expect_lu(matrices[k], factors, k);
  }
}

/// Singular in a way that no rounding hides, with the first zero pivot that elimination meets.
template <Scalar T>
std::vector<Dense<T>> singular_matrices(index_t n, Random& random) {
  std::vector<Dense<T>> matrices{Dense<T>::Zero(n, n)};
  for (const index_t zero : {0, n / 2, n - 1}) {
    matrices.push_back(random_dense<T>(n, random));
    matrices.back().col(zero).setZero();
  }
  matrices.push_back(random_dense<T>(n, random));
  matrices.back().row(n / 3).setZero();
  matrices.push_back(Dense<T>::Ones(n, n));
  if (n == 1) matrices.back().setZero();
  return matrices;
}

TYPED_TEST(BatchedOnBackend, SmallLuOfSingularMatricesGoesOn) {
  using T = typename TypeParam::Scalar;
  Random random(103);
  for (const index_t n : all_batched_orders()) {
    if (n > 77) continue;
    const auto matrices = singular_matrices<T>(n, random);
    for (const BatchForm& form : forms_of_order(n)) {
      const auto factors = factored(this->make_backend(), matrices, form);
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

TYPED_TEST(BatchedOnBackend, SmallLuTakesTheFirstOfEqualPivots) {
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
  const auto factors = factored(this->make_backend(), matrices);
  for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_EQ(factors.ipiv[k][0], expected[k]);
}

/// Pivots that differ in the last place only, and equal ones, wherever the two rows are.
TYPED_TEST(BatchedOnBackend, SmallLuTellsNearlyEqualPivotsApart) {
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
    const auto factors = factored(this->make_backend(), matrices);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      ASSERT_EQ(factors.ipiv[k][0], expected[k]) << "matrix " << k << " of order " << n;
      ASSERT_LE(lu_error(matrices[k], factors.lu[k], factors.ipiv[k]), accuracy) << "matrix " << k << ", order " << n;
    }
  }
}

/// Batches that fill the last warp in part, with a singular matrix among the others, which do not feel it.
TYPED_TEST(BatchedOnBackend, SmallLuOfFewMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(115);
  for (const index_t n : {9, 13, 17, 18, 24})
    for (std::size_t count = 1; count <= 11; ++count) {
      std::vector<NamedMatrix<T>> matrices;
      for (std::size_t k = 0; k < count; ++k) matrices.push_back({"random", uniform_random<T>(n, n, random)});
      const std::size_t singular = count / 2;
      matrices[singular].matrix.col(n / 2).setZero();
      const auto factors = factored(this->make_backend(), without_names(matrices));
      for (std::size_t k = 0; k < count; ++k) {
        if (k == singular)
          EXPECT_EQ(factors.info[k], static_cast<int>(n / 2) + 1) << count << " matrices of order " << n;
        else
          expect_lu(matrices[k], factors, k);
      }
    }
}

/// What inverse, or getrf and getri, gave for one batch.
template <Scalar T>
struct Inverses {
  std::vector<Dense<T>> x;
  std::vector<int> info;
  bool padding_untouched = false;
};

enum class InverseBy { fused, factors };

template <Scalar T>
Inverses<T> inverted(const Backend& backend, const std::vector<Dense<T>>& matrices, InverseBy by, bool in_place,
                     const BatchForm& form = {}) {
  const TestBatch<T> a(backend, matrices, form), other(backend, TestBatch<T>::nan_like(matrices), form);
  const TestBatch<T>& x = in_place ? a : other;
  Array<int> info(backend, matrices.size());
  if (by == InverseBy::fused) {
    batched::inverse(backend, a.view(), x.view_for(a), info.data());
  } else {
    Array<index_t> ipiv(backend, static_cast<std::size_t>(a.view().rows) * matrices.size());
    batched::getrf(backend, a.view(), ipiv.data(), info.data());
    batched::getri(backend, a.view(), ipiv.data(), x.view_for(a), info.data());
  }
  if (!in_place && by == InverseBy::fused) {
    const auto input = a.matrices();
    for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_TRUE(same_bits(input[k], matrices[k]));
  }
  return {x.matrices(), info.to_host(), a.padding_untouched() && other.padding_untouched()};
}

TYPED_TEST(BatchedOnBackend, InversesOfHardMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(104);
  for (const index_t n : all_batched_orders()) {
    const auto matrices = hard_matrices<T>(n, random);
    for (const BatchForm& form : forms_of_order(n))
      for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
        const auto result = inverted(this->make_backend(), without_names(matrices), by, n % 2 == 0, form);
        for (std::size_t k = 0; k < matrices.size(); ++k) {
          SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n) + (by == InverseBy::fused ? "" : ", getri"));
          EXPECT_EQ(result.info[k], 0);
          EXPECT_LE(inverse_error<T>(matrices[k].matrix, result.x[k]), accuracy);
        }
      }
  }
}

TYPED_TEST(BatchedOnBackend, InversesOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(114);
  for (const index_t n : large_orders) {
    const auto matrices = large_matrices<T>(n, random);
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto result = inverted(this->make_backend(), without_names(matrices), by, n % 2 == 0, {.padding = n % 3});
      EXPECT_TRUE(result.padding_untouched);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        EXPECT_EQ(result.info[k], 0);
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, result.x[k]), accuracy)
            << matrices[k].name << ", order " << n << (by == InverseBy::fused ? "" : ", getri");
      }
    }
  }
}

/// Several panels, whose columns go to their places at once or, in place, at the end; aligned to 16 bytes or not.
TYPED_TEST(BatchedOnBackend, SmallInversesByPanels) {
  using T = typename TypeParam::Scalar;
  Random random(120);
  for (const index_t n : {96, 97, 130})
    for (const bool in_place : {false, true})
      for (const index_t padding : {0, 1}) {
        SCOPED_TRACE("order " + std::to_string(n) + ", padding " + std::to_string(padding));
        std::vector<Dense<T>> matrices{random_dense<T>(n, random), random_dense<T>(n, random)};
        matrices[1].col(n - 2).setZero();
        const auto result = inverted(this->make_backend(), matrices, InverseBy::fused, in_place, {.padding = padding});
        EXPECT_TRUE(result.padding_untouched);
        EXPECT_EQ(result.info, (std::vector<int>{0, n - 1}));
        EXPECT_LE(inverse_error<T>(matrices[0], result.x[0]), accuracy);
        EXPECT_TRUE(all_nan(result.x[1]));
      }
}

/// As SmallLuOfFewMatricesWithASingularOne.
TYPED_TEST(BatchedOnBackend, SmallInversesOfFewMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(116);
  for (const index_t n : {13, 17, 18, 24})
    for (std::size_t count = 1; count <= 11; ++count) {
      std::vector<Dense<T>> matrices;
      for (std::size_t k = 0; k < count; ++k) matrices.push_back(uniform_random<T>(n, n, random));
      const std::size_t singular = count / 2;
      matrices[singular].col(n / 2).setZero();
      const auto result = inverted(this->make_backend(), matrices, InverseBy::fused, count % 2 == 0);
      for (std::size_t k = 0; k < count; ++k) {
        if (k == singular)
          EXPECT_EQ(result.info[k], static_cast<int>(n / 2) + 1) << count << " matrices of order " << n;
        else
          EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy) << k << " of " << count << ", order " << n;
      }
    }
}

TYPED_TEST(BatchedOnBackend, SmallInverseOfAPermutationIsExact) {
  using T = typename TypeParam::Scalar;
  Random random(105);
  for (const index_t n : all_batched_orders()) {
    const std::vector<Dense<T>> p{permutation_matrix<T>(n, random), permutation_matrix<T>(n, random)};
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto result = inverted(this->make_backend(), p, by, true);
      for (std::size_t k = 0; k < p.size(); ++k) EXPECT_EQ(result.x[k], Dense<T>(p[k].transpose())) << "order " << n;
    }
  }
}

/// Inverses whose elements exceed the range that the elements of a leave when the largest is scaled to 1.
TYPED_TEST(BatchedOnBackend, SmallInversesFarAboveTheirMatrices) {
  using T = typename TypeParam::Scalar;
  const auto far = static_cast<real_t<T>>(sizeof(real_t<T>) == 4 ? 1e20 : 1e160);
  const auto tolerance = 4 * std::numeric_limits<real_t<T>>::epsilon();
  for (const index_t n : {2, 3, 8, 9, 16, 17, 25, 32}) {
    Dense<T> a = Dense<T>::Identity(n, n), expected = a;
    a(0, n - 1) = T(far);
    expected(0, n - 1) = T(-far);
    for (const BatchForm& form : {BatchForm{}, batch_forms[1]}) {
      const auto result = inverted(this->make_backend(), std::vector<Dense<T>>{a, a}, InverseBy::fused, false, form);
      EXPECT_EQ(result.info, std::vector<int>(2, 0));
      for (const Dense<T>& x : result.x)
        EXPECT_TRUE(((x - expected).array().abs() <= tolerance * expected.array().abs()).all()) << "order " << n;
    }
  }
}

TYPED_TEST(BatchedOnBackend, SmallInversesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  Random random(106);
  const std::vector<index_t> orders{5, 32, 1, 20, 12, 7, 50};
  for (const BatchForm& form : batch_forms)
    for (const bool in_place : {false, true})
      for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
        std::vector<Dense<T>> matrices;
        for (const index_t n : orders) matrices.push_back(random_dense<T>(form.orders ? n : orders.back(), random));
        if (form.orders) matrices.insert(matrices.begin() + 1, Dense<T>(0, 0));
        const auto result = inverted(this->make_backend(), matrices, by, in_place, form);
        EXPECT_TRUE(result.padding_untouched);
        for (std::size_t k = 0; k < matrices.size(); ++k) {
          EXPECT_EQ(result.info[k], 0);
          if (matrices[k].size() > 0) {
            EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy) << "order " << matrices[k].rows();
          }
        }
      }
}

/// Neighbours of singular matrices and of NaN get the bits that they get among regular ones.
template <Scalar T>
void expect_undisturbed_inverses(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(107);
  for (const index_t n : orders) {
    if (n > 64) continue;
    std::vector<Dense<T>> good, mixed;
    const auto singular = singular_matrices<T>(n, random);
    for (const auto& a : singular) {
      for (int copy = 0; copy < 2; ++copy) good.push_back(random_dense<T>(n, random));
      mixed.push_back(good[good.size() - 2]);
      mixed.push_back(a);
    }
    good.push_back(random_dense<T>(n, random));
    mixed.push_back(random_dense<T>(n, random));
    mixed.back()(n / 2, n - 1) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
    good.push_back(random_dense<T>(n, random));
    mixed.push_back(good.back());
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto expected = inverted(backend, good, by, false);
      const auto result = inverted(backend, mixed, by, false);
      for (std::size_t k = 0; k < mixed.size(); ++k) {
        SCOPED_TRACE("matrix " + std::to_string(k) + " of order " + std::to_string(n));
        if (k % 2 == 0 && k < 2 * singular.size()) {
          EXPECT_EQ(result.info[k], 0);
          EXPECT_TRUE(same_bits(result.x[k], expected.x[k]));
        } else if (k < 2 * singular.size()) {
          EXPECT_EQ(result.info[k], reference_lu(singular[k / 2]).info);
          EXPECT_TRUE(all_nan(result.x[k]));
        } else if (k + 1 < mixed.size()) {
          EXPECT_TRUE(result.x[k].array().isNaN().any());
        } else {
          EXPECT_TRUE(same_bits(result.x[k], expected.x[k]));
        }
      }
    }
  }
}

TYPED_TEST(BatchedOnBackend, SmallInversesBesideSingularMatricesAndNan) {
  expect_undisturbed_inverses<typename TypeParam::Scalar>(this->make_backend(), few_batched_orders());
}

TYPED_TEST(BatchedOnBackend, InversesOfEveryOrderBesideSingularMatricesAndNan) {
  expect_undisturbed_inverses<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

/// NaN and Inf do not vanish in an inverse.
template <Scalar T>
void expect_non_finite_inverses(const Backend& backend, const std::vector<index_t>& orders) {
  using Limits = std::numeric_limits<real_t<T>>;
  Random random(111);
  for (const index_t n : orders) {
    if (n > 64) continue;
    const Dense<T> good = random_dense<T>(n, random);
    std::vector<Dense<T>> matrices{good};
    for (const auto value : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
      for (const auto& [i, j] : {std::pair{0, 0}, {n / 2, n - 1}, {n - 1, n / 2}, {n - 1, n - 1}})
        for (const Dense<T>& regular : {good, Dense<T>(Dense<T>::Identity(n, n))}) {
          matrices.push_back(regular);
          matrices.back()(i, j) = T(value);
        }
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors})
      for (const bool in_place : {false, true}) {
        const auto alone = inverted(backend, std::vector<Dense<T>>{good}, by, in_place);
        const auto result = inverted(backend, matrices, by, in_place);
        EXPECT_TRUE(same_bits(result.x[0], alone.x[0]));
        for (std::size_t k = 1; k < matrices.size(); ++k) {
          SCOPED_TRACE("matrix " + std::to_string(k) + " of order " + std::to_string(n));
          EXPECT_FALSE(result.x[k].allFinite());
          if (by == InverseBy::fused) {
            EXPECT_TRUE(result.x[k].hasNaN());
          }
        }
      }
  }
}

TYPED_TEST(BatchedOnBackend, SmallInversesOfNonFiniteMatricesAreNotFinite) {
  expect_non_finite_inverses<typename TypeParam::Scalar>(this->make_backend(), {1, 2, 4, 7, 16, 21, 32, 33, 64});
}

TYPED_TEST(BatchedOnBackend, InversesOfNonFiniteMatricesOfEveryOrderAreNotFinite) {
  expect_non_finite_inverses<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

/// A regular matrix whose inverse passes the range.
TYPED_TEST(BatchedOnBackend, SmallInversesThatOverflowAreNotFiniteWithInfoZero) {
  using T = typename TypeParam::Scalar;
  for (const index_t n : {1, 2, 5, 16, 32}) {
    Dense<T> a = Dense<T>::Identity(n, n);
    a(n - 1, n - 1) = T(std::numeric_limits<real_t<T>>::denorm_min());
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto result = inverted(this->make_backend(), std::vector<Dense<T>>{a}, by, false);
      EXPECT_EQ(result.info, std::vector<int>{0}) << "order " << n;
      EXPECT_FALSE(result.x[0].allFinite()) << "order " << n;
    }
  }
}

/// ||op(A) X - B|| / (N eps ||A|| ||X||).
template <Scalar T>
double solve_error(batched::Op op, const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  WideDense<T> m = widened(a);
  if (op == batched::Op::transpose) m = m.transpose().eval();
  if (op == batched::Op::conjugate_transpose) m = m.adjoint().eval();
  const WideDense<T> wide_x = widened(x);
  return scaled_error<T>(m * wide_x - widened(b), a.rows(), infinity_norm(m) * infinity_norm(wide_x));
}

TYPED_TEST(BatchedOnBackend, SolvesFromLu) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(108);
  for (const index_t n : batched_orders<TypeParam>())
    for (const index_t columns : {1, 5}) {
      const auto matrices = hard_matrices<T>(n, random);
      const auto a = without_names(matrices);
      const TestBatch<T> lu(backend, a);
      Array<index_t> ipiv(backend, static_cast<std::size_t>(n) * a.size());
      Array<int> info(backend, a.size());
      batched::getrf(backend, lu.view(), ipiv.data(), info.data());
      for (const auto op : {batched::Op::none, batched::Op::transpose, batched::Op::conjugate_transpose}) {
        std::vector<Dense<T>> right;
        for (std::size_t k = 0; k < a.size(); ++k) right.push_back(uniform_random<T>(n, columns, random));
        const TestBatch<T> b(backend, right, {.padding = 2});
        batched::getrs(backend, op, lu.view(), ipiv.data(), b.view());
        EXPECT_TRUE(b.padding_untouched());
        const auto x = b.matrices();
        for (std::size_t k = 0; k < a.size(); ++k) {
          if (matrices[k].name == "growth") continue;  // partial pivoting does not help it
          EXPECT_LE(solve_error(op, a[k], x[k], right[k]), accuracy)
              << matrices[k].name << ", order " << n << ", op " << static_cast<int>(op);
        }
      }
    }
}

/// With an order each, only the first rows of a right-hand side take part.
TYPED_TEST(BatchedOnBackend, SmallSolvesOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(109);
  std::vector<Dense<T>> a, right;
  for (const index_t n : {3, 17, 0, 1, 32, 8}) {
    a.push_back(random_dense<T>(n, random));
    right.push_back(uniform_random<T>(32, 2, random));
  }
  const TestBatch<T> lu(backend, a, {.padding = 1, .pointers = true, .orders = true});
  Array<index_t> ipiv(backend, 32 * a.size());
  Array<int> info(backend, a.size());
  batched::getrf(backend, lu.view(), ipiv.data(), info.data());
  const TestBatch<T> b(backend, right);
  batched::getrs(backend, batched::Op::transpose, lu.view(), ipiv.data(), b.view());
  const auto x = b.matrices();
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto n = a[k].rows();
    EXPECT_TRUE(same_bits<T>(x[k].bottomRows(32 - n), right[k].bottomRows(32 - n)));
    EXPECT_LE(solve_error<T>(batched::Op::transpose, a[k], x[k].topRows(n), right[k].topRows(n)), accuracy);
  }
}

TYPED_TEST(BatchedOnBackend, TwoRunsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  Random random(110);
  for (const index_t n : {29, 75}) {
    std::vector<Dense<T>> a;
    for (int k = 0; k < 100; ++k) a.push_back(random_dense<T>(n, random));
    const auto one = inverted(this->make_backend(), a, InverseBy::fused, false);
    const auto two = inverted(this->make_backend(), a, InverseBy::fused, true);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(one.x[k], two.x[k]));
  }
}

}  // namespace
}  // namespace blockjacobi::test
