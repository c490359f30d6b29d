#include "backends/batched_qr.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(BatchedOnBackend, QrOfHardMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(301);
  for (const index_t n : all_batched_orders()) {
    if (n > 128) continue;
    auto matrices = hard_matrices<T>(n, random);
    matrices.push_back({"zero", Dense<T>::Zero(n, n)});
    matrices.push_back({"zero column", random_dense<T>(n, random)});
    matrices.back().matrix.col(n / 2).setZero();
    matrices.push_back({"ones", Dense<T>::Ones(n, n)});
    for (const BatchForm& form : forms_of_order(n)) {
      const auto factors = qr_factored(this->make_backend(), without_names(matrices), form);
      for (std::size_t k = 0; k < matrices.size(); ++k) expect_qr(matrices[k], factors.qr[k], factors.tau[k]);
    }
  }
}

TYPED_TEST(BatchedOnBackend, QrOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(306);
  for (const index_t n : large_orders) {
    const auto matrices = hard_matrices<T>(n, random);
    const auto factors = qr_factored(this->make_backend(), without_names(matrices), {.padding = n % 3});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
      expect_qr_on_vectors(matrices[k].matrix, factors.qr[k], factors.tau[k], random);
    }
  }
}

TYPED_TEST(BatchedOnBackend, QrOfLargeRectangles) {
  using T = typename TypeParam::Scalar;
  Random random(308);
  const std::pair<index_t, index_t> shapes[] = {{512, 33}, {33, 512}, {512, 7}, {7, 512}, {200, 301}, {301, 200}};
  for (const auto& [m, n] : shapes) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const std::vector<Dense<T>> matrices{uniform_random<T>(m, n, random), uniform_random<T>(m, n, random)};
    const auto factors = qr_factored(this->make_backend(), matrices, {.padding = 1});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k)
      expect_qr_on_vectors(matrices[k], factors.qr[k], factors.tau[k], random);
  }
}

/// `a` with each column brought to norm 1, and `b` with the columns of the same factors.
template <class Wide>
void equilibrate_columns(Wide& a, Wide& b) {
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    const auto norm = a.col(j).norm();
    if (norm == 0) continue;
    a.col(j) /= norm;
    b.col(j) /= norm;
  }
}

/// Columns whose squares overflow or underflow, alone and beside columns near 1, and elements below the diagonal whose
/// squares vanish. The error is small in every column.
template <Scalar T, class Forms>
void expect_qr_out_of_range(const Backend& backend, const std::vector<index_t>& orders, Forms forms_of) {
  using R = real_t<T>;
  const bool wide = std::is_same_v<R, double>;
  const R huge = static_cast<R>(wide ? 1e290 : 1e30), tiny = static_cast<R>(wide ? 1e-280 : 1e-30);
  Random random(305);
  for (const index_t n : orders) {
    const Dense<T> plain = uniform_random<T>(n, n, random);
    std::vector<NamedMatrix<T>> matrices{{"huge", plain * T(huge)}, {"plain", plain}, {"tiny", plain * T(tiny)}};
    Dense<T> first = plain, last = plain, alternating = plain, tails = plain, zeros = plain;
    first.col(0) *= T(huge);
    last.col(n - 1) *= T(tiny);
    for (index_t j = 0; j < n; ++j) alternating.col(j) *= T(j % 3 == 0 ? huge : j % 3 == 1 ? R(1) : tiny);
    tails.template triangularView<Eigen::StrictlyLower>() *= T(tiny);
    zeros.template triangularView<Eigen::StrictlyLower>().setZero();
    zeros.col(n / 2).setZero();
    matrices.insert(matrices.end(), {{"huge first column", first},
                                     {"tiny last column", last},
                                     {"alternating columns", alternating},
                                     {"tiny below the diagonal", tails},
                                     {"upper triangular, zero column", zeros}});
    for (const BatchForm& form : forms_of(n)) {
      const auto factors = qr_factored(backend, without_names(matrices), form);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        const WideDense<T> q = orthogonal_factor(factors.qr[k], factors.tau[k]);
        WideDense<T> a = widened(matrices[k].matrix), found = widened(factors.qr[k]);
        found = product(q, WideDense<T>(found.template triangularView<Eigen::Upper>()));
        equilibrate_columns(a, found);
        EXPECT_LE(scaled_error<T>(a - found, n, infinity_norm(a)), accuracy);
        EXPECT_LE(scaled_error<T>(defect_of_identity(WideDense<T>(q.adjoint()), q), n, 1.0L), accuracy);
      }
    }
  }
}

TYPED_TEST(BatchedOnBackend, QrWhereSquaresLeaveTheRange) {
  expect_qr_out_of_range<typename TypeParam::Scalar>(this->make_backend(), {1, 2, 5, 8, 11, 16, 19, 24, 27, 32, 37, 45},
                                                     &forms_of_order);
}

TYPED_TEST(BatchedOnBackend, QrWhereSquaresLeaveTheRangeInEveryFormOfBatch) {
  expect_qr_out_of_range<typename TypeParam::Scalar>(this->make_backend(), {5, 16, 27, 32, 37, 45, 70},
                                                     [](index_t) { return batch_forms; });
}

TYPED_TEST(BatchedOnBackend, QrOfRectangles) {
  using T = typename TypeParam::Scalar;
  Random random(302);
  const std::pair<index_t, index_t> shapes[] = {{1, 4},   {4, 1},  {5, 3},   {3, 5},  {11, 16},  {14, 9},
                                                {32, 7},  {9, 32}, {17, 16}, {0, 3},  {70, 5},   {20, 67},
                                                {45, 44}, {33, 2}, {9, 49},  {49, 9}, {70, 101}, {101, 70}};
  for (const auto& [m, n] : shapes)
    for (const BatchForm& form : batch_forms) {
      if (form.orders) continue;
      std::vector<NamedMatrix<T>> matrices;
      for (int k = 0; k < 3; ++k) matrices.push_back({"rectangle", uniform_random<T>(m, n, random)});
      const auto factors = qr_factored(this->make_backend(), without_names(matrices), form);
      EXPECT_TRUE(factors.padding_untouched);
      for (std::size_t k = 0; k < matrices.size() && m > 0; ++k) expect_qr(matrices[k], factors.qr[k], factors.tau[k]);
    }
}

/// Of many rows, each number of which another kernel has; with odd ones columns are off the alignment.
TYPED_TEST(BatchedOnBackend, QrOfTallMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(306);
  for (const index_t m : {48, 60, 91, 120, 150, 181, 250, 277, 333, 400}) {
    const std::vector<NamedMatrix<T>> matrices{{"tall", uniform_random<T>(m, 40, random)}};
    const auto factors = qr_factored(this->make_backend(), without_names(matrices), BatchForm{});
    expect_qr(matrices[0], factors.qr[0], factors.tau[0]);
  }
}

TYPED_TEST(BatchedOnBackend, QrOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  Random random(303);
  for (const BatchForm& form : batch_forms) {
    if (!form.orders) continue;
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {7, 0, 1, 32, 40, 16, 3, 65}) matrices.push_back({"order", uniform_random<T>(n, n, random)});
    const auto factors = qr_factored(this->make_backend(), without_names(matrices), form);
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k)
      if (matrices[k].matrix.size() > 0) expect_qr(matrices[k], factors.qr[k], factors.tau[k]);
  }
}

TYPED_TEST(BatchedOnBackend, QrOfMixedLargeOrders) {
  using T = typename TypeParam::Scalar;
  Random random(311);
  for (const index_t largest : {130, 300, 512}) {
    std::vector<Dense<T>> matrices;
    for (const index_t n : {7, 0, 33, largest, 1, 100, 32, 64, 129})
      matrices.push_back(uniform_random<T>(n, n, random));
    const auto factors = qr_factored(this->make_backend(), matrices, {.padding = 1, .orders = true});
    EXPECT_TRUE(factors.padding_untouched);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      SCOPED_TRACE("order " + std::to_string(matrices[k].rows()) + " of up to " + std::to_string(largest));
      if (matrices[k].size() > 0) expect_qr_on_vectors(matrices[k], factors.qr[k], factors.tau[k], random);
    }
  }
}

/// LAPACK's conventions: H = I where nothing is to be annihilated, else beta has the sign opposite to Re(alpha).
TYPED_TEST(BatchedOnBackend, QrHasLapacksConventions) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Dense<T> a = Dense<T>::Identity(3, 3);
  a(0, 0) = T(-4);
  Dense<T> b = Dense<T>::Identity(3, 3);
  b.col(0) << T(3), T(0), T(-4);  // beta = -5, tau = (beta - alpha) / beta = 1.6, v_3 = -4 / 8
  const auto factors = qr_factored(this->make_backend(), std::vector<Dense<T>>{a, b});
  EXPECT_EQ(factors.qr[0], a);
  EXPECT_EQ(factors.tau[0], std::vector<T>(3, T(0)));
  const R tolerance = 4 * std::numeric_limits<R>::epsilon();
  EXPECT_LE(std::abs(factors.qr[1](0, 0) - T(-5)), 5 * tolerance);
  EXPECT_LE(std::abs(factors.tau[1][0] - T(R(1.6))), tolerance);
  EXPECT_LE(std::abs(factors.qr[1](2, 0) - T(R(-0.5))), tolerance);
}

template <Scalar T>
void expect_undisturbed_qr(const Backend& backend, const std::vector<BatchForm>& forms) {
  using Limits = std::numeric_limits<real_t<T>>;
  Random random(304);
  for (const index_t n : {3, 8, 14, 20, 32, 41, 70})
    for (const auto value : {Limits::quiet_NaN(), Limits::infinity()})
      for (const BatchForm& form : forms) {
        std::vector<Dense<T>> good;
        for (int k = 0; k < 9; ++k) good.push_back(uniform_random<T>(n, n, random));
        std::vector<Dense<T>> mixed = good;
        mixed[4](n - 1, 0) = T(value);
        const auto expected = qr_factored(backend, good, form);
        const auto factors = qr_factored(backend, mixed, form);
        EXPECT_FALSE(widened(factors.qr[4]).allFinite());
        for (std::size_t k = 0; k < good.size(); ++k) {
          EXPECT_EQ(same_bits(factors.qr[k], expected.qr[k]), k != 4);
          EXPECT_EQ(factors.tau[k] == expected.tau[k], k != 4);
        }
      }
}

TYPED_TEST(BatchedOnBackend, QrBesideNonFinite) {
  expect_undisturbed_qr<typename TypeParam::Scalar>(this->make_backend(), {BatchForm{}, batch_forms[4]});
}

TYPED_TEST(BatchedOnBackend, QrInEveryFormOfBatchBesideNonFinite) {
  expect_undisturbed_qr<typename TypeParam::Scalar>(this->make_backend(), batch_forms);
}

TYPED_TEST(BatchedOnBackend, TwoRunsOfQrGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  Random random(310);
  for (const index_t n : {5, 16, 29, 75}) {
    std::vector<Dense<T>> a;
    for (int k = 0; k < 100; ++k) a.push_back(uniform_random<T>(n, n, random));
    const auto one = qr_factored(this->make_backend(), a), two = qr_factored(this->make_backend(), a);
    EXPECT_EQ(one.tau, two.tau);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(one.qr[k], two.qr[k])) << "order " << n;
  }
}

template <Scalar T>
struct PseudoInverses {
  std::vector<Dense<T>> x;
  std::vector<index_t> rank;
  bool padding_untouched = false;
};

template <Scalar T>
PseudoInverses<T> pseudo_inverses(const Backend& backend, const std::vector<Dense<T>>& matrices, double rtol,
                                  bool in_place, const BatchForm& form = {}) {
  const TestBatch<T> a(backend, matrices, form), other(backend, TestBatch<T>::nan_like(matrices), form);
  const TestBatch<T>& x = in_place ? a : other;
  Array<index_t> rank(backend, matrices.size());
  batched::pseudo_inverse(backend, a.view(), x.view_for(a), rtol, rank.data());
  return {x.matrices(), rank.to_host(), a.padding_untouched() && x.padding_untouched()};
}

/// The four conditions of Penrose, each relative to the product of the norms of its factors.
template <Scalar T>
void expect_pseudo_inverse(const Dense<T>& a, const Dense<T>& x) {
  const WideDense<T> m = widened(a), p = widened(x), mp = product(m, p), pm = product(p, m);
  const long double norm_m = infinity_norm(m), norm_p = infinity_norm(p);
  const auto n = a.rows();
  EXPECT_LE(scaled_error<T>(product(mp, m) - m, n, norm_m * norm_p * norm_m), accuracy);
  EXPECT_LE(scaled_error<T>(product(pm, p) - p, n, norm_p * norm_m * norm_p), accuracy);
  EXPECT_LE(scaled_error<T>(mp - mp.adjoint(), n, norm_m * norm_p), accuracy);
  EXPECT_LE(scaled_error<T>(pm - pm.adjoint(), n, norm_m * norm_p), accuracy);
}

/// Random, of the given rank, far from smaller ranks.
template <Scalar T>
Dense<T> of_rank(index_t n, index_t rank, Random& random) {
  const Dense<T> left = random_dense<T>(n, random), right = random_dense<T>(n, random);
  return product(Dense<T>(left.leftCols(rank)), Dense<T>(right.topRows(rank)));
}

TYPED_TEST(BatchedOnBackend, PseudoInversesOfEveryRank) {
  using T = typename TypeParam::Scalar;
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  Random random(305);
  for (const index_t n : all_batched_orders()) {
    if (n > 77) continue;
    std::vector<Dense<T>> matrices;
    std::vector<index_t> ranks;
    for (index_t rank = 0; rank <= n; rank += 1 + n / 7) {
      matrices.push_back(of_rank<T>(n, rank, random));
      ranks.push_back(rank);
    }
    const bool wide = std::is_same_v<real_t<T>, double>;
    for (const double scale : {wide ? 1e150 : 1e18, wide ? 1e-150 : 1e-18}) {
      matrices.push_back(of_rank<T>(n, n / 2, random) * T(static_cast<real_t<T>>(scale)));
      ranks.push_back(n / 2);
    }
    const auto result = pseudo_inverses(this->make_backend(), matrices, rtol, n % 2 == 1);
    EXPECT_EQ(result.rank, ranks) << "order " << n;
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      SCOPED_TRACE("order " + std::to_string(n) + ", rank " + std::to_string(ranks[k]));
      if (ranks[k] == 0) {
        EXPECT_TRUE(result.x[k].isZero(0));
      } else {
        expect_pseudo_inverse(matrices[k], result.x[k]);
      }
    }
  }
}

template <Scalar T>
void expect_inverses_by_pseudo_inverse(const Backend& backend, index_t n, Random& random) {
  std::vector<Dense<T>> a{random_dense<T>(n, random)};
  if (n <= 200) a.push_back(permutation_matrix<T>(n, random));
  const auto result = pseudo_inverses(backend, a, 0, false);
  EXPECT_EQ(result.rank, std::vector<index_t>(a.size(), n));
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_LE(inverse_error<T>(a[k], result.x[k]), accuracy) << n;
}

TYPED_TEST(BatchedOnBackend, PseudoInverseOfARegularMatrixIsItsInverse) {
  Random random(306);
  for (const index_t n : few_batched_orders())
    if (n <= 33) expect_inverses_by_pseudo_inverse<typename TypeParam::Scalar>(this->make_backend(), n, random);
}

TYPED_TEST(BatchedOnBackend, PseudoInversesOfRegularMatricesOfEveryOrder) {
  Random random(306);
  for (const index_t n : all_batched_orders())
    if (n <= 64) expect_inverses_by_pseudo_inverse<typename TypeParam::Scalar>(this->make_backend(), n, random);
}

TYPED_TEST(BatchedOnBackend, PseudoInversesOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  Random random(309);
  for (const index_t n : large_orders) {
    SCOPED_TRACE("order " + std::to_string(n));
    expect_inverses_by_pseudo_inverse<T>(this->make_backend(), n, random);
    if (n > 128) continue;  // evaluating them takes long
    const std::vector<Dense<T>> a{of_rank<T>(n, 2 * n / 3, random), of_rank<T>(n, n / 5, random)};
    const auto result = pseudo_inverses(this->make_backend(), a, rtol, true, {.padding = 1});
    EXPECT_TRUE(result.padding_untouched);
    EXPECT_EQ(result.rank, (std::vector<index_t>{2 * n / 3, n / 5}));
    for (std::size_t k = 0; k < a.size(); ++k) expect_pseudo_inverse(a[k], result.x[k]);
  }
}

TYPED_TEST(BatchedOnBackend, PseudoInverseByDefaultAndByTheGivenTolerance) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Dense<T> a = Dense<T>::Zero(4, 4);
  a.diagonal() << T(2), T(0), T(R(1e-3)), T(R(0.5));
  const auto exact = pseudo_inverses(this->make_backend(), std::vector<Dense<T>>{a}, -1, false);
  EXPECT_EQ(exact.rank[0], 3);
  Dense<T> expected = Dense<T>::Zero(4, 4);
  expected.diagonal() << T(R(0.5)), T(0), T(1000), T(2);
  const R tolerance = 8 * std::numeric_limits<R>::epsilon();
  EXPECT_TRUE(((exact.x[0] - expected).array().abs() <= tolerance * expected.array().abs()).all()) << exact.x[0];
  const auto truncated = pseudo_inverses(this->make_backend(), std::vector<Dense<T>>{a}, 0.01, false);
  EXPECT_EQ(truncated.rank[0], 2);
  expected(2, 2) = T(0);
  EXPECT_TRUE(((truncated.x[0] - expected).array().abs() <= tolerance * expected.array().abs()).all())
      << truncated.x[0];
}

/// Every second of five matrices is not finite. Without an order each all have the order `other`.
template <Scalar T>
void expect_pseudo_inverses_beside_nan(const Backend& backend, const BatchForm& form, bool in_place, index_t other,
                                       Random& random) {
  using R = real_t<T>;
  std::vector<Dense<T>> matrices;
  for (const index_t n : {6, 10, other, 32, 17}) matrices.push_back(random_dense<T>(form.orders ? n : other, random));
  matrices[1](0, 1) = T(std::numeric_limits<R>::quiet_NaN());
  matrices[3](1, 0) = T(std::numeric_limits<R>::infinity());
  const auto result = pseudo_inverses(backend, matrices, 0, in_place, form);
  EXPECT_TRUE(result.padding_untouched);
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    if (k % 2 == 1) {
      EXPECT_EQ(result.rank[k], -1);
      EXPECT_TRUE(all_nan(result.x[k]));
    } else {
      EXPECT_EQ(result.rank[k], matrices[k].rows());
      EXPECT_LE(inverse_error<T>(matrices[k], result.x[k]), accuracy);
    }
  }
}

TYPED_TEST(BatchedOnBackend, PseudoInversesInEveryFormOfBatchBesideNan) {
  using T = typename TypeParam::Scalar;
  Random random(307);
  for (const BatchForm& form : batch_forms)
    expect_pseudo_inverses_beside_nan<T>(this->make_backend(), form, form.padding > 0, 10, random);
  expect_pseudo_inverses_beside_nan<T>(this->make_backend(), batch_forms[4], false, 33, random);
}

TYPED_TEST(BatchedOnBackend, PseudoInversesOfTinyAndLargeMatricesInEveryFormOfBatchBesideNan) {
  using T = typename TypeParam::Scalar;
  Random random(307);
  for (const BatchForm& form : batch_forms)
    for (const index_t other : {10, 45})
      for (const bool in_place : {false, true})
        expect_pseudo_inverses_beside_nan<T>(this->make_backend(), form, in_place, other, random);
}

}  // namespace
}  // namespace blockjacobi::test
