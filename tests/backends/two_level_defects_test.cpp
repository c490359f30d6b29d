#include "backends/systems.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class TwoLevelDefectsOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(TwoLevelDefectsOnBackend, BackendCases, BackendCaseName);

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// NaN beside the blocks is in the coarse matrix alone.
TYPED_TEST(TwoLevelDefectsOnBackend, NonFiniteCoarseMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  CsrMatrix<T> host_matrix = grid_matrix<T>(12);
  host_matrix.values()[2] = T(std::numeric_limits<real_t<T>>::quiet_NaN());  // (0, 12)
  const SparseMatrix<T> matrix(backend, host_matrix);
  const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(144, 6)), {.size = 9});
  EXPECT_FALSE(M.report().is_finite);
  EXPECT_TRUE(contains(to_text(M.report()), "NaN or Inf")) << to_text(M.report());
}

/// Blocks that nothing couples are solved by M; what falls into many parts has aggregates of several.
TYPED_TEST(TwoLevelDefectsOnBackend, UncoupledBlocks) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> alone(backend, diagonal<T>(std::vector<double>(30, 2.0)));
  const TwoLevel<T> M(alone, BlockJacobi<T>(alone, BlockPartition::uniform(30, 3)));
  EXPECT_EQ(M.report().size, 0);
  EXPECT_EQ(M.report().uncovered_rows, 30);
  EXPECT_EQ(this->applied(M, backend, std::vector<T>(30, T(1))), std::vector<T>(30, T(real_t<T>(0.5))));

  std::vector<Triplet<T>> entries{{80, 80, T(1)}, {81, 81, T(1)}};
  for (index_t i = 0; i < 80; ++i) {
    entries.push_back({i, i, T(4)});
    entries.push_back({i, i ^ 2, T(-1)});  // couples two blocks of 2
  }
  const SparseMatrix<T> parts(backend, CsrMatrix<T>::from_triplets(82, 82, entries));
  const TwoLevel<T> few(parts, BlockJacobi<T>(parts, BlockPartition::uniform(82, 2)), {.size = 4});
  EXPECT_EQ(few.report().aggregates, 4);
  EXPECT_EQ(few.report().uncovered_rows, 2);

  const SparseMatrix<T> empty(backend, CsrMatrix<T>());
  EXPECT_EQ(TwoLevel<T>(empty, BlockJacobi<T>(empty, BlockPartition())).report().size, 0);
}

/// What block-Jacobi says of its blocks ends a solve.
TYPED_TEST(TwoLevelDefectsOnBackend, SingularBlocksEndTheSolve) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = grid_matrix<T>(6);
  SparseMatrix<T> matrix(backend, host_matrix);
  TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(36, 6)), {.size = 3});
  matrix.update_values(std::vector<T>(host_matrix.values().size()));
  M.refresh();
  std::vector<T> b(36, T(1)), x(36);
  EXPECT_EQ(cg(LinearOperator<T>(matrix), M, b, x).reason, StopReason::singular_block);
  EXPECT_EQ(x, std::vector<T>(36));
}

TYPED_TEST(TwoLevelDefectsOnBackend, Misuse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(6);
  const SparseMatrix<T> matrix(backend, a);
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(36, 6)); };
  const auto expect_message = [](const char* part, auto misuse) {
    const std::string message = message_of(misuse);
    EXPECT_TRUE(contains(message, part)) << message;
  };
  const SparseMatrix<T> wide(backend, CsrMatrix<T>(1, 2, {0, 1}, {0}, {T(1)}));
  expect_message("1 x 2", [&] { TwoLevel<T>(wide, jacobi()); });
  const SparseMatrix<T> elsewhere(Backend::host(1), a);
  expect_message("another backend", [&] { TwoLevel<T>(elsewhere, jacobi()); });
  const SparseMatrix<T> larger(backend, grid_matrix<T>(7)), sparser(backend, diagonal<T>(std::vector<double>(36, 1.0)));
  expect_message("the matrix 49", [&] { TwoLevel<T>(larger, jacobi()); });
  expect_message("the matrix 36 and 36", [&] { TwoLevel<T>(sparser, jacobi()); });
  expect_message("mode is 7", [&] { TwoLevel<T>(matrix, jacobi(), {.mode = static_cast<CoarseMode>(7)}); });
  expect_message("size is -1", [&] { TwoLevel<T>(matrix, jacobi(), {.size = -1}); });
  expect_message("size is 4097", [&] { TwoLevel<T>(matrix, jacobi(), {.size = 4097}); });
  const SparseMatrix<T> nodes(backend, a, {.block_size = 3});
  expect_message("has 3 vectors", [&] { TwoLevel<T>(nodes, jacobi(), {.size = 2}); });

  std::vector<T> v(72, T(1));
  const auto with = [&](const MultiVectorView<const T>& vectors, const TwoLevelOptions& options = {}) {
    return [&matrix, jacobi, vectors, options] { TwoLevel<T>(matrix, jacobi(), vectors, options); };
  };
  expect_message("has 35 rows", with({v.data(), 35, 2, 35}));
  expect_message("0 vectors", with({v.data(), 36, 0, 36}));
  expect_message("null pointer", with({nullptr, 36, 2, 36}));
  expect_message("leading dimension", with({v.data(), 36, 2, 35}));
  expect_message("device", with({v.data(), 36, 2, 36, Layout::column_major, MemorySpace::device}));
  expect_message("has 2 vectors", with({v.data(), 36, 2, 36}, {.size = 1}));
  v[36 + 5] = T(std::numeric_limits<real_t<T>>::infinity());
  expect_message("element 5 of vector 1", with({v.data(), 36, 2, 36}));

  TwoLevel<T> M(matrix, jacobi());
  Array<T> in(backend, 36), out(backend, 36), shorter(backend, 35);
  expect_message("apply: r: length is 35", [&] { M.apply(std::as_const(shorter).view(), out.view()); });
  expect_message("apply: z: length is 35", [&] { M.apply(std::as_const(in).view(), shorter.view()); });
  expect_message("correct: u: length is 35", [&] { M.correct(std::as_const(in).view(), shorter.view()); });
  expect_message("overlap", [&] { M.apply(std::as_const(in).view(), in.view()); });
  const TwoLevel<T> moved = std::move(M);
  expect_message("moved from", [&] { M.refresh(); });
}

}  // namespace
}  // namespace blockjacobi::test
