#include "backends/block_jacobi.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);
TYPED_TEST_SUITE(BlockJacobiLargeBatch, BackendCases, BackendCaseName);

TYPED_TEST(BlockJacobiOnBackend, TakesUnsortedRowsDuplicatesAndBothBases) {
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
  EXPECT_DOUBLE_EQ(m.report().entries_inside, 6.0 / 8.0);
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

TYPED_TEST(BlockJacobiOnBackend, AppliesEveryOrderAndItsTransposes) {
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

/// What a device may have tables of its own for.
TYPED_TEST(BlockJacobiOnBackend, AppliesOrdersInRandomSequence) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(16);
  BlockDiagonal<T> a, b;
  for (const index_t n : {32, 17, 31, 5, 29, 32, 1, 24, 17, 30, 29, 5, 31, 2, 32, 24, 30, 1, 2, 31}) {
    a.blocks.push_back(random_dense<T>(n, random));
    b.blocks.push_back(random_dense<T>(n, random));
  }
  const CsrMatrix<T> first = a.matrix(), second = b.matrix();
  BlockJacobi<T> m(backend, first, a.partition());
  EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(backend, first.view(), a.partition(), BlockJacobiOptions{}));
  EXPECT_LE(m.bytes(), BlockJacobi<T>::required_bytes(first.view(), a.partition()) + 32 * a.blocks.size());

  std::vector<T> r(static_cast<std::size_t>(m.rows()));
  for (T& value : r) value = random.scalar<T>();
  const auto expect_products = [&] {
    const std::vector<T> z = this->applied(m, backend, r);
    EXPECT_TRUE(same_bits(z, this->applied(m, backend, r)));
    Array<T> scaled(backend, r);
    const Array<T> input(backend, r);
    m.apply(T(-2), input.view(), T(0.5), scaled.view());
    const std::vector<T> y = scaled.to_host();
    for (index_t block = 0; block < m.partition().blocks(); ++block) {
      const index_t row = m.partition().first_row(block), n = m.partition().block_size(block);
      const Dense<T> x = stored_inverse(m, block);
      const Eigen::Map<const Dense<T>> in(r.data() + row, n, 1), out(z.data() + row, n, 1), other(y.data() + row, n, 1);
      const auto bound =
          8 * static_cast<real_t<T>>(n) * std::numeric_limits<real_t<T>>::epsilon() * (x.norm() + 1) * in.norm();
      EXPECT_LE((x * in - out).norm(), bound) << "block " << block;
      EXPECT_LE((T(-2) * (x * in) + T(0.5) * in - other).norm(), bound) << "block " << block;
    }
  };
  expect_products();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  m.refresh(values.data(), second.nnz(), backend.memory_space());
  expect_products();
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

TYPED_TEST(BlockJacobiOnBackend, EmptyMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockJacobi<T> m(backend, CsrMatrix<T>(), BlockPartition());
  EXPECT_EQ(m.report().blocks, 0);
  EXPECT_TRUE(this->applied(m, backend, {}).empty());
}

TYPED_TEST(BlockJacobiOnBackend, StorageIsPackedAndKnownBefore) {
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
