#include "backends/block_jacobi.hpp"
#include "support/hard_matrices.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);

/// Pivot growth of the blocks of `a`, on the host.
template <Scalar T>
std::vector<real_t<T>> growth_of(const Backend& backend, const CsrMatrix<T>& a, const BlockPartition& blocks,
                                 const BlockJacobiOptions& options = {}) {
  auto m = BlockJacobi<T>::analyze(backend, a.view(), blocks, options);
  const Array<T> values(backend, {a.values().begin(), a.values().end()});
  return m.pivot_growth(values.data(), a.nnz(), backend.memory_space()).to_host();
}

template <Scalar T>
std::vector<real_t<T>> growth_of(const Backend& backend, const BlockDiagonal<T>& a,
                                 const BlockJacobiOptions& options = {}) {
  return growth_of(backend, a.matrix(), a.partition(), options);
}

/// Elements below 1 but for one of 1 in each row and column: equilibration leaves it alone. They are small enough for
/// well-conditioned factors.
template <Scalar T>
Dense<T> equilibrated(index_t n, Random& random) {
  Dense<T> a = uniform_random<T>(n, n, random) * T(static_cast<real_t<T>>(0.8 / std::sqrt(n)));
  const Dense<T> ones = permutation_matrix<T>(n, random);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i)
      if (ones(i, j) != T(0)) a(i, j) = T(1);
  return a;
}

/// The largest element of U, and by how much those of two backends may differ: for each A + E = L U with an |E| of at
/// most n eps / 2 times |L| |U|, three times that in complex arithmetic, and to first order dU is the upper part of
/// L^-1 E U^-1, times U. (N. J. Higham, "Accuracy and stability of numerical algorithms", chapter 9)
struct LargestOfFactor {
  double value, rounding;
};
template <Scalar T>
LargestOfFactor largest_of_upper_factor(Dense<T> a) {
  const auto n = static_cast<index_t>(a.rows());
  std::vector<index_t> pivots(static_cast<std::size_t>(n));
  int info = 0;
  batched::getrf(Backend::host(1),
                 MatrixBatchView<T>::strided(a.data(), n, n, n, offset_t{n} * n, 1, MemorySpace::host), pivots.data(),
                 &info);
  const WideDense<T> l = widened<T>(a.template triangularView<Eigen::UnitLower>());
  const WideDense<T> u = widened<T>(a.template triangularView<Eigen::Upper>());
  const auto sizes = [](const WideDense<T>& m) { return WideReal(m.cwiseAbs()); };
  const WideReal inner = product(product(sizes(inverse_of(l)), product(sizes(l), sizes(u))), sizes(inverse_of(u)));
  const WideReal moved = product(WideReal(inner.triangularView<Eigen::Upper>()), sizes(u));
  const double eps = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  return {static_cast<double>(sizes(u).maxCoeff()),
          (is_complex<T> ? 3 : 1) * n * eps * static_cast<double>(moved.maxCoeff())};
}

TYPED_TEST(BlockJacobiOnBackend, PivotGrowthIsThatOfTheFactors) {
  using T = typename TypeParam::Scalar;
  Random random(71);
  BlockDiagonal<T> a;
  for (const index_t n : {1, 2, 3, 7, 8, 16, 23, 32, 33, 40, 64})
    for (int k = 0; k < 3; ++k) a.blocks.push_back(equilibrated<T>(n, random));
  const auto growth = growth_of(this->make_backend(), a);
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const LargestOfFactor wanted = largest_of_upper_factor(a.blocks[b]);
    EXPECT_NEAR(static_cast<double>(growth[b]), wanted.value, wanted.rounding) << "block " << b;
  }
}

TYPED_TEST(BlockJacobiOnBackend, PivotGrowthOfWilkinsonsMatrix) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  BlockDiagonal<T> a;
  for (const index_t n : {1, 2, 5, 16, 20, 32, 33, 40}) {
    a.blocks.push_back(growth_matrix<T>(n));
    a.blocks.push_back(growth_matrix<T>(n));
    for (index_t i = 0; i < n; ++i) a.blocks.back().row(i) *= T(std::ldexp(R(1), 11 * (i % 5) - 20));
  }
  const auto growth = growth_of(this->make_backend(), a);
  for (std::size_t b = 0; b < a.blocks.size(); ++b)
    EXPECT_NEAR(std::log2(static_cast<double>(growth[b])), static_cast<double>(a.blocks[b].rows() - 1), 1e-4)
        << "block " << b;
}

TYPED_TEST(BlockJacobiOnBackend, PivotGrowthOfZerosSingularBlocksAndNan) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  for (const index_t n : {3, 20, 40}) {
    BlockDiagonal<T> a{{Dense<T>::Zero(n, n), Dense<T>::Ones(n, n), Dense<T>::Identity(n, n) * T(3),
                        Dense<T>::Identity(n, n), Dense<T>::Identity(n, n), growth_matrix<T>(n)}};
    a.blocks[3](1, 2) = T(std::numeric_limits<R>::quiet_NaN());
    a.blocks[4](2, 0) = T(std::numeric_limits<R>::infinity());
    const auto growth = growth_of(this->make_backend(), a);
    for (const std::size_t b : {0u, 1u, 2u}) EXPECT_EQ(growth[b], R(1)) << "block " << b << " of order " << n;
    for (const std::size_t b : {3u, 4u}) EXPECT_TRUE(std::isnan(growth[b])) << "block " << b << " of order " << n;
    EXPECT_NEAR(std::log2(static_cast<double>(growth[5])), n - 1, 1e-4);
  }
}

/// Neither the storage of the inverses nor an l1 sum of nothing matters.
TYPED_TEST(BlockJacobiOnBackend, PivotGrowthUnderEveryStorage) {
  using T = typename TypeParam::Scalar;
  Random random(72);
  BlockDiagonal<T> a;
  for (const index_t n : {4, 30, 36}) a.blocks.push_back(random_dense<T>(n, random));
  const Backend backend = this->make_backend();
  const auto growth = growth_of(backend, a);
  for (const Storage storage : {Storage::packed, Storage::fp16, Storage::adaptive}) {
    BlockJacobiOptions options;
    options.storage = storage;
    EXPECT_EQ(growth_of(backend, a, options), growth);
  }
  BlockJacobiOptions options;
  options.l1 = true;
  EXPECT_EQ(growth_of(backend, a, options), growth);
}

/// More blocks than are factored at once.
TYPED_TEST(BlockJacobiOnBackend, PivotGrowthOfManyBlocks) {
  using T = typename TypeParam::Scalar;
  constexpr index_t n = 64, count = static_cast<index_t>((25u << 20) / (n * n * sizeof(T)));
  const auto tridiagonal = [](index_t blocks) {
    std::vector<Triplet<T>> entries;
    for (index_t i = 0; i < blocks * n; ++i) {
      const bool is_last = i >= (blocks - 1) * n;
      if (i % n > 0) entries.push_back({i, i - 1, T(is_last ? real_t<T>(-1.75) : real_t<T>(-1))});
      entries.push_back({i, i, T(is_last ? real_t<T>(1.5) : real_t<T>(2))});
      if (i % n + 1 < n) entries.push_back({i, i + 1, T(is_last ? real_t<T>(1) : real_t<T>(-1))});
    }
    return CsrMatrix<T>::from_triplets(blocks * n, blocks * n, entries);
  };
  const Backend backend = this->make_backend();
  const auto growth = growth_of(backend, tridiagonal(count), BlockPartition::uniform(count * n, n));
  const auto alone = growth_of(backend, tridiagonal(1), BlockPartition::uniform(n, n));
  for (index_t b = 0; b + 1 < count; ++b) EXPECT_EQ(growth[static_cast<std::size_t>(b)], real_t<T>(1)) << b;
  EXPECT_GT(alone[0], real_t<T>(1));
  EXPECT_EQ(growth.back(), alone[0]);
}

TYPED_TEST(BlockJacobiOnBackend, ReportOfTheMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> blocks{{Dense<T>::Ones(5, 5), growth_matrix<T>(5), Dense<T>::Identity(1, 1)}};
  blocks.blocks[2](0, 0) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  const CsrMatrix<T> a = blocks.matrix();
  BlockJacobi<T> m(backend, a, blocks.partition(), with(SingularPolicy::identity));
  EXPECT_FALSE(m.report().captured);
  EXPECT_FALSE(m.report().max_growth);
  const BlockJacobiReport inside = m.report(a);
  EXPECT_EQ(inside.captured.value(), 1.0);
  EXPECT_EQ(inside.entries_inside, 1.0);
  EXPECT_NEAR(inside.max_growth.value(), 16.0, 1e-4);
  EXPECT_EQ(inside.max_growth_block, 1);
  EXPECT_EQ(inside.defects.size(), m.report().defects.size());

  const CsrMatrix<T> chain = CsrMatrix<T>::from_triplets(
      3, 3,
      std::vector<Triplet<T>>{{0, 0, T(1)}, {0, 1, T(1)}, {1, 1, T(1)}, {1, 2, T(real_t<T>(0.25))}, {2, 2, T(1)}});
  BlockJacobi<T> pair(backend, chain, BlockPartition::from_offsets({0, 2, 3}));
  const Array<offset_t> offsets(backend, {chain.row_offsets().begin(), chain.row_offsets().end()});
  const Array<index_t> columns(backend, {chain.columns().begin(), chain.columns().end()});
  const Array<T> values(backend, {chain.values().begin(), chain.values().end()});
  const CsrView<T> in_backend{
      3, 3, 5, offsets.data(), columns.data(), values.data(), IndexBase::zero, backend.memory_space()};
  for (const BlockJacobiReport& report : {pair.report(chain), pair.report(in_backend)}) {
    EXPECT_DOUBLE_EQ(report.captured.value(), 0.8);
    EXPECT_DOUBLE_EQ(report.entries_inside, 4.0 / 5.0);
    EXPECT_EQ(report.max_growth.value(), 1.0);
    EXPECT_EQ(report.max_growth_block, 0);
  }
  EXPECT_THROW(static_cast<void>(m.report(chain)), InvalidArgument);
  CsrView<T> without = chain.view();
  without.values = nullptr;
  EXPECT_THROW(static_cast<void>(pair.report(without)), InvalidArgument);
}

TYPED_TEST(BlockJacobiOnBackend, TimesOfTheSetup) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(73);
  const BlockDiagonal<T> a{{random_dense<T>(20, random), Dense<T>::Ones(40, 40), random_dense<T>(40, random)}};
  BlockJacobiOptions options = with(SingularPolicy::shift);
  EXPECT_FALSE(BlockJacobi<T>(backend, a.matrix(), a.partition(), options).report().times);
  options.profile = true;
  for (const Storage storage : {Storage::full, Storage::fp16, Storage::adaptive}) {
    options.storage = storage;
    const BlockJacobi<T> m(backend, a.matrix(), a.partition(), options);
    const SetupTimes times = m.report().times.value();
    EXPECT_GT(times.analysis, 0.0);
    EXPECT_GT(times.inversion, 0.0);
    EXPECT_GT(times.repair, 0.0);
    EXPECT_EQ(times.storage > 0.0, storage != Storage::full);
  }
}

TYPED_TEST(BlockJacobiOnBackend, PivotGrowthRefusesOtherValues) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockDiagonal<T> a{{Dense<T>::Identity(2, 2)}};
  BlockJacobi<T> m(backend, a.matrix(), a.partition());
  const Array<T> values(backend, 4);
  const MemorySpace space = backend.memory_space();
  const MemorySpace other = space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_THROW(static_cast<void>(m.pivot_growth(values.data(), 3, space)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(m.pivot_growth(nullptr, 4, space)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(m.pivot_growth(values.data(), 4, other)), InvalidArgument);
  const auto none = growth_of(backend, CsrMatrix<T>(), BlockPartition::uniform(0, 1));
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace blockjacobi::test
