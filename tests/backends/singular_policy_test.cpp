#include "core/shared/compute_type.hpp"
#include "core/shared/equilibration.hpp"
#include "support/backends.hpp"
#include "support/singular_family.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class SingularPolicyOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SingularPolicyOnBackend, BackendCases, BackendCaseName);

BlockJacobiOptions with(SingularPolicy policy) {
  BlockJacobiOptions options;
  options.singular = policy;
  return options;
}

/// The block B = R A C of the definition, with R and C as tests/unit/core/equilibration_test.cpp wants them.
template <Scalar T>
struct Equilibrated {
  std::vector<int> row, column;
  WideDense<T> b;

  explicit Equilibrated(const Dense<T>& a)
      : row(static_cast<std::size_t>(a.rows())), column(row.size()), b(widened(a)) {
    const index_t n = static_cast<index_t>(a.rows());
    std::vector<int> work(static_cast<std::size_t>(detail::EquilibrationWork::bytes(n)) / sizeof(int));
    const detail::Equilibration<detail::compute_t<T>, detail::Alone> equilibration{
        detail::compute_cast(a.data()),
        n,
        n,
        {},
        row.data(),
        column.data(),
        detail::EquilibrationWork::at(work.data(), n)};
    equilibration.run();
    for (index_t j = 0; j < n; ++j)
      for (index_t i = 0; i < n; ++i) b(i, j) *= std::ldexp(1.0L, row[at(i)] + column[at(j)]);
  }

  /// C X R.
  WideDense<T> unscaled(WideDense<T> x) const {
    for (index_t j = 0; j < x.cols(); ++j)
      for (index_t i = 0; i < x.rows(); ++i) x(i, j) *= std::ldexp(1.0L, column[at(i)] + row[at(j)]);
    return x;
  }
  WideDense<T> scaled(const Dense<T>& inverse) const {
    WideDense<T> x = widened(inverse);
    for (index_t j = 0; j < x.cols(); ++j)
      for (index_t i = 0; i < x.rows(); ++i) x(i, j) *= std::ldexp(1.0L, -column[at(i)] - row[at(j)]);
    return x;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
};

/// The inverse under `shift` for one of the shifts, from its definition.
template <Scalar T>
WideDense<T> shifted_inverse(const Dense<T>& a, long double shift, long double& rcond) {
  Equilibrated<T> scaling(a);
  WideDense<T>& b = scaling.b;
  for (index_t i = 0; i < b.rows(); ++i) {
    const bool zero_row = b.row(i).cwiseAbs().sum() == 0;
    const long double size = std::abs(b(i, i));
    if (zero_row)
      b(i, i) += 1;
    else if (size == 0)
      b(i, i) = shift;
    else
      b(i, i) *= 1 + shift / size;
  }
  const WideDense<T> inverse = inverse_of(b);
  rcond = 1 / (infinity_norm(b) * infinity_norm(inverse));
  return scaling.unscaled(inverse);
}

TYPED_TEST(SingularPolicyOnBackend, FailLeavesTheIdentityAfterARefresh) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {1, 2, 6, 16, 32, 33, 40}) {
    // Of the diagonal scalar Jacobi would keep 1/4.
    Dense<T> regular = Dense<T>::Identity(n, n) * T(4), singular = regular;
    singular.row(n - 1).setZero();
    BlockDiagonal<T> a;
    a.blocks = {regular, regular};
    const CsrMatrix<T> matrix = a.matrix();
    BlockJacobi<T> m(backend, matrix, a.partition(), with(SingularPolicy::fail));
    a.blocks = {regular, singular};
    const CsrMatrix<T> changed = a.matrix();
    const Array<T> values(backend, std::vector<T>(changed.values().begin(), changed.values().end()));
    m.refresh(values.data(), changed.nnz(), backend.memory_space());
    EXPECT_EQ(m.defects(), 1);
    const auto expect_multiple = [&](index_t block, T factor) {
      const std::vector<T> found = m.inverse_block(block);
      for (index_t k = 0; k < n * n; ++k)
        EXPECT_EQ(found[static_cast<std::size_t>(k)], k % (n + 1) == 0 ? factor : T(0)) << "order " << n;
    };
    expect_multiple(0, T(real_t<T>(0.25)));
    expect_multiple(1, T(1));
  }
}

/// Tiny ones, and one beyond what a warp has; other tests take more.
const std::vector<index_t> few_orders{1, 2, 6, 33}, many_orders{1, 2, 6, 16, 32, 40};

template <Scalar T>
void expect_inverses_of_shifted_blocks(const Backend& backend, const std::vector<index_t>& orders) {
  using R = real_t<T>;
  constexpr long double eps = std::numeric_limits<R>::epsilon();
  Random random(31);
  const BlockDiagonal<T> a = singular_family<T>(random, orders);
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(SingularPolicy::shift));
  const BlockJacobi<T> plain(backend, a.matrix(), a.partition(), with(SingularPolicy::identity));
  EXPECT_EQ(m.info(), plain.info());
  EXPECT_EQ(m.defects(), plain.defects());
  EXPECT_EQ(m.report().singular_blocks, plain.report().singular_blocks);
  ASSERT_GT(m.defects(), 6 * std::ssize(orders) - 6);
  const std::vector<int> info = m.info();
  for (std::size_t k = 0; k < a.blocks.size(); ++k) {
    const auto block = static_cast<index_t>(k);
    const Dense<T> x = stored_inverse(m, block);
    if (info[k] == 0) {
      EXPECT_EQ(x, stored_inverse(plain, block));
      continue;
    }
    const long double n = static_cast<long double>(x.rows()), threshold = 10 * n * eps;
    // Where the condition lies near the threshold either of two shifts is right.
    bool matches = false, certain = false;
    for (int e = std::is_same_v<R, double> ? -26 : -11; e <= 14 && !matches && !certain; e += 4) {
      long double rcond;
      const WideDense<T> wanted = shifted_inverse(a.blocks[k], std::ldexp(1.0L, e), rcond);
      certain = rcond > 2 * threshold;
      const Equilibrated<T> scaling(a.blocks[k]);
      const WideDense<T> got = scaling.scaled(x), want = scaling.scaled(Dense<T>(wanted.template cast<T>()));
      matches = rcond > threshold / 2 && distance(got, want) <= 10 * n * eps / rcond * infinity_norm(want);
    }
    EXPECT_TRUE(matches) << "block " << k << " of order " << n;
  }
}

TYPED_TEST(SingularPolicyOnBackend, ShiftInvertsTheShiftedBlock) {
  expect_inverses_of_shifted_blocks<typename TypeParam::Scalar>(this->make_backend(), few_orders);
}

TYPED_TEST(SingularPolicyOnBackend, ShiftInvertsTheShiftedBlockOfEveryOrder) {
  expect_inverses_of_shifted_blocks<typename TypeParam::Scalar>(this->make_backend(), many_orders);
}

TYPED_TEST(SingularPolicyOnBackend, ShiftOfASemidefiniteBlockIsDefinite) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a{{Dense<T>::Ones(3, 3), -Dense<T>::Ones(5, 5), Dense<T>::Ones(40, 40)}};
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(SingularPolicy::shift));
  for (index_t b = 0; b < 3; ++b) {
    const Dense<T> x = stored_inverse(m, b);
    const real_t<T> sign = b == 1 ? real_t<T>(-1) : real_t<T>(1);
    EXPECT_TRUE(is_definite(widened(Dense<T>(sign * x)))) << "block " << b;
  }
}

/// The four conditions of Penrose on the equilibrated block.
template <Scalar T>
void expect_conditions_of_penrose(const Backend& backend, const std::vector<index_t>& orders) {
  constexpr long double eps = std::numeric_limits<real_t<T>>::epsilon();
  Random random(32);
  const BlockDiagonal<T> a = singular_family<T>(random, orders);
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(SingularPolicy::pseudo_inverse));
  const std::vector<int> info = m.info();
  for (std::size_t k = 0; k < a.blocks.size(); ++k) {
    if (info[k] == 0) continue;
    const Dense<T>& block = a.blocks[k];
    const Equilibrated<T> scaling(block);
    const Dense<T> inverse = stored_inverse(m, static_cast<index_t>(k));
    ASSERT_TRUE(inverse.array().isFinite().all()) << "block " << k;
    const WideDense<T>&b = scaling.b, x = scaling.scaled(inverse), bx = product(b, x), xb = product(x, b);
    const long double n = static_cast<long double>(block.rows()), norm = infinity_norm(b),
                      inverse_norm = infinity_norm(x);
    const long double bound = 20 * n * eps * (norm * inverse_norm + 1);
    EXPECT_LE(distance(product(bx, b), b), bound * norm) << "block " << k << " of order " << n;
    EXPECT_LE(distance(product(xb, x), x), bound * inverse_norm) << "block " << k << " of order " << n;
    EXPECT_LE(distance(bx, WideDense<T>(bx.adjoint())), bound) << "block " << k << " of order " << n;
    EXPECT_LE(distance(xb, WideDense<T>(xb.adjoint())), bound) << "block " << k << " of order " << n;
    if (block == Dense<T>(block.adjoint())) {
      EXPECT_EQ(inverse, Dense<T>(inverse.adjoint())) << "block " << k;
    }
  }
}

TYPED_TEST(SingularPolicyOnBackend, PseudoInverseFulfilsTheConditionsOfPenrose) {
  expect_conditions_of_penrose<typename TypeParam::Scalar>(this->make_backend(), few_orders);
}

TYPED_TEST(SingularPolicyOnBackend, PseudoInverseOfEveryOrderFulfilsTheConditionsOfPenrose) {
  expect_conditions_of_penrose<typename TypeParam::Scalar>(this->make_backend(), many_orders);
}

/// No gap in the spectrum tells the rank, so that the columns and the rows that QR leaves out do not correspond.
TYPED_TEST(SingularPolicyOnBackend, PseudoInversesOfHermitianBlocksAreHermitian) {
  using T = typename TypeParam::Scalar;
  constexpr long double eps = std::numeric_limits<real_t<T>>::epsilon();
  Random random(33);
  BlockDiagonal<T> a;
  for (const index_t n : {4, 6, 31, 33, 70}) {
    WideDense<T> half = orthonormal(widened(random_dense<T>(n, random)));  // Q sqrt(D)
    for (index_t i = 0; i < n; ++i) half.col(i) *= std::pow(0.1L * n * eps, 0.5L * i / (n - 1));
    const WideDense<T> block = adjoint_square(half);
    a.blocks.push_back(((block + block.adjoint()) / 2).template cast<T>());
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(SingularPolicy::pseudo_inverse));
  const BlockJacobiReport report = m.report();
  ASSERT_EQ(report.defects.size(), a.blocks.size());
  for (std::size_t k = 0; k < a.blocks.size(); ++k) {
    EXPECT_GT(m.info()[k], 0) << "block " << k;
    EXPECT_FALSE(report.defects[k].overflows) << "block " << k;
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(k));
    EXPECT_EQ(x, Dense<T>(x.adjoint())) << "block " << k;
  }
}

TYPED_TEST(SingularPolicyOnBackend, NanAndOverflowGetTheDiagonal) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  for (const index_t n : {2, 9, 40}) {
    BlockDiagonal<T> a{{Dense<T>::Identity(n, n) * T(4), Dense<T>::Identity(n, n) * T(4)}};
    a.blocks[0](1, 0) = T(std::numeric_limits<R>::quiet_NaN());
    a.blocks[1](1, 1) = T(std::numeric_limits<R>::denorm_min());
    for (const SingularPolicy policy : {SingularPolicy::shift, SingularPolicy::pseudo_inverse}) {
      const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(policy));
      EXPECT_EQ(m.info(), (std::vector<int>{-2, static_cast<int>(n) + 1})) << to_string(policy);
      const BlockJacobiReport report = m.report();
      EXPECT_FALSE(report.defects[0].overflows);
      EXPECT_TRUE(report.defects[1].overflows);
      Dense<T> wanted = Dense<T>::Identity(n, n) * T(0.25);
      EXPECT_EQ(stored_inverse(m, 0), wanted) << to_string(policy);
      wanted(1, 1) = T(1);
      EXPECT_EQ(stored_inverse(m, 1), wanted) << to_string(policy);
    }
  }
}

template <Scalar T>
void expect_refresh_repairs(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(33);
  const BlockDiagonal<T> singular = singular_family<T>(random, orders);
  BlockDiagonal<T> regular = singular;
  for (auto& block : regular.blocks) block = random_dense<T>(static_cast<index_t>(block.rows()), random);
  const CsrMatrix<T> first = regular.matrix(), second = singular.matrix();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  for (const SingularPolicy policy : {SingularPolicy::shift, SingularPolicy::pseudo_inverse}) {
    BlockJacobi<T> m(backend, first, regular.partition(), with(policy));
    EXPECT_EQ(m.defects(), 0);
    m.refresh(values.data(), second.nnz(), backend.memory_space());
    const BlockJacobi<T> fresh(backend, second, singular.partition(), with(policy));
    EXPECT_EQ(m.defects(), fresh.defects());
    for (index_t b = 0; b < m.partition().blocks(); ++b)
      EXPECT_EQ(m.inverse_block(b), fresh.inverse_block(b)) << to_string(policy) << ", block " << b;
    EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(backend, first.view(), regular.partition(), with(policy)));
  }
}

TYPED_TEST(SingularPolicyOnBackend, RefreshRepairsAsAConstructionDoes) {
  expect_refresh_repairs<typename TypeParam::Scalar>(this->make_backend(), {2, 33});
}

TYPED_TEST(SingularPolicyOnBackend, RefreshRepairsEveryOrderAsAConstructionDoes) {
  expect_refresh_repairs<typename TypeParam::Scalar>(this->make_backend(), many_orders);
}

}  // namespace
}  // namespace blockjacobi::test
