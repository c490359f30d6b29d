#include "backends/block_jacobi.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);

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
TYPED_TEST(BlockJacobiOnBackend, TakesComplexValuesAtAddressesOfRealNumbers) {
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
      const BlockJacobi<T> wanted(backend, matrix, partition, with(SingularPolicy::identity));
      BlockJacobi<T> m = BlockJacobi<T>::analyze(backend, matrix.view(), partition, with(SingularPolicy::identity));
      m.refresh(reinterpret_cast<const T*>(values.data() + 1), matrix.nnz(), backend.memory_space());
      for (index_t b = 0; b < partition.blocks(); ++b)
        EXPECT_TRUE(same_bits(m.inverse_block(b), wanted.inverse_block(b))) << "block " << b;
    }
  }
}

TYPED_TEST(BlockJacobiOnBackend, AnalysisAndRefreshEqualOneConstruction) {
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

TYPED_TEST(BlockJacobiOnBackend, RefreshWithASingularBlockEndsTheNextSolve) {
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
  for (const auto& [solve, name] : {std::pair{&cg<T>, "cg"}, std::pair{&fcg<T>, "fcg"}, std::pair{&minres<T>, "minres"},
                                    std::pair{&bicgstab<T>, "bicgstab"}, std::pair{&gmres<T>, "gmres"},
                                    std::pair{&fgmres<T>, "fgmres"}, std::pair{&richardson<T>, "richardson"}}) {
    const SolveReport report = solve(A, m, b, x, SolveOptions{});
    EXPECT_EQ(report.reason, StopReason::singular_block) << name;
    EXPECT_EQ(report.iterations, 0) << name;
    EXPECT_EQ(x, std::vector<T>(5, T(0))) << name;
  }
}

/// The reason names the block, though the residual is NaN as well.
TYPED_TEST(BlockJacobiOnBackend, RefreshWithNanEndsTheNextSolve) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> good{{Dense<T>::Ones(2, 2), Dense<T>::Identity(3, 3)}};
  good.blocks[0](0, 0) = T(2);
  CsrMatrix<T> matrix = good.matrix();
  BlockJacobi<T> m(backend, matrix, good.partition());
  matrix.values()[0] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  m.refresh(values.data(), matrix.nnz(), backend.memory_space());

  const LinearOperator<T> A(backend, matrix);
  const std::vector<T> b(5, T(1));
  std::vector<T> x(5, T(0));
  for (const auto& [solve, name] :
       {std::pair{&cg<T>, "cg"}, std::pair{&minres<T>, "minres"}, std::pair{&bicgstab<T>, "bicgstab"},
        std::pair{&gmres<T>, "gmres"}, std::pair{&richardson<T>, "richardson"}}) {
    const SolveReport report = solve(A, m, b, x, SolveOptions{});
    EXPECT_EQ(report.reason, StopReason::singular_block) << name;
    EXPECT_EQ(x, std::vector<T>(5, T(0))) << name;
  }
}

TYPED_TEST(BlockJacobiOnBackend, RefreshNoticesAnotherPattern) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const std::vector<std::int32_t> offsets{0, 2, 4, 5};
  const std::vector<index_t> columns{0, 1, 0, 1, 2};
  const std::vector<T> values{T(2), T(1), T(0), T(2), T(4)};
  const CsrView<T, std::int32_t> matrix{3, 3, 5, offsets.data(), columns.data(), values.data()};
  BlockJacobi<T> m(backend, matrix, BlockPartition::from_offsets({0, 2, 3}));
  const auto refresh = [&](std::vector<offset_t> rows, std::vector<index_t> cols, index_t base) {
    for (offset_t& offset : rows) offset += base;
    for (index_t& column : cols) column += base;
    const Array<offset_t> o(backend, rows);
    const Array<index_t> c(backend, cols);
    const Array<T> v(backend, std::vector<T>{T(8), T(0), T(0), T(8), T(8)});
    m.refresh(CsrView<T>{3, 3, 5, o.data(), c.data(), v.data(), static_cast<IndexBase>(base), backend.memory_space()});
  };
  refresh({0, 2, 4, 5}, {0, 1, 0, 1, 2}, 1);  // the same but for the base and the width of the offsets
  EXPECT_EQ(m.inverse_block(1)[0], T(0.125));
  const std::string other =
      "BlockJacobi::refresh: the pattern is not the one given at construction, though it has the "
      "same number of rows and entries";
  EXPECT_EQ(message_of([&] { refresh({0, 2, 4, 5}, {0, 1, 1, 0, 2}, 0); }), other);
  EXPECT_EQ(message_of([&] { refresh({0, 1, 4, 5}, {0, 1, 0, 1, 2}, 0); }), other);
  CsrView<T, std::int32_t> wrong = matrix;
  wrong.rows = wrong.cols = 2;
  EXPECT_EQ(message_of([&] { m.refresh(wrong); }), "BlockJacobi::refresh: the matrix is 2 x 2, the pattern 3 x 3");

  BlockJacobiOptions unchecked;
  unchecked.check_pattern = false;
  m = BlockJacobi<T>(backend, matrix, BlockPartition::from_offsets({0, 2, 3}), unchecked);
  EXPECT_EQ(message_of([&] {
              refresh({0, 2, 4, 5}, {0, 1, 0, 1, 2}, 0);
            }),
            "BlockJacobi::refresh: check_pattern was off, there is nothing to compare the pattern with");
}

}  // namespace
}  // namespace blockjacobi::test
