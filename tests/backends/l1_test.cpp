#include "support/backends.hpp"
#include "support/dense.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class L1OnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(L1OnBackend, BackendCases, BackendCaseName);

/// From rows with ascending columns, which CUDA analyses itself, or descending ones.
template <Scalar T>
void expect_row_sums_outside_the_blocks(const Backend& backend, bool ascending) {
  SCOPED_TRACE(ascending);
  using R = real_t<T>;
  Random random(51);
  const index_t n = 90;
  Dense<T> a = Dense<T>::Zero(n, n);
  for (index_t i = 0; i < n; ++i) {
    for (int k = 0; k < 12; ++k) a(i, random.index(n)) = random.scalar<T>();
    a(i, i) = T(i % 7 == 0 ? -6 : 9);
  }
  a(5, 5) = a(20, 20) = T(0);  // no entry: the sum alone, in a block of one row too
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t i = 0; i < n; ++i) {
    for (index_t k = 0; k < n; ++k) {
      const index_t j = ascending ? k : n - 1 - k;
      if (a(i, j) == T(0)) continue;
      columns.push_back(j);
      values.push_back(a(i, j));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const CsrView<T, offset_t> matrix{n, n, offsets.back(), offsets.data(), columns.data(), values.data()};
  const BlockPartition partition = BlockPartition::from_offsets({0, 5, 6, 13, 53, n});
  BlockJacobiOptions options;
  options.l1 = true;
  BlockJacobi<T> m(backend, matrix, partition, options);
  const auto expect = [&](const Dense<T>& whole) {
    for (index_t b = 0; b < partition.blocks(); ++b) {
      const index_t first = partition.first_row(b), size = partition.block_size(b);
      Dense<T> block = whole.block(first, first, size, size);
      for (index_t i = 0; i < size; ++i) {
        const R outside = whole.row(first + i).cwiseAbs().sum() - block.row(i).cwiseAbs().sum();
        block(i, i) += std::real(whole(first + i, first + i)) < 0 ? T(-outside) : T(outside);
      }
      EXPECT_LE(inverse_error<T>(block, stored_inverse(m, b)), 20.0) << "block " << b;
    }
  };
  expect(a);
  EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(backend, matrix, partition, options));
  const BlockJacobi<T> without(backend, matrix, partition, {SingularPolicy::identity});
  EXPECT_DOUBLE_EQ(m.report().entries_inside, without.report().entries_inside);
  for (T& value : values) value *= T(2);
  const Array<T> doubled(backend, values);
  m.refresh(doubled.data(), matrix.nnz, backend.memory_space());
  expect(Dense<T>(a * T(2)));
}

TYPED_TEST(L1OnBackend, AddsTheRowSumsOutsideTheBlocks) {
  for (const bool ascending : {true, false})
    expect_row_sums_outside_the_blocks<typename TypeParam::Scalar>(this->make_backend(), ascending);
}

/// Blocks that leave out most of what couples the rows: iterations with their inverses diverge, with l1 they converge.
TYPED_TEST(L1OnBackend, SmoothsWithoutDamping) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const index_t n = 12;
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) {
      T value(real_t<T>(i == j ? 1 : 0.5));  // eigenvalues 1 / 2 and 13 / 2
      if constexpr (is_complex<T>) value *= std::polar(real_t<T>(1), real_t<T>(i - j));
      entries.push_back({i, j, value});
    }
  const auto matrix = CsrMatrix<T>::from_triplets(n, n, entries);
  const LinearOperator<T> A(backend, matrix);
  const std::vector<T> b{T(1), T(2), T(-1), T(0), T(3), T(1), T(1), T(-2), T(1), T(4), T(0), T(1)};
  SolveOptions options;
  options.rtol = 1e-4;
  options.max_iterations = 200;
  for (const index_t size : {1, 3, 5}) {
    const BlockPartition blocks = BlockPartition::uniform(n, size);
    for (const bool l1 : {false, true}) {
      const BlockJacobi<T> M(backend, matrix, blocks, {.l1 = l1});
      std::vector<T> x(b.size());
      EXPECT_EQ(richardson(A, M, b, x, options).converged(), l1) << "blocks of " << size;
    }
  }
}

/// The diagonal element that info() names took its NaN from an entry outside of the block.
TYPED_TEST(L1OnBackend, NamesTheEntryThatIsNotFinite) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const T nan(std::numeric_limits<R>::quiet_NaN()), infinity(std::numeric_limits<R>::infinity()),
      largest(std::numeric_limits<R>::max());
  // Blocks {0, 1}, {2, 3}, {4, 5}, {6, 7}; the sum of row 6 overflows.
  const std::vector<std::int32_t> offsets{0, 1, 5, 7, 8, 9, 10, 13, 14};
  const std::vector<index_t> columns{0, 1, 0, 7, 3, 2, 3, 3, 4, 5, 6, 0, 1, 7};
  const std::vector<T> values{T(1), T(1), T(1), -infinity, nan,     T(1),    nan,
                              T(1), T(1), T(1), T(1),      largest, largest, T(1)};
  const CsrView<T, std::int32_t> matrix{8, 8, 14, offsets.data(), columns.data(), values.data()};
  BlockJacobiOptions options;
  options.l1 = true;
  const BlockPartition partition = BlockPartition::uniform(8, 2);
  EXPECT_THROW(
      try { BlockJacobi<T>(backend, matrix, partition, options); } catch (const SingularBlock& e) {
        EXPECT_STREQ(
            e.what(),
            "BlockJacobi: block 0 (rows 0..1): element (1, 7) of the matrix is NaN or Inf (and 2 more blocks)");
        throw;
      },
      SingularBlock);
  options.singular = SingularPolicy::identity;
  const BlockJacobi<T> m(backend, matrix, partition, options);
  EXPECT_EQ(m.info(), (std::vector<int>{-4, -3, 0, -1}));
  const BlockJacobiReport report = m.report();
  ASSERT_EQ(report.defects.size(), 3u);
  EXPECT_EQ(report.defects[0].outside, 7);
  EXPECT_EQ(report.defects[1].outside, -1);
  EXPECT_EQ(report.defects[2].outside, -1) << "no entry is NaN or Inf, their sum is";
  EXPECT_EQ(describe(report.defects[1]), "block 1 (rows 2..3): element (2, 3) of the matrix is NaN or Inf");
}

}  // namespace
}  // namespace blockjacobi::test
