#include "support/backends.hpp"
#include "support/dense.hpp"
#include "support/messages.hpp"
#include "support/shapes.hpp"

#include <cstring>

namespace blockjacobi::test {
namespace {

template <class Case>
class BlockJacobiOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);

template <class Case>
class BlockJacobiLargeBatch : public BackendTest<Case> {};
TYPED_TEST_SUITE(BlockJacobiLargeBatch, BackendCases, BackendCaseName);

constexpr double accuracy = 10.0;  // of inverse_error, the library's promise

template <class T>
BlockJacobiOptions with(SingularPolicy policy) {
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
    EXPECT_LE(inverse_error<T>(a.blocks[i], stored_inverse(m, b)), accuracy)
        << "block " << b << " of order " << a.blocks[i].rows();
  }
}

template <Scalar T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

TYPED_TEST(BlockJacobiOnBackend, InvertsRandomBlocksOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  Random random(1);
  BlockDiagonal<T> a;
  for (int repeat = 0; repeat < 3; ++repeat)
    for (const index_t n : small_orders) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, InvertsBlocksAboveThirtyTwo) {
  using T = typename TypeParam::Scalar;
  Random random(2);
  BlockDiagonal<T> a;
  for (const index_t n : {33, 40, 64, 77, 1, 96}) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiLargeBatch, InvertsEveryLargeOrder) {
  using T = typename TypeParam::Scalar;
  Random random(3);
  BlockDiagonal<T> a;
  for (const index_t n : large_orders) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, InvertsEveryOrderUpToForty) {
  using T = typename TypeParam::Scalar;
  Random random(4);
  BlockDiagonal<T> a;
  for (index_t n = 1; n <= 40; ++n) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, PermutationMatricesAreInvertedExactly) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a;
  for (const index_t n : {2, 5, 17, 32, 50}) {
    Dense<T> p = Dense<T>::Zero(n, n);
    for (index_t i = 0; i < n; ++i) p(i, (i * 3 + 1) % n) = T(1);
    if (n % 3 != 0) a.blocks.push_back(p);
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  for (index_t b = 0; b < m.partition().blocks(); ++b)
    EXPECT_EQ(stored_inverse(m, b), Dense<T>(a.blocks[static_cast<std::size_t>(b)].transpose())) << "block " << b;
}

TYPED_TEST(BlockJacobiOnBackend, InvertsHardMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Random random(5);
  BlockDiagonal<T> a;
  for (const index_t n : {3, 8, 13, 24, 32, 45}) {
    Dense<T> triangular = random_dense<T>(n, random);  // permuted triangular: pivoting must find the rows
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < i; ++j) triangular(i, j) = T(0);
      triangular(i, i) += T(2);
    }
    a.blocks.push_back(triangular.colwise().reverse());
    Dense<T> rows = random_dense<T>(n, random), columns = random_dense<T>(n, random);
    for (index_t i = 0; i < n; ++i) {
      const int e = static_cast<int>(i % 5) * 15 - 30;
      rows.row(i) *= std::ldexp(R(1), e);
      columns.col(i) *= std::ldexp(R(1), e);
    }
    a.blocks.push_back(rows);
    a.blocks.push_back(columns);
    if (n > std::numeric_limits<R>::digits) continue;
    Dense<T> growth = Dense<T>::Identity(n, n);  // Wilkinson: elements grow by 2 a step, up to the last bit
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < i; ++j) growth(i, j) = T(-1);
      growth(i, n - 1) = T(1);
    }
    a.blocks.push_back(growth);
  }
  for (index_t n = 2; n <= (std::is_same_v<R, double> ? 8 : 4); ++n) {
    Dense<T> hilbert(n, n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) hilbert(i, j) = T(R(1) / static_cast<R>(i + j + 1));
    a.blocks.push_back(hilbert);
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  const std::vector<int> info = m.info();
  for (index_t b = 0; b < m.partition().blocks(); ++b) {
    EXPECT_EQ(info[static_cast<std::size_t>(b)], 0) << "block " << b;
    // graded blocks are judged after equilibration, as the inverse of a graded matrix is graded too
    const Dense<T>& block = a.blocks[static_cast<std::size_t>(b)];
    Dense<T> scaled = block, inverse = stored_inverse(m, b);
    for (index_t i = 0; i < block.rows(); ++i) {
      const R s = R(1) / scaled.row(i).cwiseAbs().maxCoeff();
      scaled.row(i) *= s;
      inverse.col(i) /= s;
    }
    for (index_t j = 0; j < block.cols(); ++j) {
      const R s = R(1) / scaled.col(j).cwiseAbs().maxCoeff();
      scaled.col(j) *= s;
      inverse.row(j) /= s;
    }
    EXPECT_LE(inverse_error<T>(scaled, inverse), accuracy) << "block " << b << " of order " << block.rows();
  }
}

TYPED_TEST(BlockJacobiOnBackend, InvertsWhollyScaledMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const int exponent = std::is_same_v<R, double> ? 498 : 60;  // 1e+-150, 1e+-18
  Random random(6);
  BlockDiagonal<T> a;
  for (const index_t n : {1, 4, 11, 32, 47})
    for (const int e : {-exponent, exponent}) a.blocks.push_back(random_dense<T>(n, random) * std::ldexp(R(1), e));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

/// `corner` in the upper left of the identity of order n.
template <Scalar T>
Dense<T> embedded(const Dense<T>& corner, index_t n) {
  Dense<T> a = Dense<T>::Identity(n, n);
  a.topLeftCorner(2, 2) = corner;
  return a;
}

/// Blocks that are regular after equilibration, though products of their elements and scales leave the range. All
/// numbers are powers of two, so the inverses are exact.
TYPED_TEST(BlockJacobiOnBackend, SmallScalesNearTheEndsOfTheRange) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  constexpr int top = std::numeric_limits<R>::max_exponent;
  const auto power = [](int e) { return T(std::ldexp(R(1), e)); };
  struct Case {
    Dense<T> a, inverse;
  };
  std::vector<Case> cases(2, {Dense<T>(2, 2), Dense<T>(2, 2)});
  const int huge = top - 4, large = top - top / 8;
  cases[0].a << power(large), power(huge), T(0), T(1);
  cases[0].inverse << power(-large), -power(huge - large), T(0), T(1);
  const int up = top * 5 / 8;  // the second column is as far below the first as cannot be represented
  cases[1].a << power(up), power(-up), power(up), power(1 - up);
  cases[1].inverse << power(1 - up), -power(-up), -power(up), power(up);
  if constexpr (is_complex<T>) {  // |Re| + |Im| overflows
    cases.push_back({Dense<T>::Identity(2, 2), Dense<T>::Identity(2, 2)});
    cases[2].a(0, 0) = power(top - 1) * T(1, 1);
    cases[2].inverse(0, 0) = power(-top) * T(1, -1);
  }
  for (const index_t n : {2, 3, 8, 32, 40}) {
    BlockDiagonal<T> a;
    for (const Case& c : cases) a.blocks.push_back(embedded<T>(c.a, n));
    const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with<T>(SingularPolicy::identity));
    EXPECT_EQ(m.info(), std::vector<int>(cases.size(), 0)) << "order " << n;
    for (std::size_t b = 0; b < cases.size(); ++b)
      EXPECT_TRUE(stored_inverse(m, static_cast<index_t>(b)) == embedded<T>(cases[b].inverse, n))
          << "order " << n << ", case " << b;
  }
}

TYPED_TEST(BlockJacobiOnBackend, NamesSingularBlocks) {
  using T = typename TypeParam::Scalar;
  Random random(7);
  BlockDiagonal<T> a;
  for (const index_t n : {2, 6, 16, 20, 32, 40}) {
    a.blocks.push_back(random_dense<T>(n, random));  // regular neighbours must stay untouched
    Dense<T> zero_column = random_dense<T>(n, random);
    zero_column.col(1).setZero();
    a.blocks.push_back(zero_column);
    a.blocks.push_back(Dense<T>::Zero(n, n));
    Dense<T> rank = random_dense<T>(n, random);
    rank.row(n - 1) = rank.topRows(n - 1).colwise().sum();
    a.blocks.push_back(rank);
  }
  const auto options = with<T>(SingularPolicy::scalar_jacobi);
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), options);
  const std::vector<int> info = m.info();
  const auto rcond = m.rcond();
  const BlockJacobiReport report = m.report();
  EXPECT_EQ(report.singular_blocks, 18);
  EXPECT_EQ(report.non_finite_blocks, 0);
  ASSERT_EQ(report.defects.size(), 18u);
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const auto n = static_cast<int>(a.blocks[b].rows());
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(b));
    if (b % 4 == 0) {
      EXPECT_EQ(info[b], 0);
      EXPECT_LE(inverse_error<T>(a.blocks[b], x), accuracy);
      continue;
    }
    if (b % 4 == 1) {
      EXPECT_EQ(info[b], 2) << "the second pivot of block " << b << " is the zero column";
    }
    if (b % 4 == 2) {
      EXPECT_EQ(info[b], 1);
    }
    if (b % 4 == 3) {
      EXPECT_TRUE(info[b] == n || info[b] == n + 1) << info[b] << " of " << n;
    }
    if (info[b] <= n) {
      EXPECT_EQ(rcond[b], 0);
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const T d = a.blocks[b](i, i);
        const T expected = i != j ? T(0) : d == T(0) ? T(1) : T(1) / d;
        EXPECT_LE(std::abs(x(i, j) - expected), 4 * std::numeric_limits<real_t<T>>::epsilon() * std::abs(expected))
            << "block " << b << " (" << i << ", " << j << ")";
      }
  }
}

TYPED_TEST(BlockJacobiOnBackend, PolicyIdentityStoresIdentity) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a{{Dense<T>::Constant(3, 3, T(2)), Dense<T>::Constant(1, 1, T(4)), Dense<T>::Ones(35, 35)}};
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with<T>(SingularPolicy::identity));
  EXPECT_EQ(stored_inverse(m, 0), Dense<T>(Dense<T>::Identity(3, 3)));
  EXPECT_EQ(stored_inverse(m, 1)(0, 0), T(0.25));
  EXPECT_EQ(stored_inverse(m, 2), Dense<T>(Dense<T>::Identity(35, 35)));
  EXPECT_EQ(m.info()[0], 2);
}

TYPED_TEST(BlockJacobiOnBackend, PolicyFailThrowsAndNamesTheBlock) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a{{Dense<T>::Identity(4, 4), Dense<T>::Ones(3, 3), Dense<T>::Zero(2, 2)}};
  try {
    const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
    FAIL() << "no exception";
  } catch (const SingularBlock& e) {
    EXPECT_EQ(e.block(), 1);
    EXPECT_EQ(e.first_row(), 4);
    EXPECT_EQ(e.size(), 3);
    EXPECT_EQ(e.info(), 2);
    EXPECT_STREQ(e.what(), "BlockJacobi: block 1 (rows 4..6): pivot 2 is exactly zero (and 1 more block)");
  }
}

TYPED_TEST(BlockJacobiOnBackend, FindsNanAndInf) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Random random(8);
  BlockDiagonal<T> a;
  for (const index_t n : {4, 32, 50}) {
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks[a.blocks.size() - 2](2, 1) = T(std::numeric_limits<R>::quiet_NaN());
    a.blocks[a.blocks.size() - 2](1, 3) = T(std::numeric_limits<R>::infinity());
    a.blocks[a.blocks.size() - 1](0, 3) = T(-std::numeric_limits<R>::infinity());
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with<T>(SingularPolicy::scalar_jacobi));
  const std::vector<int> info = m.info();
  const auto rcond = m.rcond();
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const auto n = static_cast<int>(a.blocks[b].rows());
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(b));
    EXPECT_TRUE(x.array().isFinite().all()) << "block " << b;
    if (b % 3 == 0) {
      EXPECT_LE(inverse_error<T>(a.blocks[b], x), accuracy);
    }
    if (b % 3 == 1) {
      EXPECT_EQ(info[b], -(1 + 2 + 1 * n));
    }
    if (b % 3 == 2) {
      EXPECT_EQ(info[b], -(1 + 0 + 3 * n));
    }
    EXPECT_EQ(std::isnan(rcond[b]), b % 3 != 0);
  }
  const BlockJacobiReport report = m.report();
  EXPECT_EQ(report.non_finite_blocks, 6);
  EXPECT_EQ(describe(report.defects[0]), "block 1 (rows 4..7): element (6, 5) of the matrix is NaN or Inf");
}

TYPED_TEST(BlockJacobiOnBackend, SmallTakesUnsortedRowsDuplicatesAndBothBases) {
  using T = typename TypeParam::Scalar;
  // [4 1; 2 5] and [8], row 0 as 1 + 3 + (a far entry) + 1, row 1 reversed
  const std::vector<std::int32_t> offsets{1, 5, 7, 9};
  const std::vector<index_t> columns{2, 1, 3, 1, 2, 1, 1, 3};
  const std::vector<T> values{T(1), T(3), T(9), T(1), T(5), T(2), T(7), T(8)};
  const CsrView<T, std::int32_t> view{
      3, 3, 8, offsets.data(), columns.data(), values.data(), IndexBase::one, MemorySpace::host};
  const BlockJacobi<T> m(this->make_backend(), view, BlockPartition::from_offsets({0, 2, 3}));
  Dense<T> expected(2, 2);
  expected << T(5), T(-1), T(-2), T(4);
  expected /= T(18);
  EXPECT_LE((stored_inverse(m, 0) - expected).norm(), 8 * std::numeric_limits<real_t<T>>::epsilon());
  EXPECT_EQ(stored_inverse(m, 1)(0, 0), T(0.125));
  EXPECT_DOUBLE_EQ(m.report().captured, 6.0 / 8.0);
}

TYPED_TEST(BlockJacobiOnBackend, TakesAMatrixOnTheDevice) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(9);
  BlockDiagonal<T> a{{random_dense<T>(5, random), random_dense<T>(9, random)}};
  const CsrMatrix<T> matrix = a.matrix();
  const Array<offset_t> offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()});
  const Array<index_t> columns(backend, {matrix.columns().begin(), matrix.columns().end()});
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  const CsrView<T> view{matrix.rows(),  matrix.cols(), matrix.nnz(),    offsets.data(),
                        columns.data(), values.data(), IndexBase::zero, backend.memory_space()};
  EXPECT_EQ(BlockPartition::detect(backend, view, 4), BlockPartition::detect(matrix, 4));
  const BlockJacobi<T> m(backend, view, a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, SmallAppliesEveryOrderAndItsTransposes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(10);
  BlockDiagonal<T> a;
  for (index_t n = 1; n <= 70; n += (n < 34 ? 1 : 9)) {
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
  }
  const BlockJacobi<T> m(backend, a.matrix(), a.partition());
  std::vector<T> r(static_cast<std::size_t>(m.rows()));
  for (T& value : r) value = random.scalar<T>();
  const Array<T> input(backend, r);
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
    Array<T> output(backend, r.size());
    m.apply(input.view(), output.view(), op);
    const std::vector<T> z = output.to_host();
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const index_t first = m.partition().first_row(b), n = m.partition().block_size(b);
      Dense<T> x = stored_inverse(m, b);
      if (op == Op::transpose) x.transposeInPlace();
      if (op == Op::conjugate_transpose) x.adjointInPlace();
      const Eigen::Map<const Dense<T>> in(r.data() + first, n, 1), out(z.data() + first, n, 1);
      const auto error = (x * in - out).norm();
      EXPECT_LE(error, 4 * static_cast<real_t<T>>(n) * std::numeric_limits<real_t<T>>::epsilon() * x.norm() * in.norm())
          << "order " << n << ", op " << static_cast<int>(op);
    }
  }
}

TYPED_TEST(BlockJacobiLargeBatch, BatchesPastSixtyFiveThousandBlocks) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t blocks : {65535, 65536, 65537, 200001}) {
    Random random(11);
    const index_t n = 2 * blocks;
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    std::vector<T> values;
    for (index_t row = 0; row < n; ++row) {
      const index_t first = row / 2 * 2;
      for (index_t j = 0; j < 2; ++j) {
        columns.push_back(first + j);
        values.push_back(random.scalar<T>() + (first + j == row ? T(3) : T(0)));
      }
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
    const CsrMatrix<T> matrix(n, n, offsets, columns, values);
    const BlockJacobi<T> m(backend, matrix, BlockPartition::uniform(n, 2));
    std::vector<T> x(static_cast<std::size_t>(n)), b(x.size());
    for (T& value : x) value = random.scalar<T>();
    for (std::size_t row = 0; row < b.size(); ++row) {
      const std::size_t first = row / 2 * 2;
      b[row] = values[2 * row] * x[first] + values[2 * row + 1] * x[first + 1];
    }
    const std::vector<T> z = this->applied(m, backend, b);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(z[i] - x[i]), 64 * std::numeric_limits<real_t<T>>::epsilon())
          << "row " << i << ", " << blocks << " blocks";
  }
}

TYPED_TEST(BlockJacobiOnBackend, RefreshEqualsANewSetUpBitForBit) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(12);
  BlockDiagonal<T> a, b;
  for (const index_t n : {1, 3, 7, 20, 32, 41}) {
    a.blocks.push_back(random_dense<T>(n, random));
    b.blocks.push_back(random_dense<T>(n, random));
  }
  const CsrMatrix<T> second = b.matrix();
  BlockJacobi<T> m(backend, a.matrix(), a.partition());
  const BlockJacobi<T> fresh(backend, second, b.partition());
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  m.refresh(values.data(), second.nnz(), backend.memory_space());
  for (index_t block = 0; block < m.partition().blocks(); ++block)
    EXPECT_TRUE(same_bits(m.inverse_block(block), fresh.inverse_block(block))) << "block " << block;
  EXPECT_EQ(m.rcond(), fresh.rcond());
}

/// std::complex is aligned as its parts are.
TYPED_TEST(BlockJacobiOnBackend, SmallTakesComplexValuesAtAddressesOfRealNumbers) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  if constexpr (is_complex<T>) {
    const Backend backend = this->make_backend();
    Random random(21);
    BlockDiagonal<T> a;
    for (const index_t n : {1, 2, 3, 3, 3, 3, 7, 16, 33}) a.blocks.push_back(random_dense<T>(n, random));
    const CsrMatrix<T> matrix = a.matrix();
    std::vector<R> parts{R(0)};
    for (const T& value : matrix.values()) {
      parts.push_back(value.real());
      parts.push_back(value.imag());
    }
    const Array<R> values(backend, parts);
    // Full blocks, and blocks of 4 that miss entries.
    for (const BlockPartition& partition : {a.partition(), BlockPartition::uniform(matrix.rows(), 4)}) {
      const BlockJacobi<T> wanted(backend, matrix, partition, with<T>(SingularPolicy::identity));
      BlockJacobi<T> m = BlockJacobi<T>::analyze(backend, matrix.view(), partition, with<T>(SingularPolicy::identity));
      m.refresh(reinterpret_cast<const T*>(values.data() + 1), matrix.nnz(), backend.memory_space());
      for (index_t b = 0; b < partition.blocks(); ++b)
        EXPECT_TRUE(same_bits(m.inverse_block(b), wanted.inverse_block(b))) << "block " << b;
    }
  }
}

TYPED_TEST(BlockJacobiOnBackend, SmallAnalysisAndRefreshEqualOneConstruction) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(15);
  BlockDiagonal<T> a;
  for (const index_t n : {3, 40, 3, 17}) a.blocks.push_back(random_dense<T>(n, random));
  const CsrMatrix<T> matrix = a.matrix();
  CsrView<T> pattern = matrix.view();
  pattern.values = nullptr;
  auto m = BlockJacobi<T>::analyze(backend, pattern, a.partition());
  EXPECT_EQ(m.nnz(), matrix.nnz());
  // A block of 40 rows needs wide words of the position map.
  EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(pattern, a.partition()));

  const char* wanted = ": there are no inverses yet, refresh() comes first after BlockJacobi::analyze()";
  Array<T> r(backend, static_cast<std::size_t>(m.rows())), z(backend, r.size());
  EXPECT_EQ(message_of([&] { m.apply(std::as_const(r).view(), z.view()); }),
            std::string("BlockJacobi::apply") + wanted);
  EXPECT_EQ(message_of([&] { (void)m.info(); }), std::string("BlockJacobi::info") + wanted);
  EXPECT_EQ(message_of([&] { (void)m.defects(); }), std::string("BlockJacobi::defects") + wanted);
  EXPECT_NE(message_of([&] { (void)m.report(); }), "no InvalidArgument");
  EXPECT_NE(message_of([&] { (void)m.inverse_block(0); }), "no InvalidArgument");
  EXPECT_NE(message_of([&] { Preconditioner<T> unused(m); }), "no InvalidArgument");

  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  m.refresh(values.data(), matrix.nnz(), backend.memory_space());
  EXPECT_EQ(m.defects(), 0);
  const BlockJacobi<T> whole(backend, matrix, a.partition());
  for (index_t b = 0; b < m.partition().blocks(); ++b)
    EXPECT_TRUE(same_bits(m.inverse_block(b), whole.inverse_block(b))) << "block " << b;
}

TYPED_TEST(BlockJacobiOnBackend, SmallRefreshWithASingularBlockEndsTheNextSolve) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> good{{Dense<T>::Identity(2, 2), Dense<T>::Identity(3, 3)}}, bad = good;
  bad.blocks[1] = Dense<T>::Ones(3, 3);
  good.blocks[0].setOnes();
  good.blocks[0](0, 0) = T(2);
  const CsrMatrix<T> matrix = good.matrix(), singular = bad.matrix();
  BlockJacobi<T> m(backend, matrix, good.partition());
  std::vector<T> bad_values(singular.values().begin(), singular.values().end());
  const Array<T> values(backend, bad_values);
  m.refresh(values.data(), static_cast<offset_t>(bad_values.size()), backend.memory_space());
  EXPECT_EQ(m.report().defects.at(0).block, 1);
  const std::vector<T> z = this->applied(m, backend, {T(1), T(2), T(3), T(4), T(5)});
  EXPECT_EQ(z[4], T(5));

  const LinearOperator<T> A(backend, matrix);
  const std::vector<T> b(5, T(1));
  std::vector<T> x(5, T(0));
  const SolveReport cg_report = cg(A, m, b, x);
  EXPECT_EQ(cg_report.reason, StopReason::singular_block);
  EXPECT_EQ(cg_report.iterations, 0);
  EXPECT_EQ(gmres(A, m, b, x).reason, StopReason::singular_block);
  EXPECT_EQ(x, std::vector<T>(5, T(0)));
}

TYPED_TEST(BlockJacobiOnBackend, TwoRunsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(13);
  BlockDiagonal<T> a;
  for (const index_t n : {2, 9, 16, 31, 64}) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> one(backend, a.matrix(), a.partition()), two(backend, a.matrix(), a.partition());
  const std::vector<T> r(static_cast<std::size_t>(one.rows()), T(1));
  EXPECT_TRUE(same_bits(this->applied(one, backend, r), this->applied(two, backend, r)));
}

TYPED_TEST(BlockJacobiOnBackend, SmallEmptyMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockJacobi<T> m(backend, CsrMatrix<T>(), BlockPartition());
  EXPECT_EQ(m.report().blocks, 0);
  EXPECT_TRUE(this->applied(m, backend, {}).empty());
}

TYPED_TEST(BlockJacobiOnBackend, SmallStorageIsPackedAndKnownBefore) {
  using T = typename TypeParam::Scalar;
  const auto partition = BlockPartition::from_offsets({0, 3, 5, 8, 9});
  Random random(14);
  BlockDiagonal<T> a;
  for (const index_t n : {3, 2, 3, 1}) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), partition);
  const std::size_t elements = 128 / sizeof(T);
  EXPECT_EQ(BlockJacobi<T>::storage_bytes(partition), (2 * elements + 18) * sizeof(T));
  EXPECT_GE(m.bytes(), BlockJacobi<T>::storage_bytes(partition));
  EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(a.matrix().view(), partition));
  EXPECT_EQ(m.inverse().groups[2].start % static_cast<offset_t>(elements), 0);
  EXPECT_EQ(m.report().sizes, (std::vector<std::pair<index_t, index_t>>{{1, 1}, {2, 1}, {3, 2}}));
}

TYPED_TEST(BlockJacobiOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a{{Dense<T>::Identity(2, 2), Dense<T>::Identity(3, 3)}};
  const CsrMatrix<T> matrix = a.matrix();
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, matrix, BlockPartition::uniform(6, 2)); }),
            "BlockJacobi: the partition has 6 rows, the matrix 5");
  const CsrMatrix<T> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, rectangle, BlockPartition::uniform(2, 2)); }),
            "BlockJacobi: the matrix is 2 x 3, must be square");
  CsrView<T> no_values = matrix.view();
  no_values.values = nullptr;
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, no_values, a.partition()); }),
            "BlockJacobi: the matrix has 13 entries but no values");
  BlockJacobi<T> m(backend, matrix, a.partition());
  EXPECT_EQ(message_of([&] { m.refresh(matrix.values().data(), 12, backend.memory_space()); }),
            "BlockJacobi::refresh: 12 values, the pattern has 13");
  EXPECT_EQ(message_of([&] { m.refresh(nullptr, 13, backend.memory_space()); }),
            "BlockJacobi::refresh: values is a null pointer");
  Array<T> r(backend, 5), z(backend, 4);
  EXPECT_EQ(message_of([&] { m.apply(std::as_const(r).view(), z.view()); }),
            "BlockJacobi::apply: z: length is 4, must be 5");
  EXPECT_EQ(message_of([&] { m.apply(std::as_const(r).view(), r.view()); }),
            "BlockJacobi::apply: input and output overlap");
  EXPECT_EQ(message_of([&] { m.apply(std::as_const(r).view(), r.view(), static_cast<Op>(3)); }),
            "BlockJacobi::apply: op is 3, no enumerator");
  EXPECT_EQ(message_of([&] { m.apply(VectorView<const T>(nullptr, 5, backend.memory_space()), r.view()); }),
            "BlockJacobi::apply: r: null pointer, length 5");
  EXPECT_EQ(message_of([&] { (void)m.inverse_block(2); }), "BlockJacobi::inverse_block: block is 2, there are 2");
  const MemorySpace other = backend.memory_space() == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_NE(message_of([&] { m.apply(VectorView<const T>(r.data(), 5, other), z.view()); }), "no InvalidArgument");
  EXPECT_NE(message_of([&] { m.refresh(matrix.values().data(), 13, other); }), "no InvalidArgument");
}

}  // namespace
}  // namespace blockjacobi::test
