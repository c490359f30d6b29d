#include "backends/storage.hpp"
#include "support/messages.hpp"

// Formats that a block does not suit: adaptive storage avoids them, the others count them.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(StorageOnBackend, BackendCases, BackendCaseName);

/// A Hermitian block of a given condition: H D H with a reflection H.
template <Scalar T>
Dense<T> conditioned(index_t n, double condition, Random& random) {
  Dense<T> v(n, 1);
  for (index_t i = 0; i < n; ++i) v(i, 0) = random.scalar<T>();
  v /= v.norm();
  const Dense<T> h = Dense<T>::Identity(n, n) - T(2) * v * v.adjoint();
  Dense<T> d = Dense<T>::Zero(n, n);
  for (index_t i = 0; i < n; ++i)
    d(i, i) = T(static_cast<real_t<T>>(std::pow(condition, -static_cast<double>(i) / std::max(n - 1, 1))));
  const Dense<T> a = product(h, product(d, h));
  return (a + a.adjoint()) * T(0.5);
}

TYPED_TEST(StorageOnBackend, AdaptiveTakesTheCheapestFormatThatIsAccurate) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr bool wide = std::is_same_v<real_t<T>, double>;
  Random random(43);
  BlockDiagonal<T> a;
  for (const index_t n : {2, 8, 13, 32, 36})
    for (const double condition : {1.0, 30.0, 1e3, 1e4, wide ? 1e7 : 1e2, wide ? 1e10 : 1e2})
      a.blocks.push_back(conditioned<T>(n, condition, random));
  a.blocks.push_back(Dense<T>::Ones(4, 4));  // singular: remains as it is
  // fp16 has no room for rows of such different scales, bf16 has.
  Dense<T> graded = Dense<T>::Identity(4, 4);
  graded(3, 3) = T(std::ldexp(real_t<T>(1), 60));
  a.blocks.push_back(graded);
  BlockJacobiOptions options = with(Storage::adaptive, 0.05);
  options.singular = SingularPolicy::identity;
  BlockJacobiOptions plain;
  plain.singular = SingularPolicy::identity;
  const CsrMatrix<T> matrix = a.matrix();
  BlockJacobi<T> m(backend, matrix, a.partition(), options);
  const BlockJacobi<T> full(backend, matrix, a.partition(), plain);
  const BlockJacobiReport report = m.report();
  EXPECT_GE(report.formats.size(), 3u);
  EXPECT_EQ(report.unsuited_blocks, 0);
  index_t counted = 0;
  for (const auto& [format, count] : report.formats) counted += count;
  EXPECT_EQ(counted, report.blocks);
  EXPECT_LT(report.inverse_bytes, full.report().inverse_bytes);
  index_t narrow = 0;
  for (std::size_t k = 0; k + 2 < a.blocks.size(); ++k) {
    const auto b = static_cast<index_t>(k);
    const Dense<T> x = stored_inverse(m, b), exact = stored_inverse(full, b);
    if (x == exact) continue;
    ++narrow;
    EXPECT_LE(right_residual(a.blocks[k], x), 0.0505) << "block " << b;
  }
  EXPECT_GT(narrow, 10);
  EXPECT_EQ(stored_inverse(m, report.blocks - 2), Dense<T>(Dense<T>::Identity(4, 4)));
  EXPECT_EQ(stored_inverse(m, report.blocks - 1), stored_inverse(full, report.blocks - 1));
  EXPECT_NE(to_text(report).find("storage adaptive: "), std::string::npos);

  // New values keep the formats; blocks that they do not suit are counted until a rebuild.
  BlockDiagonal<T> b = a;
  std::swap(b.blocks[0], b.blocks[3]);
  const CsrMatrix<T> second = b.matrix();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  m.refresh(values.data(), second.nnz(), backend.memory_space());
  const BlockJacobiReport refreshed = m.report();
  EXPECT_EQ(refreshed.formats, report.formats);
  EXPECT_GT(refreshed.unsuited_blocks, 0);
  EXPECT_EQ(refreshed.first_unsuited, 0);
  EXPECT_NE(to_text(refreshed).find("beyond the accuracy (first: block "), std::string::npos);
  m.rebuild(values.data(), second.nnz(), backend.memory_space());
  const BlockJacobi<T> fresh(backend, second, b.partition(), options);
  EXPECT_EQ(m.report().unsuited_blocks, 0);
  EXPECT_EQ(m.report().formats, fresh.report().formats);
  EXPECT_EQ(m.bytes(), fresh.bytes());
  for (index_t k = 0; k < m.partition().blocks(); ++k) EXPECT_EQ(m.inverse_block(k), fresh.inverse_block(k));
}

/// Whether a row or column that has non-zeros is stored as zeros alone.
template <Scalar T>
bool loses_a_line(const Dense<T>& exact, const Dense<T>& stored) {
  const auto is_zero = [](const auto& line) { return (line.array() == T(0)).all(); };
  for (index_t k = 0; k < exact.rows(); ++k)
    if ((is_zero(stored.row(k)) && !is_zero(exact.row(k))) || (is_zero(stored.col(k)) && !is_zero(exact.col(k))))
      return true;
  return false;
}

/// Regular blocks, of which some have a row or column in units far from those of the others.
template <Scalar T>
BlockDiagonal<T> blocks_of_two_units(int exponent) {
  const T unit(std::ldexp(real_t<T>(1), exponent));
  Random random(53);
  BlockDiagonal<T> a{{Dense<T>::Identity(3, 3), Dense<T>::Identity(3, 3)}};
  a.blocks[1](1, 1) = unit;
  for (const index_t n : {5, 17, 32, 40}) {
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks[a.blocks.size() - 2].row(n - 1) *= unit;
    a.blocks.back().col(n / 2).setConstant(unit);  // not by scaling: rows are equilibrated first
  }
  return a;
}

TYPED_TEST(StorageOnBackend, NarrowFormatsCountTheBlocksThatLoseARowOrColumn) {
  using T = typename TypeParam::Scalar;
  constexpr bool is_double = std::is_same_v<real_t<T>, double>;
  const Backend backend = this->make_backend();
  for (const int exponent : {0, 50, is_double ? 300 : 45}) {
    const BlockDiagonal<T> a = blocks_of_two_units<T>(exponent), plain = blocks_of_two_units<T>(0);
    const CsrMatrix<T> matrix = a.matrix(), other = plain.matrix();
    const BlockJacobi<T> full(backend, matrix, a.partition());
    ASSERT_EQ(full.defects(), 0);
    for (const Storage storage : {Storage::fp32, Storage::bf16, Storage::fp16}) {
      SCOPED_TRACE(::testing::Message() << to_string(storage) << ", unit 2^" << exponent);
      BlockJacobi<T> m(backend, matrix, a.partition(), with(storage));
      std::vector<index_t> lost;
      for (index_t b = 0; b < m.partition().blocks(); ++b)
        if (loses_a_line(stored_inverse(full, b), stored_inverse(m, b))) lost.push_back(b);
      const bool loses = exponent == 300 || (exponent > 0 && storage == Storage::fp16);
      EXPECT_EQ(lost.size(), loses ? 9u : 0u);
      const BlockJacobiReport report = m.report();
      EXPECT_EQ(report.unsuited_blocks, static_cast<index_t>(lost.size()));
      EXPECT_EQ(report.first_unsuited, loses ? 1 : -1);
      const char* const text = "; 9 blocks with a row or column stored as zeros (first: block 1)";
      EXPECT_EQ(to_text(report).find(text) != std::string::npos, loses);

      const Array<T> good(backend, {other.values().begin(), other.values().end()});
      m.refresh(good.data(), other.nnz(), backend.memory_space());
      EXPECT_EQ(m.report().unsuited_blocks, 0);
      const Array<T> bad(backend, {matrix.values().begin(), matrix.values().end()});
      m.refresh(bad.data(), matrix.nnz(), backend.memory_space());
      EXPECT_EQ(m.report().unsuited_blocks, report.unsuited_blocks);
      EXPECT_EQ(m.report().first_unsuited, report.first_unsuited);
    }
  }
}

/// What is stored instead of a singular block has the narrow format of the block that was there.
TYPED_TEST(StorageOnBackend, AdaptiveRefreshCountsReplacedBlocksThatLoseARow) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a{{Dense<T>::Identity(3, 3), Dense<T>::Identity(3, 3), Dense<T>::Identity(40, 40)}}, b = a;
  for (const std::size_t k : {1u, 2u}) b.blocks[k](2, 2) = T(0);
  b.blocks[1](1, 1) = T(3);
  const CsrMatrix<T> mild = b.matrix();
  b.blocks[1](1, 1) = b.blocks[2](7, 7) = T(std::ldexp(real_t<T>(1), 50));
  const CsrMatrix<T> far = b.matrix();
  BlockJacobiOptions options = with(Storage::adaptive);
  options.singular = SingularPolicy::scalar_jacobi;
  BlockJacobi<T> m(backend, a.matrix(), a.partition(), options);
  ASSERT_EQ(m.report().formats, (std::vector<std::pair<Storage, index_t>>{{Storage::fp16, 3}}));
  const auto refresh = [&](const CsrMatrix<T>& matrix) {
    const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
    m.refresh(values.data(), matrix.nnz(), backend.memory_space());
  };
  refresh(mild);
  EXPECT_EQ(m.defects(), 2);
  EXPECT_EQ(m.report().unsuited_blocks, 0);
  refresh(far);
  EXPECT_EQ(m.report().unsuited_blocks, 2);
  EXPECT_EQ(m.report().first_unsuited, 1);
  const Array<T> values(backend, {far.values().begin(), far.values().end()});
  m.rebuild(values.data(), far.nnz(), backend.memory_space());
  EXPECT_EQ(m.report().unsuited_blocks, 0);
  EXPECT_EQ(stored_inverse(m, 1)(1, 1), T(std::ldexp(real_t<T>(1), -50)));
}

TYPED_TEST(StorageOnBackend, PackedNamesAnImaginaryPartOfTheDiagonal) {
  using T = typename TypeParam::Scalar;
  if constexpr (is_complex<T>) {
    BlockDiagonal<T> a{{Dense<T>::Identity(2, 2), Dense<T>::Identity(3, 3)}};
    a.blocks[1](1, 1) = T(8, 1);
    EXPECT_EQ(
        message_of([&] { BlockJacobi<T>(this->make_backend(), a.matrix(), a.partition(), with(Storage::packed)); }),
        "BlockJacobi: packed storage needs Hermitian blocks; block 1 (rows 2..4): element (3, 3) is (8, 1), has "
        "an imaginary part");
  }
}

TYPED_TEST(StorageOnBackend, PackedNamesWhatIsNotHermitian) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = definite_blocks<T>({3, 4, 4}, 45), b = a;
  b.blocks[1] = Dense<T>::Identity(4, 4) * T(8);
  b.blocks[1](2, 1) = T(1.5);
  b.blocks[1](1, 2) = T(-2);
  b.blocks[2](3, 0) += T(1);
  const std::string numbers =
      is_complex<T> ? "element (5, 4) is (1.5, 0), (4, 5) is (-2, 0)" : "element (5, 4) is 1.5, (4, 5) is -2";
  EXPECT_EQ(
      message_of([&] { BlockJacobi<T>(backend, b.matrix(), b.partition(), with(Storage::packed)); }),
      "BlockJacobi: packed storage needs Hermitian blocks; block 1 (rows 3..6): " + numbers + " (and 1 more block)");
  const CsrMatrix<T> second = b.matrix();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(Storage::packed));
  m.refresh(values.data(), second.nnz(), backend.memory_space());
  EXPECT_EQ(m.report().unsuited_blocks, 2);
  EXPECT_EQ(m.report().first_unsuited, 1);
  EXPECT_NE(to_text(m.report()).find("2 blocks not Hermitian (first: block 1)"), std::string::npos);
  const WideDense<T> inverse = inverse_of(widened(b.blocks[1]));
  const WideDense<T> hermitian = (inverse + inverse.adjoint()) * typename Wide<T>::type(0.5L);
  EXPECT_LE((widened(stored_inverse(m, 1)) - hermitian).norm(), 40 * std::numeric_limits<real_t<T>>::epsilon());
}

}  // namespace
}  // namespace blockjacobi::test
