#include "tests/kernels/blocks.hpp"
#include "tests/support/backends.hpp"

#include <cmath>
#include <initializer_list>
#include <tuple>

namespace blockjacobi::test {
namespace {

template <class T>
class SetupTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(SetupTest, Scalars);

constexpr double accepted_error = 10.0;

/// One random dense block of each size, inverted and compared with the definition of an inverse.
template <Scalar T>
void expect_inverses(const std::vector<index_t>& sizes, Words words = Words::none) {
  Blocks<T> blocks(Backend::cuda(), sizes);
  const auto matrix = [&](index_t b) {
    return random_matrix<T>(sizes[static_cast<std::size_t>(b)], 100u + static_cast<unsigned>(b));
  };
  blocks.setup([&](index_t b) { return dense_entries<T>(matrix(b)); }, detail::Fallback::identity, words);
  const auto info = blocks.info();
  const auto rcond = blocks.rcond();
  EXPECT_EQ(blocks.defects(), 0);
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    SCOPED_TRACE(::testing::Message() << "block " << b << ", order " << sizes[b]);
    EXPECT_EQ(info[b], 0);
    EXPECT_GT(rcond[b], 0);
    EXPECT_LE(rcond[b], real_t<T>(1.001));
    EXPECT_LE(inverse_error<T>(matrix(static_cast<index_t>(b)), blocks.block(static_cast<index_t>(b))), accepted_error);
  }
}

TYPED_TEST(SetupTest, EveryOrderUpTo32) {
  std::vector<index_t> sizes;
  for (index_t n = 1; n <= 32; ++n) sizes.push_back(n);
  for (const Words words : {Words::none, Words::narrow, Words::wide}) expect_inverses<TypeParam>(sizes, words);
}

/// Orders of every kernel path that racecheck, whose time grows with the cube of the order, ends within seconds: 48 and
/// 64 fit in shared memory for every scalar, 120 for all but double complex.
template <Scalar T>
std::vector<index_t> small_path_orders() {
  std::vector<index_t> orders{2, 4, 7, 16, 23, 32, 40, 64};
  if (sizeof(T) == 16) orders.push_back(120);
  return orders;
}

TYPED_TEST(SetupTest, SharedAndGlobalMemoryOrders) { expect_inverses<TypeParam>(small_path_orders<TypeParam>()); }

TYPED_TEST(SetupTest, LargeOrders) {
  if (is_under_tool())  // of each design some
    expect_inverses<TypeParam>({48, 64, 65, 96, 97, 112, 128, 160, 190, 333});
  else
    expect_inverses<TypeParam>({48, 64, 65, 77, 96, 111, 112, 113, 127, 128, 160, 161, 190, 230, 235, 256, 333, 512});
}

/// Entries one by one, as of blocks whose rows have different lengths.
TYPED_TEST(SetupTest, LargeOrdersWithWords) {
  expect_inverses<TypeParam>({33, 41, 48, 49, 56, 57, 64, 65, 80, 81, 96, 97}, Words::wide);
}

TYPED_TEST(SetupTest, LargestOrdersWithWords) { expect_inverses<TypeParam>({128, 129, 200}, Words::wide); }

/// Most rows have few entries, some none but one: the words of one row end, and those of a tile of rows, anywhere.
TYPED_TEST(SetupTest, LargeBlocksWithGaps) {
  using T = TypeParam;
  for (const auto& [n, count] : {std::pair{33, 2u}, {48, 2u}, {64, 2u}, {65, 2u}, {96, 2u}, {100, 2u}, {100, 70u}}) {
    SCOPED_TRACE(::testing::Message() << count << " of order " << n);
    const auto is_stored = [](index_t i, index_t j) { return i == j || (i % 5 != 0 && (7 * i + 3 * j) % 11 < i % 9); };
    Matrix<T> a = random_matrix<T>(n, 21);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) a(i, j) = !is_stored(i, j) ? T(0) : i == j ? T(real_t<T>(2 * n)) : a(i, j);
    Entries<T> entries;
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j)
        if (is_stored(i, j)) entries.push_back({i, j, a(i, j)});
    const std::vector<index_t> sizes(count, n);
    Blocks<T> blocks(Backend::cuda(), sizes), dense(Backend::cuda(), sizes);
    blocks.setup([&](index_t) { return entries; });
    dense.setup([&](index_t) { return dense_entries<T>(a); });
    EXPECT_EQ(blocks.defects(), 0);
    EXPECT_LE(inverse_error<T>(a, blocks.block(0)), accepted_error);
    for (index_t b = 0; b < static_cast<index_t>(count); ++b)
      ASSERT_TRUE(blocks.block(b) == dense.block(b)) << "block " << b;
  }
}

/// Too many for clusters of thread blocks, by which few blocks of such orders are inverted; the last warp has few rows.
template <Scalar T>
void expect_many_inverses(index_t n) {
  for (const Words words : {Words::none, Words::wide}) expect_inverses<T>(std::vector<index_t>(70, n), words);
}

TYPED_TEST(SetupTest, ManyBlocksOfOrder97) { expect_many_inverses<TypeParam>(97); }
TYPED_TEST(SetupTest, ManyBlocksOfOrder130) { expect_many_inverses<TypeParam>(130); }
TYPED_TEST(SetupTest, ManyBlocksOfOrder161) { expect_many_inverses<TypeParam>(161); }

TYPED_TEST(SetupTest, MixedOrdersOutOfSequence) {
  expect_inverses<TypeParam>({17, 1, 40, 3, 3, 32, 8, 1, 64, 2, 16, 31, 5, 33, 9, 4, 15, 7, 1, 12});
}

/// Many blocks of one order have a launch of their own, whatever stands beside them.
TYPED_TEST(SetupTest, ManyBlocksBesideFewOfOtherOrders) {
  for (const auto& [most, count, others] :
       {std::tuple{index_t{8}, 4200u, std::vector<index_t>{5, 6, 7, 9}},
        std::tuple{index_t{17}, 1000u, std::vector<index_t>{18, 19, 20, 20, 20}},
        std::tuple{index_t{40}, 140u, std::vector<index_t>{33, 41, 48, 49, 50, 57, 64, 65, 66, 96, 97}}}) {
    SCOPED_TRACE(most);
    std::vector<index_t> sizes(count, most);
    sizes.insert(sizes.end(), others.begin(), others.end());  // as the last blocks of a matrix
    sizes.insert(sizes.begin() + 2, others.front());
    expect_inverses<TypeParam>(sizes);
  }
}

TYPED_TEST(SetupTest, RaggedCounts) {
  for (const index_t n : {1, 4, 7, 16, 32, 33})
    for (const std::size_t count : {1u, 2u, 3u, 5u, 9u, 33u})
      expect_inverses<TypeParam>(std::vector<index_t>(count, n));
}

TYPED_TEST(SetupTest, NoBlocks) {
  Blocks<TypeParam> blocks(Backend::cuda(), {});
  blocks.setup([](index_t) { return Entries<TypeParam>{}; });
  EXPECT_EQ(blocks.defects(), 0);
  EXPECT_TRUE(blocks.apply({}).empty());
}

/// Diagonally dominant tridiagonal blocks, so that the host side of a long batch stays cheap.
template <Scalar T>
Matrix<T> tridiagonal(index_t n, index_t block) {
  Matrix<T> a = Matrix<T>::Zero(n, n);
  for (index_t i = 0; i < n; ++i) {
    a(i, i) = T(static_cast<real_t<T>>(4 + block % 7));
    if (i > 0) a(i, i - 1) = T(-1);
    if (i + 1 < n) a(i, i + 1) = T(-1);
  }
  return a;
}

template <Scalar T>
Entries<T> tridiagonal_entries(index_t n, index_t block) {
  Entries<T> entries;
  for (index_t i = 0; i < n; ++i) {
    if (i > 0) entries.push_back({i, i - 1, T(-1)});
    entries.push_back({i, i, T(static_cast<real_t<T>>(4 + block % 7))});
    if (i + 1 < n) entries.push_back({i, i + 1, T(-1)});
  }
  return entries;
}

template <Scalar T>
void expect_long_batch(index_t n, index_t count) {
  SCOPED_TRACE(::testing::Message() << count << " blocks of order " << n);
  Blocks<T> blocks(Backend::cuda(), std::vector<index_t>(static_cast<std::size_t>(count), n));
  blocks.setup([&](index_t b) { return tridiagonal_entries<T>(n, b); });
  EXPECT_EQ(blocks.defects(), 0);
  EXPECT_EQ(blocks.info(), std::vector<int>(static_cast<std::size_t>(count), 0));
  for (const index_t b : {0, 1, count / 2, count - 2, count - 1})
    EXPECT_LE(inverse_error<T>(tridiagonal<T>(n, b), blocks.block(b)), accepted_error) << "block " << b;
  const auto r = random_vector<T>(static_cast<std::size_t>(blocks.rows()), 5);
  const auto z = blocks.apply(r);
  std::vector<T> product(r.size());
  for (index_t b = 0; b < count; ++b) {
    const auto first = static_cast<std::size_t>(b) * static_cast<std::size_t>(n);
    const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> zb(z.data() + first, n);
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(product.data() + first, n) = tridiagonal<T>(n, b) * zb;
  }
  // cond(A) <= (4 + 2) / (4 - 2): ||A X - I|| <= 3 * 10 N eps, 3 times that if it is ||X A - I|| which is small, and
  // the product by X rounds by N eps ||A|| ||X|| more
  EXPECT_LE(relative_difference(product, r), 100.0 * static_cast<double>(n) * epsilon<T>);
}

TYPED_TEST(SetupTest, BatchesAroundTheSizeOfA16BitGrid) {
  for (const index_t n : {1, 2, 5, 13})
    for (const index_t count : {65535, 65536, 65537}) expect_long_batch<TypeParam>(n, count);
}

TEST_F(DeviceTest, LongBatchOfOneBlockAThreadBlock) { expect_long_batch<double>(33, 65537); }

/// Storage past 2^31 elements: 64-bit positions.
TEST_F(DeviceTest, StorageBeyond32BitPositions) {
  const index_t n = 512, count = 8200;
  std::vector<index_t> sizes(static_cast<std::size_t>(count), n);
  Blocks<float> blocks(Backend::cuda(), sizes);
  blocks.setup([&](index_t b) { return tridiagonal_entries<float>(n, b); });
  EXPECT_EQ(blocks.defects(), 0);
  EXPECT_LE(inverse_error<float>(tridiagonal<float>(n, 0), blocks.block(0)), accepted_error);
  EXPECT_LE(inverse_error<float>(tridiagonal<float>(n, count - 1), blocks.block(count - 1)), accepted_error);
}

TYPED_TEST(SetupTest, MissingEntriesAreZerosAndDuplicatesAreSummed) {
  using T = TypeParam;
  for (const index_t n : {3, 6, 20, 40, 64, 90, 130}) {
    SCOPED_TRACE(n);
    Matrix<T> expected = Matrix<T>::Zero(n, n);
    Entries<T> entries;
    for (index_t i = 0; i < n; ++i) {
      const index_t j = (i + 1) % n;  // a permutation plus something on its diagonal
      if (i % 2 == 0) entries.push_back({i, i, T(real_t<T>(0.25))});
      for (int repeat = 0; repeat < 3; ++repeat) entries.push_back({i, j, T(real_t<T>(repeat + 1))});
      if (i % 2 == 0) expected(i, i) = T(real_t<T>(0.25));
      expected(i, j) = T(6);
    }
    for (const Words words : {Words::narrow, Words::wide}) {
      Blocks<T> blocks(Backend::cuda(), {n, n});
      blocks.setup([&](index_t) { return entries; }, detail::Fallback::identity, words);
      EXPECT_EQ(blocks.info(), std::vector<int>(2, 0));
      EXPECT_LE(inverse_error<T>(expected, blocks.block(0)), accepted_error);
      EXPECT_LE(inverse_error<T>(expected, blocks.block(1)), accepted_error);
    }
  }
}

TYPED_TEST(SetupTest, PermutationsAreInvertedExactly) {
  using T = TypeParam;
  for (const index_t n : {1, 2, 4, 5, 8, 13, 16, 29, 32, 47, 64}) {
    SCOPED_TRACE(n);
    Matrix<T> a = Matrix<T>::Zero(n, n);
    for (index_t i = 0; i < n; ++i) a(i, (i + n / 2) % n) = T(4);
    Blocks<T> blocks(Backend::cuda(), {n});
    blocks.setup([&](index_t) { return dense_entries<T>(a); });
    EXPECT_EQ(blocks.info()[0], 0);
    EXPECT_EQ(blocks.rcond()[0], real_t<T>(1));
    EXPECT_TRUE(blocks.block(0) == Matrix<T>(a.transpose() / T(16)));
  }
}

TYPED_TEST(SetupTest, PowersOfTwoChangeNothingButTheScale) {
  using T = TypeParam;
  const int reach = std::is_same_v<real_t<T>, float> ? 60 : 500;
  for (const index_t n : {4, 11, 32, 50}) {
    SCOPED_TRACE(n);
    const Matrix<T> a = random_matrix<T>(n, 3);
    Matrix<T> scaled = a;
    std::vector<int> exponent(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) {
      exponent[static_cast<std::size_t>(i)] = i % 3 == 0 ? reach : i % 3 == 1 ? -reach : 0;
      scaled.row(i) *= std::ldexp(real_t<T>(1), exponent[static_cast<std::size_t>(i)]);
    }
    Blocks<T> blocks(Backend::cuda(), {n, n});
    blocks.setup([&](index_t b) { return dense_entries<T>(b == 0 ? a : scaled); });
    EXPECT_EQ(blocks.info(), std::vector<int>(2, 0));
    const auto rcond = static_cast<double>(blocks.rcond()[0]);
    const Matrix<T> x = blocks.block(0);
    Matrix<T> y = blocks.block(1);
    for (index_t i = 0; i < n; ++i) y.col(i) *= std::ldexp(real_t<T>(1), exponent[static_cast<std::size_t>(i)]);
    if (std::is_same_v<real_t<T>, double>) {
      EXPECT_EQ(blocks.rcond()[0], blocks.rcond()[1]);
      EXPECT_TRUE(x == y);
    } else {  // an element below 2^-8 may let the block be equilibrated anew, see detail::exchanges_unlike_rows()
      EXPECT_NEAR(static_cast<double>(blocks.rcond()[1]) / rcond, 1, 0.9);
      EXPECT_LE((x - y).norm(), 2 * 10 * n * epsilon<T> * x.norm() / rcond);
    }
  }
}

template <Scalar T>
void expect_zero_column_named_and_replaced(const std::vector<index_t>& orders) {
  for (const index_t n : orders)
    for (const index_t zero : {index_t{0}, n / 2, n - 1}) {
      SCOPED_TRACE(::testing::Message() << "order " << n << ", column " << zero);
      Matrix<T> a = random_matrix<T>(n, 11);
      a.diagonal().array() += T(real_t<T>(n));
      a.col(zero).setZero();
      Blocks<T> blocks(Backend::cuda(), {n, n, n});
      const auto entries = [&](index_t b) {
        return dense_entries<T>(b == 1 ? a : Matrix<T>(Matrix<T>::Identity(n, n)));
      };
      blocks.setup(entries, detail::Fallback::scalar_jacobi);
      EXPECT_EQ(blocks.info(), (std::vector<int>{0, zero + 1, 0}));
      EXPECT_EQ(blocks.rcond()[1], real_t<T>(0));
      EXPECT_EQ(blocks.defects(), 1);
      const Matrix<T> x = blocks.block(1);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
          const T expected = i != j ? T(0) : i == zero ? T(1) : T(1) / a(i, i);
          ASSERT_LE(std::abs(x(i, j) - expected), 4 * epsilon<T>) << i << ", " << j;
        }
      EXPECT_TRUE(blocks.block(0) == Matrix<T>(Matrix<T>::Identity(n, n)));
      EXPECT_TRUE(blocks.block(2) == Matrix<T>(Matrix<T>::Identity(n, n)));

      blocks.setup(entries, detail::Fallback::identity);
      EXPECT_EQ(blocks.defects(), 1) << "the counter starts anew";
      EXPECT_TRUE(blocks.block(1) == Matrix<T>(Matrix<T>::Identity(n, n)));
    }
}

TYPED_TEST(SetupTest, ZeroColumnIsNamedAndReplaced) {
  expect_zero_column_named_and_replaced<TypeParam>(small_path_orders<TypeParam>());
}

TYPED_TEST(SetupTest, LargeZeroColumnIsNamedAndReplaced) {
  expect_zero_column_named_and_replaced<TypeParam>({100, 256, 512});
}

TYPED_TEST(SetupTest, NonFiniteElementIsNamed) {
  using T = TypeParam;
  const real_t<T> nan = std::numeric_limits<real_t<T>>::quiet_NaN();
  const real_t<T> infinity = std::numeric_limits<real_t<T>>::infinity();
  for (const index_t n : small_path_orders<TypeParam>()) {
    SCOPED_TRACE(n);
    const index_t i = n - 1, j = n / 2;
    Matrix<T> a = random_matrix<T>(n, 12);
    a(i, j) = T(nan);
    if (j + 1 < n) a(0, j + 1) = T(infinity);
    Matrix<T> b = random_matrix<T>(n, 13);
    b(0, 0) = T(-infinity);
    Blocks<T> blocks(Backend::cuda(), {n, n});
    for (const Words words : {Words::none, Words::wide}) {
      blocks.setup([&](index_t k) { return dense_entries<T>(k == 0 ? a : b); }, detail::Fallback::scalar_jacobi, words);
      EXPECT_EQ(blocks.info(), (std::vector<int>{-(1 + i + j * n), -1}));
      EXPECT_TRUE(std::isnan(blocks.rcond()[0]));
      EXPECT_TRUE(std::isnan(blocks.rcond()[1]));
      EXPECT_EQ(blocks.defects(), 2);
      EXPECT_TRUE(blocks.block(0).allFinite());
      EXPECT_EQ(blocks.block(1)(0, 0), T(1));
    }
  }
}

TYPED_TEST(SetupTest, IllConditionedBlocksAreRejected) {
  using T = TypeParam;
  for (const index_t n : {12, 16, 24, 32, 40, 64}) {
    SCOPED_TRACE(n);
    Matrix<T> hilbert(n, n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) hilbert(i, j) = T(real_t<T>(1) / static_cast<real_t<T>>(i + j + 1));
    Blocks<T> blocks(Backend::cuda(), {n});
    blocks.setup([&](index_t) { return dense_entries<T>(hilbert); });
    EXPECT_EQ(blocks.info()[0], n + 1);
    EXPECT_LT(blocks.rcond()[0], 10 * static_cast<double>(n) * epsilon<T>);
    EXPECT_TRUE(blocks.block(0) == Matrix<T>(Matrix<T>::Identity(n, n)));
  }
}

TYPED_TEST(SetupTest, InverseThatOverflowsIsRejected) {
  using T = TypeParam;
  const real_t<T> tiny = std::numeric_limits<real_t<T>>::denorm_min();
  for (const index_t n : {1, 3, 8, 33}) {
    SCOPED_TRACE(n);
    Blocks<T> blocks(Backend::cuda(), {n});
    blocks.setup([&](index_t) { return dense_entries<T>(Matrix<T>(Matrix<T>::Identity(n, n) * T(tiny))); },
                 detail::Fallback::scalar_jacobi);
    EXPECT_EQ(blocks.info()[0], n + 1);
    EXPECT_TRUE(blocks.block(0) == Matrix<T>(Matrix<T>::Identity(n, n)));
  }
}

/// What can stand among good blocks: nothing wrong (0), singular, NaN, rows of different scale, almost nothing but
/// zeros.
template <Scalar T>
Matrix<T> troubled(index_t n, int kind, unsigned seed) {
  using R = real_t<T>;
  Matrix<T> a = random_matrix<T>(n, seed);
  const R large = std::is_same_v<R, float> ? R(1e30) : R(1e250);
  if (kind == 1) a.row(n - 1).setZero();
  if (kind == 2) a(n - 1, n / 2) = T(std::numeric_limits<R>::quiet_NaN());
  if (kind == 3)
    for (index_t i = 0; i < n; ++i) a.row(i) *= i % 2 == 0 ? large : 1 / large;
  if (kind == 4) a *= std::numeric_limits<R>::denorm_min();
  return a;
}

template <Scalar T>
void expect_that_troubled_blocks_leave_the_others_alone(std::initializer_list<index_t> orders) {
  for (const index_t n : orders) {
    SCOPED_TRACE(n);
    const index_t count = is_under_tool() ? 13 : 97;  // each kind is among 13
    const std::vector<index_t> sizes(static_cast<std::size_t>(count), n);
    const auto kind = [](index_t b) { return b * 7 % 13 < 5 ? static_cast<int>(b * 7 % 13) : 0; };
    const auto seed = [](index_t b) { return 300u + static_cast<unsigned>(b); };
    Blocks<T> good(Backend::cuda(), sizes), mixed(Backend::cuda(), sizes);
    good.setup([&](index_t b) { return dense_entries<T>(troubled<T>(n, 0, seed(b))); });
    mixed.setup([&](index_t b) { return dense_entries<T>(troubled<T>(n, kind(b), seed(b))); });
    const auto info = mixed.info();
    for (index_t b = 0; b < count; ++b) {
      SCOPED_TRACE(::testing::Message() << "block " << b << ", kind " << kind(b));
      const auto x = mixed.block(b);
      EXPECT_TRUE(x.allFinite());
      if (kind(b) == 0) {
        EXPECT_TRUE(x == good.block(b));
      }
      if (kind(b) == 0 || kind(b) == 3) {
        EXPECT_EQ(info[static_cast<std::size_t>(b)], 0);
      }
      if (kind(b) == 1) {
        EXPECT_GT(info[static_cast<std::size_t>(b)], 0);
      }
      if (kind(b) == 2) {
        EXPECT_EQ(info[static_cast<std::size_t>(b)], -(n + n / 2 * n));
      }
      if (kind(b) == 3) {
        EXPECT_LE(inverse_error<T>(troubled<T>(n, 3, seed(b)), x), accepted_error);
      }
    }
  }
}

TYPED_TEST(SetupTest, TroubledBlocksLeaveTheOthersAlone) {
  expect_that_troubled_blocks_leave_the_others_alone<TypeParam>({1, 3, 4, 6, 8, 11, 16, 20, 27, 32});
}

TYPED_TEST(SetupTest, TroubledLargeBlocksLeaveTheOthersAlone) {
  expect_that_troubled_blocks_leave_the_others_alone<TypeParam>({40, 64, 70});
}

TYPED_TEST(SetupTest, TroubledBlocksOfOrder100LeaveTheOthersAlone) {
  expect_that_troubled_blocks_leave_the_others_alone<TypeParam>({100});
}

TYPED_TEST(SetupTest, TroubledBlocksOfOrder150LeaveTheOthersAlone) {
  expect_that_troubled_blocks_leave_the_others_alone<TypeParam>({150});
}

template <Scalar T>
void expect_same_bits_in_two_runs(const std::vector<index_t>& sizes) {
  Blocks<T> first(Backend::cuda(), sizes), second(Backend::cuda(), sizes);
  const auto entries = [&](index_t b) {
    return dense_entries<T>(random_matrix<T>(sizes[static_cast<std::size_t>(b)], 40u + static_cast<unsigned>(b)));
  };
  first.setup(entries);
  second.setup(entries);
  for (index_t b = 0; b < static_cast<index_t>(sizes.size()); ++b)
    EXPECT_TRUE(first.block(b) == second.block(b)) << "order " << sizes[static_cast<std::size_t>(b)];
  EXPECT_TRUE(same_bits(first.rcond(), second.rcond()));
  const auto r = random_vector<T>(static_cast<std::size_t>(first.rows()), 8);
  EXPECT_TRUE(same_bits(first.apply(r), second.apply(r)));
}

TYPED_TEST(SetupTest, TwoRunsGiveTheSameBits) {
  expect_same_bits_in_two_runs<TypeParam>(small_path_orders<TypeParam>());
}

TYPED_TEST(SetupTest, LargeTwoRunsGiveTheSameBits) {
  expect_same_bits_in_two_runs<TypeParam>({1, 31, 33, 128, 256, 333, 512});
}

}  // namespace
}  // namespace blockjacobi::test
