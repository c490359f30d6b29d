#include "backends/batched_inverse.hpp"
#include "support/hard_matrices.hpp"
#include "support/reference_lu.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

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

/// Several panels, all of them on the multiprocessor or not, the last one full or not; their columns go to their places
/// at once or, in place, at the end; aligned to 16 bytes or not.
template <Scalar T>
void expect_inverses_by_panels(const Backend& backend, index_t n, bool in_place, index_t padding,
                               std::size_t count = 2) {
  SCOPED_TRACE(std::to_string(count) + " of order " + std::to_string(n) + ", padding " + std::to_string(padding));
  Random random(120);
  std::vector<Dense<T>> matrices;
  for (std::size_t k = 0; k < count; ++k) matrices.push_back(random_dense<T>(n, random));
  matrices[1].col(n - 2).setZero();
  std::vector<int> expected(count);
  expected[1] = static_cast<int>(n) - 1;
  for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
    const auto result = inverted(backend, matrices, by, in_place, {.padding = padding});
    EXPECT_TRUE(result.padding_untouched);
    EXPECT_EQ(result.info, expected);
    EXPECT_TRUE(all_nan(result.x[1]));
    for (std::size_t k = 0; k < count; ++k) {
      if (k == 1) continue;
      EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy) << "matrix " << k;
    }
  }
}

/// Of each way to have a matrix an order with each form.
TYPED_TEST(BatchedOnBackend, InversesByPanels) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {41, 63, 80, 97}) {
    expect_inverses_by_panels<T>(backend, n, false, 1);
    expect_inverses_by_panels<T>(backend, n, true, 0);
  }
  for (const index_t n : {53, 65, 96}) {
    expect_inverses_by_panels<T>(backend, n, false, 0);
    expect_inverses_by_panels<T>(backend, n, true, 1);
  }
  expect_inverses_by_panels<T>(backend, 130, true, 1);
}

TYPED_TEST(BatchedOnBackend, InversesByPanelsInEveryForm) {
  using T = typename TypeParam::Scalar;
  for (const index_t n : {41, 53, 63, 65, 80, 96, 97, 130})
    for (const bool in_place : {false, true})
      for (const index_t padding : {0, 1}) expect_inverses_by_panels<T>(this->make_backend(), n, in_place, padding);
}

/// Of few matrices several thread blocks have one on CUDA, of many one has each.
TYPED_TEST(BatchedOnBackend, InversesOfFewAndOfManyByPanels) {
  using T = typename TypeParam::Scalar;
  for (const index_t n : {97, 130, 200, 257})
    for (const std::size_t count : {2U, 3U})
      expect_inverses_by_panels<T>(this->make_backend(), n, count == 3, n % 2, count);
  expect_inverses_by_panels<T>(this->make_backend(), 97, false, 0, 70);
}

/// With the kernels for many matrices of such orders.
TYPED_TEST(BatchedOnBackend, InversesByPanelsAmongMany) {
  using T = typename TypeParam::Scalar;
  Random random(121);
  for (const auto& [n, in_place] : {std::pair<index_t, bool>{97, true}, {132, true}, {132, false}}) {
    SCOPED_TRACE("order " + std::to_string(n) + (in_place ? ", in place" : ""));
    std::vector<Dense<T>> matrices;
    for (int k = 0; k < 3; ++k) matrices.push_back(uniform_random<T>(n, n, random));
    matrices[1].col(n - 2).setZero();
    const auto result =
        inverted(this->make_backend(), among_many(matrices), InverseBy::fused, in_place, {.orders = true});
    EXPECT_TRUE(result.padding_untouched);
    std::vector<int> expected(result.info.size());
    expected[1] = static_cast<int>(n) - 1;
    EXPECT_EQ(result.info, expected);
    EXPECT_LE(inverse_error<T>(matrices[0], result.x[0]), accuracy);
    EXPECT_TRUE(all_nan(result.x[1]));
    EXPECT_LE(inverse_error<T>(matrices[2], result.x[2]), accuracy);
  }
}

/// As expect_lu_beside_a_singular_one().
template <Scalar T>
void expect_inverses_beside_a_singular_one(const Backend& backend, index_t n, std::size_t count, Random& random) {
  std::vector<Dense<T>> matrices;
  for (std::size_t k = 0; k < count; ++k) matrices.push_back(uniform_random<T>(n, n, random));
  const std::size_t singular = count / 2;
  matrices[singular].col(n / 2).setZero();
  const auto result = inverted(backend, matrices, InverseBy::fused, count % 2 == 0);
  for (std::size_t k = 0; k < count; ++k) {
    if (k == singular)
      EXPECT_EQ(result.info[k], static_cast<int>(n / 2) + 1) << count << " matrices of order " << n;
    else
      EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy) << k << " of " << count << ", order " << n;
  }
}

TYPED_TEST(BatchedOnBackend, InversesOfFewMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(116);
  for (const index_t n : {13, 17, 18, 24})
    for (std::size_t count = 1; count <= 11; ++count)
      expect_inverses_beside_a_singular_one<T>(this->make_backend(), n, count, random);
}

TYPED_TEST(BatchedOnBackend, InversesOfTinyMatricesWithASingularOne) {
  using T = typename TypeParam::Scalar;
  Random random(117);
  for (const index_t n : {1, 2, 3, 4})
    for (const std::size_t count : {1U, 31U, 32U, 33U, 65U, 129U, 289U})
      expect_inverses_beside_a_singular_one<T>(this->make_backend(), n, count, random);
}

template <Scalar T>
void expect_exact_inverses_of_permutations(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(105);
  for (const index_t n : orders) {
    const std::vector<Dense<T>> p{permutation_matrix<T>(n, random), permutation_matrix<T>(n, random)};
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto result = inverted(backend, p, by, true);
      for (std::size_t k = 0; k < p.size(); ++k) EXPECT_EQ(result.x[k], Dense<T>(p[k].transpose())) << "order " << n;
    }
  }
}

TYPED_TEST(BatchedOnBackend, InverseOfAPermutationIsExact) {
  std::vector<index_t> orders = all_batched_orders();
  std::erase_if(orders, [](index_t n) { return n > 48; });
  expect_exact_inverses_of_permutations<typename TypeParam::Scalar>(this->make_backend(), orders);
}

TYPED_TEST(BatchedOnBackend, InverseOfALargePermutationIsExact) {
  expect_exact_inverses_of_permutations<typename TypeParam::Scalar>(this->make_backend(), {64, 77, 128, 200});
}

/// Inverses whose elements exceed the range that the elements of a leave when the largest is scaled to 1.
TYPED_TEST(BatchedOnBackend, InversesFarAboveTheirMatrices) {
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

/// Tiny matrices, some larger ones and `largest` in a batch with an order each; else `count` of order `largest`.
template <Scalar T>
void expect_inverses_in_form(const Backend& backend, const BatchForm& form, index_t largest, std::size_t count) {
  Random random(106);
  for (const bool in_place : {false, true})
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      std::vector<index_t> orders(count, largest);
      if (form.orders) orders = {5, 0, 32, 1, 16, 20, 24, 33, 12, 27, 7, 40, largest};
      std::vector<Dense<T>> matrices;
      for (const index_t n : orders) matrices.push_back(n > 0 ? random_dense<T>(n, random) : Dense<T>(0, 0));
      const auto result = inverted(backend, matrices, by, in_place, form);
      EXPECT_TRUE(result.padding_untouched);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        EXPECT_EQ(result.info[k], 0);
        if (matrices[k].size() > 0) {
          EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy) << "order " << matrices[k].rows();
        }
      }
    }
}

/// Of the ways to have a matrix.
constexpr index_t largest_orders[] = {50, 61, 90};

/// One of them with each form.
TYPED_TEST(BatchedOnBackend, InversesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  for (std::size_t k = 0; k < batch_forms.size(); ++k)
    expect_inverses_in_form<T>(this->make_backend(), batch_forms[k], largest_orders[k % 3], 2);
}

TYPED_TEST(BatchedOnBackend, InversesOfManyOrdersInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  for (const index_t largest : largest_orders)
    for (const BatchForm& form : batch_forms) expect_inverses_in_form<T>(this->make_backend(), form, largest, 9);
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

TYPED_TEST(BatchedOnBackend, InversesBesideSingularMatricesAndNan) {
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

TYPED_TEST(BatchedOnBackend, InversesOfNonFiniteMatricesAreNotFinite) {
  expect_non_finite_inverses<typename TypeParam::Scalar>(this->make_backend(), {1, 2, 4, 7, 16, 21, 32, 33, 64});
}

TYPED_TEST(BatchedOnBackend, InversesOfNonFiniteMatricesOfEveryOrderAreNotFinite) {
  expect_non_finite_inverses<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

/// A regular matrix whose inverse passes the range.
TYPED_TEST(BatchedOnBackend, InversesThatOverflowAreNotFiniteWithInfoZero) {
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

/// Singular but for rounding in single precision: the promise does not ask for the condition.
TYPED_TEST(BatchedOnBackend, InversesOfHilbertMatrices) {
  using T = typename TypeParam::Scalar;
  for (const index_t n : {5, 6, 7, 8}) {
    const Dense<T> a = hilbert<T>(n);
    for (const BatchForm& form : forms_of_order(n))
      for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
        const auto result = inverted(this->make_backend(), std::vector<Dense<T>>{a, a, a}, by, false, form);
        EXPECT_EQ(result.info, std::vector<int>(3, 0)) << "order " << n;
        for (const Dense<T>& x : result.x)
          EXPECT_LE(inverse_error<T>(a, x), accuracy) << "order " << n << (by == InverseBy::fused ? "" : ", getri");
      }
  }
}

/// One pivot, or all, below the normal range, their reciprocals within it.
TYPED_TEST(BatchedOnBackend, InversesOfSubnormalPivots) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const R pivot = R(0.75) * std::numeric_limits<R>::min();
  const R tolerance = 4 * std::numeric_limits<R>::epsilon();
  for (const index_t n : {1, 2, 3, 4, 5, 8, 16, 17, 32}) {
    Dense<T> last = Dense<T>::Identity(n, n);
    last(n - 1, n - 1) = T(pivot);
    const std::vector<Dense<T>> matrices{last, Dense<T>::Identity(n, n) * T(pivot)};
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto result = inverted(this->make_backend(), matrices, by, false);
      EXPECT_EQ(result.info, std::vector<int>(2, 0)) << "order " << n;
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        Dense<T> expected = Dense<T>::Zero(n, n);
        for (index_t i = 0; i < n; ++i) expected(i, i) = T(R(1) / std::real(matrices[k](i, i)));
        EXPECT_TRUE(((result.x[k] - expected).array().abs() <= tolerance * expected.array().abs()).all())
            << "matrix " << k << " of order " << n << (by == InverseBy::fused ? "" : ", getri");
      }
    }
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
