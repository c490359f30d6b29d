#include "support/backends.hpp"
#include "support/dense.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class StorageOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(StorageOnBackend, BackendCases, BackendCaseName);

constexpr Storage all_storages[] = {Storage::full, Storage::packed, Storage::fp32,
                                    Storage::bf16, Storage::fp16,   Storage::adaptive};

BlockJacobiOptions with(Storage storage, double accuracy = 0.1) {
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

/// Half of the distance of neighbouring numbers near 1.
template <Scalar T>
double unit_roundoff(Storage storage) {
  switch (storage) {
    case Storage::bf16: return 0x1p-8;
    case Storage::fp16: return 0x1p-11;
    case Storage::fp32: return 0x1p-24;
    default: return std::numeric_limits<real_t<T>>::epsilon();
  }
}

TYPED_TEST(StorageOnBackend, SmallEveryFormatRoundsTheInverse) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = definite_blocks<T>({1, 2, 3, 5, 8, 3, 16, 17, 31, 32, 33, 70}, 41);
  // One exponent a block: scales far beyond the range of half precision.
  const int far = std::is_same_v<R, double> ? 300 : 40;
  a.blocks[3] *= std::ldexp(R(1), far);
  a.blocks[4] *= std::ldexp(R(1), -far);
  const BlockJacobi<T> full(backend, a.matrix(), a.partition());
  for (const Storage storage : {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16}) {
    const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(storage));
    EXPECT_EQ(m.info(), full.info());
    EXPECT_EQ(m.defects(), 0);
    EXPECT_EQ(m.rcond(), full.rcond());
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const Dense<T> x = stored_inverse(m, b), exact = stored_inverse(full, b);
      const double error = static_cast<double>((x - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff());
      // The triangle takes the mean of what differs by rounding.
      EXPECT_LE(error, storage == Storage::packed ? 100 * unit_roundoff<T>(storage) : 1.01 * unit_roundoff<T>(storage))
          << to_string(storage) << ", order " << x.rows();
      if (storage == Storage::packed) {
        EXPECT_EQ(x, Dense<T>(x.adjoint()));
      }
    }
  }
}

TYPED_TEST(StorageOnBackend, SmallBytesFollowTheFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = definite_blocks<T>({8, 8, 8, 8, 32, 32, 40, 5, 5, 5}, 42);
  const CsrMatrix<T> matrix = a.matrix();
  const std::size_t parts = is_complex<T> ? 2 : 1, real = sizeof(real_t<T>);
  const auto bytes = [&](std::size_t width, auto elements) {
    const auto padded = [](std::size_t count) { return (count + 127) / 128 * 128; };
    const auto group = [&](std::size_t count, std::size_t n) { return count * elements(n) * parts * width; };
    return padded(padded(padded(group(3, 5)) + group(4, 8)) + group(2, 32)) + group(1, 40);
  };
  const auto square = [](std::size_t n) { return n * n; };
  const auto triangle = [](std::size_t n) { return n * (n + 1) / 2; };
  const std::pair<Storage, std::size_t> wanted[] = {{Storage::full, bytes(real, square)},
                                                    {Storage::packed, bytes(real, triangle)},
                                                    {Storage::fp32, bytes(4, square)},
                                                    {Storage::bf16, bytes(2, square)},
                                                    {Storage::fp16, bytes(2, square)}};
  for (const auto& [storage, count] : wanted) {
    const BlockJacobi<T> m(backend, matrix, a.partition(), with(storage));
    EXPECT_EQ(m.report().inverse_bytes, count) << to_string(storage);
    EXPECT_EQ(BlockJacobi<T>::storage_bytes(a.partition(), storage), count) << to_string(storage);
    EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), with(storage)))
        << to_string(storage);
  }
  // Well-conditioned blocks: half precision is enough for an accuracy of 0.1.
  const BlockJacobi<T> m(backend, matrix, a.partition(), with(Storage::adaptive));
  EXPECT_EQ(m.report().formats, (std::vector<std::pair<Storage, index_t>>{{Storage::fp16, 10}}));
  EXPECT_EQ(m.report().inverse_bytes, bytes(2, square));
  EXPECT_LE(m.report().inverse_bytes, BlockJacobi<T>::storage_bytes(a.partition(), Storage::adaptive));
  EXPECT_LE(m.bytes(), BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), with(Storage::adaptive)));
}

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
  const Dense<T> a = h * d * h;
  return (a + a.adjoint()) * T(0.5);
}

/// ||I - A X||, infinity norm.
template <Scalar T>
double right_residual(const Dense<T>& a, const Dense<T>& x) {
  using W = typename Wide<T>::type;
  const WideDense<T> product = a.template cast<W>() * x.template cast<W>();
  return static_cast<double>(infinity_norm(WideDense<T>(WideDense<T>::Identity(a.rows(), a.cols()) - product)));
}

TYPED_TEST(StorageOnBackend, SmallAdaptiveTakesTheCheapestFormatThatIsAccurate) {
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

TYPED_TEST(StorageOnBackend, SmallNarrowFormatsCountTheBlocksThatLoseARowOrColumn) {
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
TYPED_TEST(StorageOnBackend, SmallAdaptiveRefreshCountsReplacedBlocksThatLoseARow) {
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

TYPED_TEST(StorageOnBackend, SmallPackedNamesAnImaginaryPartOfTheDiagonal) {
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

TYPED_TEST(StorageOnBackend, SmallPackedNamesWhatIsNotHermitian) {
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
  const Dense<T> inverse = b.blocks[1].inverse();
  EXPECT_LE((stored_inverse(m, 1) - (inverse + inverse.adjoint()) * T(0.5)).norm(),
            40 * std::numeric_limits<real_t<T>>::epsilon());
}

template <Scalar T>
void expect_products_with_vectors(const Backend& backend, const std::vector<index_t>& numbers) {
  const BlockDiagonal<T> a = definite_blocks<T>({1, 2, 3, 4, 4, 7, 8, 11, 16, 23, 32, 33, 75}, 46);
  const CsrMatrix<T> matrix = a.matrix();
  const index_t n = matrix.rows();
  Random random(47);
  for (const Storage storage : all_storages) {
    const BlockJacobi<T> m(backend, matrix, a.partition(), with(storage));
    for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
      Dense<T> x = Dense<T>::Zero(n, n);
      for (index_t b = 0; b < m.partition().blocks(); ++b) {
        const index_t first = m.partition().first_row(b), size = m.partition().block_size(b);
        x.block(first, first, size, size) = stored_inverse(m, b);
      }
      if (op == Op::transpose) x = x.transpose().eval();
      if (op == Op::conjugate_transpose) x = x.adjoint().eval();
      for (const index_t cols : numbers) {
        const bool by_rows = cols % 2 == 0;
        const offset_t ld = (by_rows ? cols : n) + 3;
        std::vector<T> r(static_cast<std::size_t>(ld * (by_rows ? n : cols))), z(r.size());
        for (T& value : r) value = random.scalar<T>();
        for (T& value : z) value = random.scalar<T>();
        const auto at = [&](index_t i, index_t k) {
          return static_cast<std::size_t>(by_rows ? i * ld + k : i + k * ld);
        };
        Dense<T> in(n, cols), out(n, cols);
        for (index_t k = 0; k < cols; ++k)
          for (index_t i = 0; i < n; ++i) {
            in(i, k) = r[at(i, k)];
            out(i, k) = z[at(i, k)];
          }
        const Layout layout = by_rows ? Layout::row_major : Layout::column_major;
        Array<T> R(backend, r), Z(backend, z);
        const MultiVectorView<T> input{R.data(), n, cols, ld, layout, backend.memory_space()};
        const MultiVectorView<T> output{Z.data(), n, cols, ld, layout, backend.memory_space()};
        T alpha(-1.5), beta(0.25);
        if constexpr (is_complex<T>) alpha = T(-1.5, 0.5), beta = T(0.25, -2);
        m.apply(alpha, input, beta, output, op);
        const std::vector<T> found = Z.to_host();
        const Dense<T> wanted = alpha * (x * in) + beta * out;
        const real_t<T> bound = 400 * std::numeric_limits<real_t<T>>::epsilon() * (x.norm() + 1);
        real_t<T> error = 0;
        for (index_t k = 0; k < cols; ++k)
          for (index_t i = 0; i < n; ++i) error = std::max(error, std::abs(found[at(i, k)] - wanted(i, k)));
        EXPECT_LE(error, bound) << to_string(storage) << ", " << cols << " columns, op " << static_cast<int>(op);
        // What lies between the columns or rows stays.
        if (by_rows) {
          EXPECT_EQ(found[static_cast<std::size_t>(cols)], z[static_cast<std::size_t>(cols)]);
        }
        // Without beta, Z is not read.
        std::vector<T> nans(z.size(), T(std::numeric_limits<real_t<T>>::quiet_NaN()));
        Z.copy_from_host(nans.data());
        m.apply(input, output, op);
        const std::vector<T> plain = Z.to_host();
        const Dense<T> product = x * in;
        error = 0;
        for (index_t k = 0; k < cols; ++k)
          for (index_t i = 0; i < n; ++i) {
            const real_t<T> difference = std::abs(plain[at(i, k)] - product(i, k));
            error = difference <= error ? error : difference;
          }
        EXPECT_LE(error, bound) << to_string(storage) << ", " << cols << " columns, op " << static_cast<int>(op);
      }
      std::vector<T> r(static_cast<std::size_t>(n));
      for (T& value : r) value = random.scalar<T>();
      Array<T> R(backend, r), Z(backend, r);
      m.apply(T(2), std::as_const(R).view(), T(-1), Z.view(), op);
      const std::vector<T> found = Z.to_host();
      const Eigen::Map<const Dense<T>> in(r.data(), n, 1), out(found.data(), n, 1);
      EXPECT_LE((T(2) * (x * in) - in - out).norm(), 400 * std::numeric_limits<real_t<T>>::epsilon() * (x.norm() + 1));
    }
  }
}

TYPED_TEST(StorageOnBackend, SmallAppliesEveryFormatToManyVectors) {
  expect_products_with_vectors<typename TypeParam::Scalar>(this->make_backend(), {2, 9});
}

TYPED_TEST(StorageOnBackend, AppliesEveryFormatToAnyNumberOfVectors) {
  expect_products_with_vectors<typename TypeParam::Scalar>(this->make_backend(), {1, 2, 3, 4, 5, 8, 9});
}

TYPED_TEST(StorageOnBackend, SmallRefreshEqualsANewSetUpInEveryFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockDiagonal<T> a = definite_blocks<T>({1, 3, 7, 20, 32, 41}, 48),
                         b = definite_blocks<T>({1, 3, 7, 20, 32, 41}, 49);
  const CsrMatrix<T> first = a.matrix(), second = b.matrix();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  for (const Storage storage : all_storages) {
    BlockJacobi<T> m(backend, first, a.partition(), with(storage));
    const BlockJacobi<T> fresh(backend, second, b.partition(), with(storage));
    m.refresh(values.data(), second.nnz(), backend.memory_space());
    auto analyzed = BlockJacobi<T>::analyze(backend, first.view(), a.partition(), with(storage));
    analyzed.refresh(values.data(), second.nnz(), backend.memory_space());
    for (index_t k = 0; k < m.partition().blocks(); ++k) {
      EXPECT_EQ(m.inverse_block(k), fresh.inverse_block(k)) << to_string(storage) << ", block " << k;
      EXPECT_EQ(analyzed.inverse_block(k), fresh.inverse_block(k)) << to_string(storage) << ", block " << k;
    }
  }
}

/// More blocks than one chunk of the set-up holds.
TYPED_TEST(StorageOnBackend, ManyChunksKeepTheirBlocksApart) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(50);
  BlockDiagonal<T> a;
  for (int k = 0; k < 900; ++k) a.blocks.push_back(random_dense<T>(16 + k % 3, random));
  a.blocks[700].setZero();
  a.blocks[100].setZero();
  BlockJacobiOptions options = with(Storage::fp16);
  options.singular = SingularPolicy::shift;
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), options);
  EXPECT_EQ(m.defects(), 2);
  for (std::size_t k = 0; k < a.blocks.size(); ++k) {
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(k));
    if (k == 100 || k == 700) {
      EXPECT_EQ(x, Dense<T>(Dense<T>::Identity(x.rows(), x.cols())));
    } else {
      EXPECT_LE(right_residual(a.blocks[k], x), 0.25) << "block " << k;
    }
  }
}

TYPED_TEST(StorageOnBackend, SmallMisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockDiagonal<T> a = definite_blocks<T>({2, 3}, 52);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), with(Storage::adaptive, 0.0)); }),
            "BlockJacobi: accuracy is 0, must be positive");
  const auto no_storage = static_cast<Storage>(77);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), with(no_storage)); }),
            "BlockJacobi: storage is 77, no enumerator");
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::storage_bytes(a.partition(), no_storage); }),
            "BlockJacobi::storage_bytes: storage is 77, no enumerator");
  BlockJacobiOptions no_policy;
  no_policy.singular = static_cast<SingularPolicy>(-1);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), no_policy); }),
            "BlockJacobi: singular is -1, no enumerator");
  no_policy.singular = static_cast<SingularPolicy>(77);
  const CsrMatrix<T> matrix = a.matrix();
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), no_policy); }),
            "BlockJacobi: singular is 77, no enumerator");
  CsrView<T> on_device = matrix.view();
  on_device.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::required_bytes(on_device, a.partition()); }),
            "BlockJacobi::required_bytes: the pattern lies on the device, must be on the host");
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(Storage::bf16));
  EXPECT_EQ(message_of([&] { (void)m.inverse(); }), "BlockJacobi::inverse: the storage is bf16, must be full");
  EXPECT_EQ(message_of([&] { (void)m.inverse_block(2); }), "BlockJacobi::inverse_block: block is 2, there are 2");
  Array<T> r(backend, 10), z(backend, 10);
  const MemorySpace space = backend.memory_space();
  const auto view = [&](const Array<T>& v, index_t rows, index_t cols, offset_t ld,
                        Layout layout = Layout::column_major) {
    return MultiVectorView<T>{v.data(), rows, cols, ld, layout, space};
  };
  const auto apply = [&](const MultiVectorView<T>& R, const MultiVectorView<T>& Z) {
    return message_of([&] { m.apply(R, Z); });
  };
  EXPECT_EQ(apply(view(r, 4, 2, 5), view(z, 5, 2, 5)), "BlockJacobi::apply: R: has 4 rows, must have 5");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(z, 5, 2, 4)),
            "BlockJacobi::apply: Z: the leading dimension is 4, must be at least 5");
  EXPECT_EQ(apply(view(r, 5, 2, 1, Layout::row_major), view(z, 5, 2, 5)),
            "BlockJacobi::apply: R: the leading dimension is 1, must be at least 2");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(z, 5, 1, 5)), "BlockJacobi::apply: R has 2 columns, Z 1");
  EXPECT_EQ(apply(view(r, 5, -1, 5), view(z, 5, 1, 5)), "BlockJacobi::apply: R: has -1 columns");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(r, 5, 2, 5)), "BlockJacobi::apply: input and output overlap");
  EXPECT_EQ(apply(view(r, 5, 1, 5, static_cast<Layout>(2)), view(z, 5, 1, 5)),
            "BlockJacobi::apply: R: layout is 2, no enumerator");
  EXPECT_EQ(apply({nullptr, 5, 1, 5, Layout::column_major, space}, view(z, 5, 1, 5)),
            "BlockJacobi::apply: R: null pointer, 5 x 1");
  const MemorySpace other = space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_NE(apply({r.data(), 5, 1, 5, Layout::column_major, other}, view(z, 5, 1, 5)), "no InvalidArgument");
  EXPECT_EQ(apply(view(r, 5, 0, 5), view(z, 5, 0, 5)), "no InvalidArgument");
}

TYPED_TEST(StorageOnBackend, SmallEmptyMatrixInEveryFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Storage storage : all_storages) {
    const BlockJacobi<T> m(backend, CsrMatrix<T>(), BlockPartition(), with(storage));
    EXPECT_EQ(m.report().blocks, 0);
    EXPECT_EQ(m.report().inverse_bytes, 0u);
    EXPECT_TRUE(this->applied(m, backend, {}).empty());
  }
}

}  // namespace
}  // namespace blockjacobi::test
