#include "backends/rounding.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <algorithm>

namespace blockjacobi::test {
namespace {

template <class Case>
class BsrOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(BsrOnBackend, BackendCases, BackendCaseName);

/// Rows with some entries anywhere, some blocks with a single one; some rows are empty.
template <Scalar T>
CsrMatrix<T> scattered(index_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t i = 0; i < n; ++i) {
    const index_t count = i % 7 == 3 ? 0 : 1 + random.index(9);
    for (index_t k = 0; k < count; ++k) {
      columns.push_back(k == 2 ? columns.back() : random.index(n));
      values.push_back(random.scalar<T>());
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return CsrMatrix<T>(n, n, offsets, columns, values);
}

TYPED_TEST(BsrOnBackend, ProductOfEveryBlockSize) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t block : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 31, 32})
    for (const index_t block_rows : {1, 2, 13}) {
      SCOPED_TRACE(::testing::Message() << block_rows << " block rows of " << block);
      const index_t n = block * block_rows;
      const CsrMatrix<T> a = scattered<T>(n, 50u + static_cast<unsigned>(block));
      const BsrMatrix<T> bsr(backend, a, block);
      EXPECT_EQ(bsr.rows(), n);
      EXPECT_EQ(bsr.block(), block);
      EXPECT_EQ(bsr.nnz(), a.nnz());
      EXPECT_EQ(bsr.fill(), static_cast<double>(a.nnz()) / static_cast<double>(bsr.blocks() * block * block));
      const std::vector<T> x = random_vector<T>(n, 51);
      expect_product(a, x, this->applied(LinearOperator<T>(bsr), backend, x));
    }
}

TYPED_TEST(BsrOnBackend, ManyBlockRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = scattered<T>(30000, 52);
  const std::vector<T> x = random_vector<T>(30000, 53);
  const BsrMatrix<T> bsr(backend, a, BlockPartition::uniform(30000, 3));
  const LinearOperator<T> A(bsr);
  const std::vector<T> y = this->applied(A, backend, x);
  expect_product(a, x, y);
  EXPECT_EQ(this->applied(A, backend, x), y);
}

TYPED_TEST(BsrOnBackend, RefreshIsSeenByTheOperator) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  CsrMatrix<T> a = scattered<T>(60, 54);
  BsrMatrix<T> bsr(backend, a, 4);
  const std::size_t bytes = bsr.bytes();
  const LinearOperator<T> A(bsr);
  const std::vector<T> x = random_vector<T>(60, 55);
  const std::vector<T> values = random_vector<T>(static_cast<index_t>(a.nnz()), 56);
  std::copy(values.begin(), values.end(), a.values().begin());
  const Array<T> on_backend(backend, values);
  bsr.refresh(on_backend.data(), a.nnz(), backend.memory_space());
  expect_product(a, x, this->applied(A, backend, x));
  EXPECT_EQ(bsr.bytes(), bytes);
}

TYPED_TEST(BsrOnBackend, MatrixOnTheBackendWithAnyOffsetsAndBase) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const std::vector<index_t> columns{2, 1, 4, 3, 1};
  const std::vector<T> values{T(1), T(2), T(3), T(5), T(7)};
  const Array<std::int32_t> offsets(backend, std::vector<std::int32_t>{1, 3, 3, 5, 6});
  const Array<index_t> device_columns(backend, columns);
  const Array<T> device_values(backend, values);
  const CsrView<T, std::int32_t> view{
      4, 4, 5, offsets.data(), device_columns.data(), device_values.data(), IndexBase::one, backend.memory_space()};
  const std::vector<T> expected{T(2 + 1 * 10), T(0), T(3 * 1000 + 5 * 100), T(7)};
  EXPECT_EQ(this->applied(LinearOperator<T>(BsrMatrix<T>(backend, view, 2)), backend, {T(1), T(10), T(100), T(1000)}),
            expected);
}

TYPED_TEST(BsrOnBackend, RefreshSumsDuplicatesAsConstructionDoes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // Row 0 holds (0, 1) three times, apart from each other, row 3 holds (3, 3) twice.
  const Array<std::int32_t> offsets(backend, std::vector<std::int32_t>{0, 4, 4, 5, 7});
  const Array<index_t> columns(backend, std::vector<index_t>{1, 0, 1, 1, 2, 3, 3});
  const auto product_of = [&](const std::vector<T>& values, bool by_refresh) {
    const Array<T> given(backend, by_refresh ? std::vector<T>(7, T(1)) : values), later(backend, values);
    BsrMatrix<T> bsr(backend,
                     CsrView<T, std::int32_t>{4, 4, 7, offsets.data(), columns.data(), given.data(), IndexBase::zero,
                                              backend.memory_space()},
                     2);
    if (by_refresh) bsr.refresh(later.data(), 7, backend.memory_space());
    return this->applied(LinearOperator<T>(bsr), backend, {T(1), T(10), T(100), T(1000)});
  };
  const std::vector<T> values{T(1), T(2), T(4), T(8), T(16), T(32), T(64)};
  const std::vector<T> expected{T(2 + 13 * 10), T(0), T(1600), T(96000)};
  EXPECT_EQ(product_of(values, false), expected);
  EXPECT_EQ(product_of(values, true), expected);
}

TYPED_TEST(BsrOnBackend, SolvesAsTheCsrOperatorDoes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(24);
  const BlockPartition partition = BlockPartition::uniform(a.rows(), 6);
  const BlockJacobi<T> m(backend, a, partition);
  const BsrMatrix<T> bsr(backend, a, partition);
  const std::vector<T> b = random_vector<T>(a.rows(), 57);
  std::vector<T> x(b.size()), y(b.size());
  const auto options = options_for<T>();
  const SolveReport by_csr = cg(LinearOperator<T>(backend, a), m, b, x, options);
  const SolveReport by_bsr = cg(LinearOperator<T>(bsr), m, b, y, options);
  expect_solved(by_bsr, a, b, y, options.rtol);
  EXPECT_NEAR(by_bsr.iterations, by_csr.iterations, 2);
}

TYPED_TEST(BsrOnBackend, EmptyMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BsrMatrix<T> none(backend, CsrMatrix<T>(), BlockPartition());
  EXPECT_EQ(none.blocks(), 0);
  EXPECT_EQ(none.fill(), 1.0);
  EXPECT_TRUE(this->applied(LinearOperator<T>(none), backend, {}).empty());
  const BsrMatrix<T> zero(backend, CsrMatrix<T>(4, 4, {0, 0, 0, 0, 0}, {}, {}), 2);
  EXPECT_EQ(this->applied(LinearOperator<T>(zero), backend, std::vector<T>(4, T(3))), std::vector<T>(4));
}

TYPED_TEST(BsrOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = scattered<T>(12, 58);
  EXPECT_EQ(message_of([&] { BsrMatrix<T>(backend, a, 0); }), "BsrMatrix: block is 0, must be in 1..32");
  EXPECT_EQ(message_of([&] { BsrMatrix<T>(backend, a, 33); }), "BsrMatrix: block is 33, must be in 1..32");
  EXPECT_EQ(message_of([&] { BsrMatrix<T>(backend, a, 5); }), "BsrMatrix: blocks of 5 do not divide 12 rows");
  EXPECT_EQ(message_of([&] { BsrMatrix<T>(backend, a, BlockPartition::uniform(12, 5)); }),
            "BsrMatrix: block 2 of the partition has 2 rows, block 0 has 5");
  EXPECT_EQ(message_of([&] { BsrMatrix<T>(backend, a, BlockPartition::uniform(10, 5)); }),
            "BsrMatrix: the partition has 10 rows, the matrix 12");
  EXPECT_EQ(message_of([&] {
              BsrMatrix<T>(backend, CsrMatrix<T>(2, 3, {0, 0, 0}, {}, {}), 1);
            }),
            "BsrMatrix: the matrix is 2 x 3, must be square");
  CsrView<T> broken = a.view();
  broken.values = nullptr;
  EXPECT_NE(message_of([&] { BsrMatrix<T>(backend, broken, 2); }).find("entries but no values"), std::string::npos);
  broken = a.view();
  broken.nnz = -1;
  EXPECT_NE(message_of([&] { BsrMatrix<T>(backend, broken, 2); }).find("none may be negative"), std::string::npos);
  if (backend.memory_space() == MemorySpace::host) {
    broken = a.view();
    broken.space = MemorySpace::device;
    EXPECT_NE(message_of([&] { BsrMatrix<T>(backend, broken, 2); }).find("lies on the device"), std::string::npos);
  }
  BsrMatrix<T> bsr(backend, a, 3);
  const Array<T> values(backend, std::vector<T>(static_cast<std::size_t>(a.nnz())));
  const MemorySpace here = backend.memory_space();
  const MemorySpace there = here == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_EQ(message_of([&] { bsr.refresh(values.data(), 3, here); }),
            "BsrMatrix::refresh: 3 values, must be " + std::to_string(a.nnz()));
  EXPECT_NE(message_of([&] { bsr.refresh(nullptr, a.nnz(), here); }).find("null pointer"), std::string::npos);
  EXPECT_NE(message_of([&] { bsr.refresh(values.data(), a.nnz(), there); }).find("the values lie on the"),
            std::string::npos);
}

}  // namespace
}  // namespace blockjacobi::test
