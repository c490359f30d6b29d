#include "faults/device_faults.hpp"
#include "faults/every_multigrid.hpp"
#include "faults/failing_new.hpp"
#include "support/csr_arrays.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <vector>

// What the library allocates on the host while it works on the device.
namespace blockjacobi::test {
namespace {

TEST_F(DeviceFaults, AllocationsOnTheHost) {
  const Backend backend = make_backend();
  expect_every_host_failure_comes_out([&] { EXPECT_EQ(make_backend().kind(), BackendKind::cuda); });
  const auto mixed = BlockPartition::from_offsets({0, 3, 35, 50, 98, 200, rows});
  for (const System* system : {&sorted_, &unsorted_}) {
    const auto arrays = on(backend, *system);
    expect_every_host_failure_comes_out([&] { BlockJacobi<double>(backend, system->view(), mixed); });
    expect_every_host_failure_comes_out([&] { BlockJacobi<double>(backend, arrays.view(), blocks_); });
    expect_every_host_failure_comes_out([&] { EXPECT_EQ(SparseMatrix<double>(backend, arrays.view()).rows(), rows); });
  }
  const SparseMatrix<double> matrix(backend, sorted_.view());
  expect_every_host_failure_comes_out([&] { EXPECT_EQ(BlockPartition::detect(matrix, 16).offsets().back(), rows); });
  expect_every_host_failure_comes_out([&] { EXPECT_EQ(clusters_of(matrix).second.offsets().back(), rows); });
  const LinearOperator<double> A(matrix);
  BlockJacobi<double> M(matrix, blocks_, {.storage = Storage::adaptive});
  const TwoLevel<double> both(matrix, BlockJacobi<double>(matrix, blocks_), {.size = 12});
  expect_every_host_failure_comes_out([&] { M.refresh(matrix.values(), sorted_.view().nnz, MemorySpace::device); });
  expect_every_host_failure_comes_out([&] { EXPECT_FALSE(to_text(M.report()).empty()); });
  expect_every_host_failure_comes_out(
      [&] { TwoLevel<double>(matrix, BlockJacobi<double>(matrix, blocks_), {.size = 12, .relaxed = 2}); });
  const Array<double> b(backend, std::vector<double>(rows, 1.0));
  Array<double> x(backend, rows);
  const auto converges = [&](auto solve, const Preconditioner<double>& by) {
    x.zero();
    EXPECT_TRUE(solve(A, by, b.view(), x.view(), SolveOptions{}).converged());
  };
  expect_every_host_failure_comes_out([&] { converges(&cg<double>, M); });
  expect_every_host_failure_comes_out([&] { converges(&cg<double>, both); });
  expect_every_host_failure_comes_out([&] { converges(&minres<double>, M); });
  EXPECT_GT(host_failures_, 0);
}

TEST_F(DeviceFaults, AllocationsOnTheHostOfSolvers) {
  of_every_solve<double>([this](const auto& solve) { expect_every_host_failure_comes_out(solve); });
  EXPECT_GT(host_failures_, 0);
}

TEST_F(DeviceFaults, AllocationsOnTheHostOfMultigrids) {
  const SparseMatrix<double> matrix(make_backend(), System(144, true).view());
  for (const auto& [near_kernel, make] : every_multigrid(matrix)) {
    SCOPED_TRACE(near_kernel);
    expect_every_host_failure_comes_out([&make = make] { EXPECT_EQ(make().rows(), 144); });
  }
  EXPECT_GT(host_failures_, 0);
}

TEST_F(DeviceFaults, AllocationsOnTheHostOfPartitionsSuggestionsAndBatches) {
  const Backend backend = make_backend();
  const SparseMatrix<double> matrix(backend, sorted_.view());
  const DetectOptions coupled{.max_size = 16, .tolerance = 0.3, .merge = Merge::coupled};
  for (const System* system : {&sorted_, &unsorted_}) {
    const auto arrays = on(backend, *system);
    expect_every_host_failure_comes_out(
        [&] { EXPECT_EQ(BlockPartition::detect(backend, arrays.view(), coupled).offsets().back(), rows); });
  }
  expect_every_host_failure_comes_out([&] { EXPECT_FALSE(suggest(matrix, {.probe_share = 1.0}).candidates.empty()); });
  constexpr index_t n = 40;
  std::vector<double> twos(n * n);
  for (std::size_t i = 0; i < n; ++i) twos[i * (n + 1)] = 2.0;
  const Array<double> a(backend, twos);
  Array<double> x(backend, twos.size());
  Array<index_t> rank(backend, 1);
  const auto A = MatrixBatchView<const double>::strided(a.data(), n, n, n, n * n, 1, MemorySpace::device);
  const auto X = MatrixBatchView<double>::strided(x.data(), n, n, n, n * n, 1, MemorySpace::device);
  expect_every_host_failure_comes_out([&] { batched::pseudo_inverse(backend, A, X, 0.0, rank.data()); });
  EXPECT_EQ(rank.to_host()[0], n);
  EXPECT_GT(host_failures_, 0);
}

}  // namespace
}  // namespace blockjacobi::test
