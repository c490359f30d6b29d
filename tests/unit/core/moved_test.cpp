#include "support/messages.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

// What std::move leaves behind is used here on purpose.
namespace blockjacobi::test {
namespace {

CsrMatrix<double> diagonal_matrix() {
  return CsrMatrix<double>::from_triplets(2, 2, std::vector<Triplet<double>>{{0, 0, 4.0}, {1, 1, 2.0}});
}

/// source, after its value went into a new object and then one from elsewhere into an old one.
template <class T, class Check>
void expect_after_moves(T source, T other, Check check) {
  T target(std::move(source));
  check(source);
  T old(std::move(other));
  check(other);
  old = std::move(target);
  check(target);
  source = std::move(old);
  check(old);
}

template <class V>
void expect_empty_csr(const V& view) {
  EXPECT_EQ(view.rows, 0);
  EXPECT_EQ(view.cols, 0);
  EXPECT_EQ(view.nnz, 0);
  ASSERT_NE(view.row_offsets, nullptr);
  EXPECT_EQ(view.row_offsets[0], 0);
  EXPECT_NO_THROW(validate(view));
}

TEST(Moved, ArrayHasNoElements) {
  const Backend backend = Backend::host(1);
  expect_after_moves(Array<double>(backend, 3), Array<double>(backend, 1000), [&](Array<double>& a) {
    EXPECT_EQ(a.size(), 0u);
    EXPECT_EQ(a.bytes(), 0u);
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_EQ(a.view().size, 0);
    EXPECT_EQ(a.backend(), backend);
    a.copy_from_host(nullptr);
    a.zero();
    EXPECT_TRUE(a.to_host().empty());
  });
}

TEST(Moved, ArrayKeepsWhatIsAssignedToItself) {
  Array<double> a(Backend::host(1), std::vector<double>{1.0, 2.0});
  Array<double>& same = a;
  a = std::move(same);
  EXPECT_EQ(a.to_host(), (std::vector<double>{1.0, 2.0}));
}

TEST(Moved, CsrMatrixIsEmpty) {
  expect_after_moves(diagonal_matrix(), CsrMatrix<double>::from_triplets(5, 7, {}), [](const CsrMatrix<double>& m) {
    expect_empty_csr(m.view());
    EXPECT_EQ(m.row_offsets().size(), 1u);
    EXPECT_EQ(BlockPartition::detect(m).rows(), 0);
  });
  const CsrMatrix<double> none;
  expect_empty_csr(none.view());
}

TEST(Moved, CsrMatrixIsWrittenAsAnEmptyOne) {
  CsrMatrix<double> m = diagonal_matrix();
  const CsrMatrix<double> target(std::move(m));
  const auto path = std::filesystem::temp_directory_path() / "blockjacobi_moved_test.mtx";
  write_matrix_market(path, m);
  EXPECT_EQ(read_matrix_market<double>(path).rows(), 0);
  std::filesystem::remove(path);
}

TEST(Moved, PartitionAndPermutationAreOfNothing) {
  expect_after_moves(BlockPartition::uniform(10, 3), BlockPartition::uniform(4, 2), [](const BlockPartition& p) {
    EXPECT_EQ(p.rows(), 0);
    EXPECT_EQ(p.blocks(), 0);
    EXPECT_EQ(p.largest_block(), 0);
    EXPECT_EQ(p.offsets().size(), 1u);
    EXPECT_EQ(p.view().offsets[0], 0);
    EXPECT_EQ(p, BlockPartition());
    EXPECT_EQ(p, BlockPartition::uniform(0, 3));
  });
  expect_after_moves(Permutation::identity(3), Permutation::identity(2), [](const Permutation& p) {
    EXPECT_EQ(p.size(), 0);
    EXPECT_EQ(p, Permutation());
  });
}

TEST(Moved, PermutedMatrixIsEmpty) {
  const CsrMatrix<double> m = diagonal_matrix();
  const auto swapped = Permutation::from_order({1, 0});
  expect_after_moves(PermutedMatrix<double>(m, swapped), PermutedMatrix<double>(m, Permutation::identity(2)),
                     [](PermutedMatrix<double>& B) {
                       EXPECT_EQ(B.rows(), 0);
                       expect_empty_csr(B.view());
                       EXPECT_TRUE(B.value_map().empty());
                       B.update({});
                     });
}

TEST(Moved, LayoutAndBatchHaveNoBlocks) {
  const auto is_empty = [](const BlockLayout& layout) {
    EXPECT_EQ(layout.size(), 0);
    EXPECT_EQ(layout.rows(), 0);
    EXPECT_EQ(layout.blocks(), 0);
    EXPECT_TRUE(layout.groups().empty());
  };
  const Backend backend = Backend::host(1);
  const auto partition = BlockPartition::uniform(10, 3);
  expect_after_moves(BlockLayout(partition, 8), BlockLayout(partition, 4), is_empty);
  expect_after_moves(BlockBatch<double>(backend, partition), BlockBatch<double>(backend, BlockPartition::uniform(4, 1)),
                     [&](const BlockBatch<double>& batch) {
                       is_empty(batch.layout());
                       EXPECT_EQ(batch.view().blocks, 0);
                       EXPECT_EQ(batch.bytes(), 0u);
                       EXPECT_ANY_THROW(static_cast<void>(batch.block(0)));
                     });
}

TEST(Moved, HandlesAreStillTheSame) {
  Backend backend = Backend::host(1);
  const Backend taken(std::move(backend));
  EXPECT_EQ(backend, taken);
  EXPECT_EQ(backend.threads(), 1);

  const CsrMatrix<double> m = diagonal_matrix();
  const std::vector<double> x{1.0, 2.0};
  std::vector<double> y(2);
  LinearOperator<double> A(backend, m);
  const LinearOperator<double> other(std::move(A));
  A.apply(x, y);
  EXPECT_EQ(y, (std::vector<double>{4.0, 4.0}));
  BsrMatrix<double> bsr(backend, m, 1);
  const BsrMatrix<double> other_bsr(std::move(bsr));
  EXPECT_EQ(bsr.nnz(), 2);

  // One that passed for M = I would still converge: what it is asked to do must show.
  int calls = 0;
  Preconditioner<double> M(backend, 2, [&calls](VectorView<const double> r, VectorView<double> z) {
    ++calls;
    for (int i = 0; i < 2; ++i) z.data[i] = r.data[i] / (i == 0 ? 4.0 : 2.0);
  });
  const Preconditioner<double> other_M(std::move(M));
  std::vector<double> solution(2);
  EXPECT_TRUE(cg(A, M, x, solution).converged());
  EXPECT_GT(calls, 0);
}

TEST(Moved, BlockJacobiRefusesEveryCall) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> m = diagonal_matrix();
  const auto blocks = BlockPartition::uniform(2, 1);
  const auto refuses = [&](BlockJacobi<double>& M) {
    const std::string text = "BlockJacobi: the object was moved from";
    std::vector<double> r(2, 1.0), z(2);
    const VectorView<const double> rv(r);
    const VectorView<double> zv(z);
    const auto* values = m.values().data();
    EXPECT_EQ(message_of([&] { M.apply(rv, zv); }), text);
    EXPECT_EQ(message_of([&] { M.apply(2.0, rv, 1.0, zv); }), text);
    EXPECT_EQ(message_of([&] { M.refresh(values, 2, MemorySpace::host); }), text);
    EXPECT_EQ(message_of([&] { M.refresh(m.view()); }), text);
    EXPECT_EQ(message_of([&] { M.rebuild(values, 2, MemorySpace::host); }), text);
    EXPECT_EQ(message_of([&] { M.pivot_growth(values, 2, MemorySpace::host); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.info()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.rcond_view()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.defects()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.report()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.report(m)); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.inverse()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.inverse_block(0)); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.backend()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.partition()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.rows()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.nnz()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(M.bytes()); }), text);
    EXPECT_EQ(message_of([&] { static_cast<void>(Preconditioner<double>(M)); }), text);
  };
  expect_after_moves(BlockJacobi<double>(backend, m, blocks), BlockJacobi<double>(backend, m, blocks), refuses);
}

TEST(Moved, BlockJacobiServesWhoReferredToIt) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> m = diagonal_matrix();
  BlockJacobi<double> M(backend, m, BlockPartition::uniform(2, 1));
  const Preconditioner<double> P(M);
  const BlockJacobi<double> owner(std::move(M));
  const LinearOperator<double> A(backend, m);
  const std::vector<double> b{1.0, 1.0};
  std::vector<double> x(2);
  EXPECT_EQ(cg(A, P, b, x).iterations, 1);
}

TEST(Moved, WorkspacesRefuseASolve) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> m = diagonal_matrix();
  const LinearOperator<double> A(backend, m);
  const std::vector<double> b{1.0, 1.0};
  std::vector<double> x(2);
  SolveStatus status;
  expect_after_moves(CgWorkspace<double>(A, {}), CgWorkspace<double>(A, {}), [&](CgWorkspace<double>& w) {
    EXPECT_EQ(message_of([&] { cg_enqueue(w, b, x, &status); }), "CgWorkspace: the object was moved from");
  });
  expect_after_moves(GmresWorkspace<double>(A, {}), GmresWorkspace<double>(A, {}), [&](GmresWorkspace<double>& w) {
    EXPECT_EQ(message_of([&] { gmres_enqueue(w, b, x, &status); }), "GmresWorkspace: the object was moved from");
  });
}

TEST(Moved, SuggestionHasNoBest) {
  Suggestion s = suggest(Backend::host(1), diagonal_matrix());
  const Suggestion taken(std::move(s));
  EXPECT_NO_THROW(static_cast<void>(taken.best()));
  EXPECT_EQ(message_of([&] { static_cast<void>(s.best()); }), "Suggestion::best: there are no candidates");
}

}  // namespace
}  // namespace blockjacobi::test
