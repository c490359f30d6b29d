#include "faults/host_faults.hpp"
#include "faults/solve_in_c.hpp"
#include "matrices/generators.hpp"
#include "support/messages.hpp"

#include <blockjacobi/blockjacobi.h>
#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Threads, HostFaults, ::testing::Values(1, 3));

TEST_P(HostFaults, Backend) {
  expect_every_failure_comes_out([&] { EXPECT_FALSE(Backend::host(GetParam()).description().empty()); });
}

TEST_P(HostFaults, SetUpOfSortedAndUnsortedRows) {
  for (const System* system : {&sorted_, &unsorted_})
    expect_every_failure_comes_out([&] { BlockJacobi<double>(backend_, system->view(), blocks_); });
}

TEST_P(HostFaults, EveryStoragePolicyAndReport) {
  const auto blocks = BlockPartition::uniform(400, 40);
  for (const auto& [storage, policy] : {std::pair{Storage::packed, SingularPolicy::identity},
                                        {Storage::fp32, SingularPolicy::shift},
                                        {Storage::adaptive, SingularPolicy::pseudo_inverse}}) {
    const BlockJacobiOptions options{
        .singular = policy, .storage = storage, .l1 = storage == Storage::packed, .profile = storage == Storage::fp32};
    expect_every_failure_comes_out([&, options = options] {
      BlockJacobi<double> M(backend_, sorted_.view(), blocks, options);
      EXPECT_FALSE(to_text(M.report()).empty());
      EXPECT_FALSE(to_json(M.report(sorted_.view())).empty());
    });
  }
}

/// What came before the failed call is still there, or the object says that it waits for values.
TEST_P(HostFaults, BlockJacobiIsUsableBehindThem) {
  const auto nnz = static_cast<offset_t>(sorted_.values.size());
  BlockJacobi<double> M(backend_, sorted_.view(), blocks_, {.storage = Storage::adaptive});
  std::vector<double> expected(400), z(400);
  M.apply(VectorView<const double>(ones_), VectorView<double>(expected));
  const auto applies = [&] {
    M.apply(VectorView<const double>(ones_), VectorView<double>(z));
    EXPECT_EQ(z, expected);
  };
  expect_every_failure_comes_out([&] { M.rebuild(sorted_.values.data(), nnz, MemorySpace::host); },
                                 [&] {
                                   const std::string said = message_of([&] { static_cast<void>(M.info()); });
                                   if (said == "no InvalidArgument") return applies();
                                   EXPECT_NE(said.find("BlockJacobi::info"), std::string::npos) << said;
                                   M.refresh(sorted_.values.data(), nnz, MemorySpace::host);
                                   applies();
                                 });
  expect_every_failure_comes_out([&] { M.pivot_growth(sorted_.values.data(), nnz, MemorySpace::host); }, applies);
  expect_every_failure_comes_out([&] { static_cast<void>(M.report(sorted_.view())); }, applies);
  expect_no_allocation([&] {
    M.refresh(sorted_.values.data(), nnz, MemorySpace::host);
    applies();
  });
}

TEST_P(HostFaults, SingularBlocks) {
  System zeros = sorted_;
  std::fill(zeros.values.begin(), zeros.values.end(), 0.0);
  expect_every_failure_comes_out([&] {
    try {
      BlockJacobi<double>(backend_, zeros.view(), blocks_);
      ADD_FAILURE() << "no SingularBlock";
    } catch (const SingularBlock&) {
    }
  });
}

TEST_P(HostFaults, Partitions) {
  expect_every_failure_comes_out([&] { EXPECT_EQ(BlockPartition::detect(unsorted_.view(), 16).rows(), 400); });
  expect_every_failure_comes_out([&] {
    const DetectOptions options{.max_size = 16, .tolerance = 0.3, .merge = Merge::coupled};
    EXPECT_EQ(BlockPartition::detect(backend_, sorted_.view(), options).rows(), 400);
  });
  expect_every_failure_comes_out([&] {
    const auto [permutation, blocks] = BlockPartition::from_labels(std::vector<index_t>(400, 1));
    EXPECT_EQ(PermutedMatrix<double>(sorted_.view(), permutation).rows(), 400);
  });
  expect_every_failure_comes_out([&] { EXPECT_EQ(BlockPartition::clusters(sorted_.view(), 16).blocks.rows(), 400); });
  if (BlockPartition::metis_available())
    expect_every_failure_comes_out([&] { EXPECT_EQ(BlockPartition::metis(sorted_.view(), 16).blocks.rows(), 400); });
}

TEST_P(HostFaults, Matrices) {
  expect_every_failure_comes_out(
      [&] { EXPECT_EQ(CsrMatrix<double>::from_view(unsorted_.view()).nnz(), unsorted_.view().nnz); });
  const std::vector<Triplet<double>> triplets{{0, 0, 1.0}, {0, 0, 2.0}, {5, 3, 1.0}};
  expect_every_failure_comes_out([&] { EXPECT_EQ(CsrMatrix<double>::from_triplets(400, 400, triplets).nnz(), 2); });
  expect_every_failure_comes_out([&] {
    const BsrMatrix<double> matrix(backend_, unsorted_.view(), 4);
    EXPECT_EQ(LinearOperator<double>(matrix).rows(), 400);
  });
}

/// Sizes and arrays of different objects must not meet in one.
TEST_P(HostFaults, AssignmentIsAllOrNothing) {
  const auto large = CsrMatrix<double>::from_view(sorted_.view());
  const auto reversed = BlockPartition::from_labels(std::vector<index_t>(400, 1)).permutation;
  const PermutedMatrix<double> large_permuted(large, reversed);
  const auto small = CsrMatrix<double>::from_triplets(1, 1, std::vector<Triplet<double>>{{0, 0, 1.0}});
  const PermutedMatrix<double> small_permuted(small, Permutation::identity(1));
  CsrMatrix<double> matrix = small;
  PermutedMatrix<double> permuted = small_permuted;
  const auto expect_whole_ones = [&] {
    EXPECT_EQ(matrix.row_offsets().size(), static_cast<std::size_t>(matrix.rows()) + 1);
    EXPECT_NO_THROW(validate(matrix.view()));
    EXPECT_NO_THROW(validate(permuted.view()));
  };
  const auto assign = [&](auto& target, const auto& source, const auto& before) {
    return [&] {
      target = source;
      target = before;
    };
  };
  expect_every_failure_comes_out(assign(matrix, large, small), expect_whole_ones);
  expect_every_failure_comes_out(assign(permuted, large_permuted, small_permuted), expect_whole_ones);
}

/// What is made when it is first asked for is still to be made after a failure.
TEST_P(HostFaults, OffsetsAndSlots) {
  expect_every_failure_comes_out([] {
    const auto partition = BlockPartition::uniform(400, 8);
    const BlockLayout layout(partition, 8);
    const auto ask = [&] {
      EXPECT_EQ(partition.offsets().size(), 51u);
      EXPECT_EQ(layout.slots().size(), 50u);
    };
    try {
      ask();
    } catch (const std::bad_alloc&) {
      ask();
      throw;
    }
  });
}

TEST_P(HostFaults, GeneratedBlocks) {
  matrices::BlockFamilyOptions options;
  options.blocks = 3;
  expect_every_failure_comes_out([&] { EXPECT_EQ(matrices::block_family<double>(options).rows(), 12); });
}

TEST_P(HostFaults, Solvers) {
  const LinearOperator<double> A(backend_, sorted_.view());
  const BlockJacobi<double> M(backend_, sorted_.view(), blocks_);
  const VectorView<const double> b(ones_);
  std::vector<double> x(400);
  for (const auto solve : {&cg<double>, &fcg<double>, &minres<double>, &bicgstab<double>, &gmres<double>,
                           &fgmres<double>, &richardson<double>}) {
    const auto converges = [&] {
      std::fill(x.begin(), x.end(), 0.0);
      EXPECT_TRUE(solve(A, M, b, VectorView<double>(x), {}).converged());
    };
    expect_every_failure_comes_out(converges, converges);
  }
  constexpr index_t columns = 3;
  const std::vector<double> right(400 * columns, 1.0);
  std::vector<double> solutions(right.size());
  const MultiVectorView<const double> B{right.data(), 400, columns, 400};
  const MultiVectorView<double> X{solutions.data(), 400, columns, 400};
  for (const auto solve : {&cg_columns<double>, &gmres_columns<double>}) {
    const auto converge = [&] {
      std::fill(solutions.begin(), solutions.end(), 0.0);
      for (const SolveReport& report : solve(A, M, B, X, {})) EXPECT_TRUE(report.converged());
    };
    expect_every_failure_comes_out(converge, converge);
  }
  SolveStatus status;
  expect_every_failure_comes_out([&] {
    CgWorkspace<double> cg(A, M);
    GmresWorkspace<double> gmres(A, M);
    cg_enqueue(cg, b, x, &status);
    gmres_enqueue(gmres, b, x, &status);
    EXPECT_EQ(status.reason, StopReason::converged);
  });
}

TEST_P(HostFaults, CoarseLevel) {
  const System system(120, true);
  const std::vector<double> b(120, 1.0);
  for (const index_t relaxed : {0, 2})
    expect_every_failure_comes_out([&] {
      const SparseMatrix<double> matrix(backend_, system.view());
      TwoLevel<double> M(matrix, BlockJacobi<double>(matrix, BlockPartition::uniform(120, 4)),
                         {.size = 12, .relaxed = relaxed});
      M.refresh();
      std::vector<double> x(b.size());
      static_cast<void>(cg(LinearOperator<double>(matrix), M, b, x));
      static_cast<void>(to_text(M.report()));
    });
}

TEST_P(HostFaults, RenumberedSystems) {
  const SparseMatrix<double> matrix(backend_, CsrMatrix<double>::from_view(sorted_.view()));
  BlockCandidate candidate;
  std::tie(candidate.permutation, candidate.blocks) = [&] {
    auto [permutation, blocks] = BlockPartition::clusters(matrix, 16);
    return std::pair(std::move(permutation), std::move(blocks));
  }();
  expect_every_failure_comes_out([&] { EXPECT_EQ(matrix.renumbered(candidate.permutation).rows(), 400); });
  const auto solve_it = [&] {
    SuggestedSystem<double> system(matrix, candidate);
    system.refresh();
    std::vector<double> x(400);
    EXPECT_TRUE(system.solve(Method::cg, ones_, x).converged());
  };
  expect_every_failure_comes_out(solve_it);
  candidate.coarse = TwoLevelOptions{.size = 12};
  expect_every_failure_comes_out(solve_it);
  candidate.coarse.reset();
  candidate.multigrid = MultigridOptions{.coarsest = 100};
  expect_every_failure_comes_out(solve_it);
}

TEST_P(HostFaults, Suggest) {
  for (const index_t rows : {400, 6000}) {
    const auto matrix = CsrMatrix<double>::from_view(System(rows, true).view());
    const double captured = suggest(backend_, matrix).candidates.back().captured;
    expect_every_failure_comes_out([&] {
      const Suggestion found = suggest(backend_, matrix);
      EXPECT_EQ(found.candidates.back().captured, captured);
      EXPECT_FALSE(to_json(found).empty());
    });
  }
}

TEST_P(HostFaults, MatrixMarket) {
  const auto folder = std::filesystem::temp_directory_path();
  const auto matrix = CsrMatrix<double>::from_view(sorted_.view());
  for (const char* name : {"blockjacobi_faults.mtx", "blockjacobi_faults.mtx.gz"}) {
    const auto path = folder / (std::to_string(GetParam()) + name);
    expect_every_failure_comes_out([&] { write_matrix_market(path, matrix, MatrixMarketSymmetry::symmetric, "text"); });
    expect_every_failure_comes_out([&] { EXPECT_EQ(read_matrix_market<double>(path).nnz(), matrix.nnz()); });
    expect_every_failure_comes_out([&] { EXPECT_EQ(read_matrix_market_dense<double>(path).rows, 400); });
    std::filesystem::remove(path);
  }
}

TEST_P(HostFaults, Batched) {
  std::vector<double> a(64 * 64 * 3), x(a.size());
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 64; ++i) a[k * 4096 + i * 65] = 2.0;
  std::vector<index_t> rank(3);
  const auto batch = [](double* data) {
    return MatrixBatchView<double>::strided(data, 64, 64, 64, 4096, 3, MemorySpace::host);
  };
  expect_every_failure_comes_out([&] {
    batched::pseudo_inverse<double>(backend_, batch(a.data()), batch(x.data()), 0.0, rank.data());
    EXPECT_EQ(rank[2], 64);
  });
}

TEST_P(HostFaults, CInterfaceSaysOutOfMemory) {
  {
    const FailingNew first(0);
    bj_backend* backend = nullptr;
    ASSERT_EQ(bj_backend_create_host(1, &backend), BJ_OUT_OF_MEMORY);  // the message of this thread has its place now
  }
  const System small(144, true);
  for (const auto& [solve, system] : {std::pair{&solve_in_c, &unsorted_}, {&solve_on_levels_in_c, &small}})
    expect_every_failure_comes_out([&, solve = solve, system = system] {
      Owned<bj_backend, bj_backend_destroy> backend;
      const bj_status status = in_turn([&] { return bj_backend_create_host(GetParam(), backend.place()); },
                                       [&] { return solve(backend, *system); });
      if (status == BJ_SUCCESS) return;
      EXPECT_EQ(status, BJ_OUT_OF_MEMORY);
      EXPECT_NE(std::strstr(bj_last_error(), "out of memory"), nullptr) << bj_last_error();
      throw std::bad_alloc();
    });
}

}  // namespace
}  // namespace blockjacobi::test
