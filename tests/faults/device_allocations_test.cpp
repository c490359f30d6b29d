#include "faults/device_faults.hpp"
#include "faults/without_image.hpp"
#include "support/csr_arrays.hpp"
#include "support/messages.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

TEST_F(DeviceFaults, Backend) {
  expect_every_failure_comes_out([&] { EXPECT_EQ(make_backend().kind(), BackendKind::cuda); });
}

/// The message names the device, what was compiled, and the option.
TEST_F(DeviceFaults, ADeviceThatTheBuildIsNotFor) {
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  const std::string major = std::to_string(device.major), minor = std::to_string(device.minor);
  {
    const WithoutImage without;
    EXPECT_FALSE(Backend::cuda_available());
    try {
      make_backend();
      FAIL() << "a backend without kernels";
    } catch (const BackendUnavailable& e) {
      const std::string said = e.what();
      for (const std::string& part :
           {"device 0 (" + std::string(device.name) + ", compute capability " + major + "." + minor,
            std::string("compiled for "), "-DCMAKE_CUDA_ARCHITECTURES=" + major + minor,
            std::string("cudaErrorNoKernelImageForDevice")})
        EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(make_backend().kind(), BackendKind::cuda);
}

TEST_F(DeviceFaults, SetUpOfSortedAndUnsortedRowsFromHostAndDevice) {
  const Backend backend = make_backend();
  const auto mixed = BlockPartition::from_offsets({0, 3, 35, 50, 98, 200, rows});
  for (const System* system : {&sorted_, &unsorted_}) {
    const auto arrays = on(backend, *system);
    for (const BlockPartition& blocks : {blocks_, mixed}) {
      expect_every_failure_comes_out([&] { BlockJacobi<double>(backend, system->view(), blocks); });
      expect_every_failure_comes_out([&] { BlockJacobi<double>(backend, arrays.view(), blocks); });
    }
  }
}

TEST_F(DeviceFaults, EveryStoragePolicyAndReport) {
  const Backend backend = make_backend();
  const auto blocks = BlockPartition::uniform(rows, 40);
  for (const auto& [storage, policy] : {std::pair{Storage::packed, SingularPolicy::identity},
                                        {Storage::fp32, SingularPolicy::shift},
                                        {Storage::adaptive, SingularPolicy::pseudo_inverse}}) {
    SCOPED_TRACE(to_string(storage));
    const BlockJacobiOptions options{
        .singular = policy, .storage = storage, .l1 = storage == Storage::packed, .profile = storage == Storage::fp32};
    expect_every_failure_comes_out([&, options = options] {
      BlockJacobi<double> M(backend, sorted_.view(), blocks, options);
      EXPECT_FALSE(to_text(M.report()).empty());
      EXPECT_FALSE(to_json(M.report(sorted_.view())).empty());
    });
  }
}

/// What came before the failed call is still there, or the object says that it waits for values.
TEST_F(DeviceFaults, BlockJacobiIsUsableBehindThem) {
  const Backend backend = make_backend();
  const auto arrays = on(backend, sorted_);
  const CsrView<double, std::int32_t> view = arrays.view();
  const Array<double> r(backend, std::vector<double>(rows, 1.0));
  Array<double> z(backend, rows);
  BlockJacobi<double> M(backend, view, blocks_, {.storage = Storage::adaptive});
  M.apply(r.view(), z.view());
  const std::vector<double> expected = z.to_host();
  const auto applies = [&] {
    z.zero();
    M.apply(r.view(), z.view());
    EXPECT_EQ(z.to_host(), expected);
  };
  const auto refresh = [&] { M.refresh(view.values, view.nnz, MemorySpace::device); };
  expect_every_failure_comes_out([&] { M.rebuild(view.values, view.nnz, MemorySpace::device); },
                                 [&] {
                                   const std::string said = message_of([&] { static_cast<void>(M.info()); });
                                   if (said == "no InvalidArgument") return applies();
                                   EXPECT_NE(said.find("BlockJacobi::info"), std::string::npos) << said;
                                   refresh();
                                   applies();
                                 });
  expect_every_failure_comes_out([&] { M.pivot_growth(view.values, view.nnz, MemorySpace::device); }, applies);
  expect_every_failure_comes_out([&] { static_cast<void>(M.report(view)); }, applies);
  expect_no_allocation([&] {
    refresh();
    applies();
    EXPECT_EQ(M.defects(), 0);
  });
}

TEST_F(DeviceFaults, SingularBlocks) {
  System zeros = sorted_;
  std::fill(zeros.values.begin(), zeros.values.end(), 0.0);
  const Backend backend = make_backend();
  expect_every_failure_comes_out([&] {
    try {
      BlockJacobi<double>(backend, zeros.view(), blocks_, {.singular = SingularPolicy::fail});
      ADD_FAILURE() << "no SingularBlock";
    } catch (const SingularBlock&) {
    }
  });
}

TEST_F(DeviceFaults, Partitions) {
  const Backend backend = make_backend();
  const DetectOptions coupled{.max_size = 16, .tolerance = 0.3, .merge = Merge::coupled};
  for (const System* system : {&sorted_, &unsorted_}) {
    const auto arrays = on(backend, *system);
    expect_every_failure_comes_out(
        [&] { EXPECT_EQ(BlockPartition::detect(backend, arrays.view(), 16).offsets().back(), rows); });
    expect_every_failure_comes_out(
        [&] { EXPECT_EQ(BlockPartition::detect(backend, arrays.view(), coupled).offsets().back(), rows); });
  }
  const SparseMatrix<double> matrix(backend, sorted_.view());
  expect_every_failure_comes_out([&] { EXPECT_EQ(BlockPartition::detect(matrix, 16).offsets().back(), rows); });
  expect_every_failure_comes_out(
      [&] { EXPECT_EQ(BlockPartition::clusters(matrix, 16).blocks.offsets().back(), rows); });
}

/// Rows of very different lengths, whose products are cuSPARSE's.
System with_a_long_row() {
  System system(1, true);
  for (index_t i = 1; i < rows; ++i) {
    system.columns.push_back(i);
    system.values.push_back(20.0);
    system.offsets.push_back(static_cast<std::int32_t>(system.columns.size()));
  }
  for (index_t j = 0; j + 1 < rows; ++j) {
    system.columns.insert(system.columns.end() - 1, j);
    system.values.insert(system.values.end() - 1, -0.01);
  }
  system.offsets.back() = static_cast<std::int32_t>(system.columns.size());
  return system;
}

TEST_F(DeviceFaults, MatricesAndProducts) {
  const Backend backend = make_backend();
  const auto long_row = with_a_long_row();
  for (const System* system : {&sorted_, &unsorted_, &long_row}) {
    const auto arrays = on(backend, *system);
    expect_every_failure_comes_out(
        [&] { EXPECT_EQ(SparseMatrix<double>(backend, system->view()).given_nnz(), system->view().nnz); });
    expect_every_failure_comes_out(
        [&] { EXPECT_EQ(SparseMatrix<double>(backend, arrays.view()).given_nnz(), system->view().nnz); });
    expect_every_failure_comes_out([&] { EXPECT_EQ(LinearOperator<double>(backend, arrays.view()).rows(), rows); });
  }
  const CsrArrays<double, std::int64_t> wide(backend, CsrMatrix<double>::from_view(sorted_.view()));
  expect_every_failure_comes_out([&] { EXPECT_EQ(LinearOperator<double>(backend, wide.view()).rows(), rows); });
  expect_every_failure_comes_out([&] {
    const BsrMatrix<double> matrix(backend, unsorted_.view(), 4);
    EXPECT_EQ(LinearOperator<double>(matrix).rows(), rows);
  });
}

TEST_F(DeviceFaults, Solvers) {
  of_every_solve<double>([this](const auto& solve) { expect_every_failure_comes_out(solve, solve); });
}

/// Small ones are inverted as blocks are, larger ones by cuSOLVER.
TEST_F(DeviceFaults, CoarseLevel) {
  const Backend backend = make_backend();
  for (const auto& [count, size, relaxed] :
       {std::tuple<index_t, index_t, index_t>{120, 12, 0}, {120, 12, 2}, {2400, 600, 0}}) {
    SCOPED_TRACE(size);
    const System system(count, true);
    const Array<double> b(backend, std::vector<double>(static_cast<std::size_t>(count), 1.0));
    Array<double> x(backend, b.size());
    const SparseMatrix<double> matrix(backend, system.view());
    const LinearOperator<double> A(matrix);
    expect_every_failure_comes_out([&, size = size, relaxed = relaxed] {
      TwoLevel<double> M(matrix, BlockJacobi<double>(matrix, BlockPartition::uniform(matrix.rows(), 4)),
                         {.size = size, .relaxed = relaxed});
      M.refresh();
      x.zero();
      EXPECT_TRUE(cg(A, M, b.view(), x.view()).converged());
      EXPECT_FALSE(to_text(M.report()).empty());
    });
  }
}

TEST_F(DeviceFaults, BatchedWorkspaces) {
  using batched::SpdStorage, batched::Triangle;
  constexpr index_t n = 40, large = 240, count = 3;
  const Backend backend = make_backend();
  const auto twos = [&](std::size_t order) {
    std::vector<double> all(count * order * order);
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = k % (order * order) % (order + 1) == 0 ? 2.0 : 0.0;
    return Array<double>(backend, all);
  };
  const Array<double> a = twos(n), of_large = twos(large);
  Array<double> x(backend, a.size()), x_of_large(backend, of_large.size()), tau(backend, n * count);
  Array<index_t> numbers(backend, n * count);
  Array<int> info(backend, count);
  const auto batch = [](auto* data, index_t order) {
    return MatrixBatchView<std::remove_pointer_t<decltype(data)>>::strided(data, order, order, order, order * order,
                                                                           count, MemorySpace::device);
  };
  const MatrixBatchView<const double> A = batch(std::as_const(a).data(), n);
  const MatrixBatchView<double> X = batch(x.data(), n);
  const auto halves = [&] {
    const std::vector<double> found = x.to_host();
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(found[i * (n + 1)], 0.5, 1e-14);
  };
  const auto pseudo_inverse = [&] {
    x.zero();
    batched::pseudo_inverse(backend, A, X, 0.0, numbers.data());
    halves();
  };
  expect_every_failure_comes_out(pseudo_inverse, pseudo_inverse);
  // above the orders that shared memory holds
  const auto packed_of_large = [&] {
    x_of_large.zero();
    batched::spd_inverse(backend, Triangle::lower, batch(of_large.data(), large), batch(x_of_large.data(), large),
                         SpdStorage::packed, info.data());
    EXPECT_NEAR(x_of_large.to_host()[0], 0.5, 1e-14);
    EXPECT_EQ(info.to_host(), std::vector<int>(count));
  };
  expect_every_failure_comes_out(packed_of_large, packed_of_large);
  expect_no_allocation([&] {
    batched::inverse(backend, A, X, info.data());
    halves();
    batched::spd_inverse(backend, Triangle::lower, A, X, SpdStorage::packed, info.data());
    EXPECT_NEAR(x.to_host()[0], 0.5, 1e-14);
    batched::spd_inverse(backend, Triangle::lower, A, X, SpdStorage::full, info.data());
    halves();
    batched::getrf(backend, X, numbers.data(), info.data());
    batched::getri(backend, MatrixBatchView<const double>(X), numbers.data(), X, info.data());
    batched::potrf(backend, Triangle::lower, X, info.data());
    batched::potri(backend, Triangle::lower, X, info.data());
    halves();
    batched::geqrf(backend, X, tau.data());
  });
}

TEST_F(DeviceFaults, RenumberedSystemsAndSuggestions) {
  const Backend backend = make_backend();
  const SparseMatrix<double> matrix(backend, sorted_.view());
  BlockCandidate candidate;
  std::tie(candidate.permutation, candidate.blocks) = clusters_of(matrix);
  expect_every_failure_comes_out(
      [&] { EXPECT_EQ(matrix.renumbered(candidate.permutation).given_nnz(), sorted_.view().nnz); });
  const Array<double> b(backend, std::vector<double>(rows, 1.0));
  Array<double> x(backend, rows);
  const auto solve_it = [&] {
    SuggestedSystem<double> system(matrix, candidate);
    system.refresh();
    x.zero();
    EXPECT_TRUE(system.solve(Method::cg, b.view(), x.view()).converged());
  };
  expect_every_failure_comes_out(solve_it);
  candidate.coarse = TwoLevelOptions{.size = 12};
  expect_every_failure_comes_out(solve_it);
  candidate.coarse.reset();
  candidate.multigrid = MultigridOptions{.coarsest = 100};
  expect_every_failure_comes_out(solve_it);
  expect_every_failure_comes_out([&] { EXPECT_FALSE(suggest(matrix, {.probe_share = 1.0}).candidates.empty()); });
}

/// Pinned memory is not the user's allocator's. What it was to be used by is usable when there is some.
TEST_F(DeviceFaults, PinnedMemory) {
  for (const auto& [name, solve] : every_solve<double>()) {
    SCOPED_TRACE(name);
    expect_every_failure_of_cuda_comes_out(FailingCudaMemory::pinned, [this, &solve = solve] {
      Solvable system(*this);  // on a backend that has none yet
      try {
        solve(system);
      } catch (const CudaError&) {
        solve(system);
        throw;
      }
    });
  }
}

TEST_F(DeviceFaults, PinnedMemoryIsKeptForTheNextSolve) {
  Solvable system(*this);
  const long before = FailingCudaMemory::live(FailingCudaMemory::pinned);
  for (int repeated = 0; repeated < 2; ++repeated) {
    system.x.zero();
    EXPECT_TRUE(cg(system.A, system.M, system.right(), system.solution()).converged());
    EXPECT_EQ(FailingCudaMemory::live(FailingCudaMemory::pinned), before + 1);
  }
}

/// The error names the bytes, and CUDA has none left.
template <class Work>
void expect_to_want(std::size_t bytes, Work work) {
  try {
    work();
    ADD_FAILURE() << bytes << " bytes were allocated";
  } catch (const CudaError& e) {
    EXPECT_EQ(e.code(), cudaErrorMemoryAllocation);
    EXPECT_NE(std::string(e.what()).find("allocation of " + std::to_string(bytes) + " bytes"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

/// More than any device has, asked for before a block is inverted.
TEST_F(DeviceFaults, OutOfDeviceMemorySaysHowMuchWasWanted) {
  constexpr index_t block = max_block_size, count = 100'000;
  const Backend backend = Backend::cuda(0, stream_);
  Array<std::int32_t> offsets(backend, static_cast<std::size_t>(block) * count + 1);
  offsets.zero();
  const Array<index_t> columns(backend, 1);
  const Array<std::complex<double>> values(backend, 1);
  const CsrView<std::complex<double>, std::int32_t> empty{block * count,   block * count,      0,
                                                          offsets.data(),  columns.data(),     values.data(),
                                                          IndexBase::zero, MemorySpace::device};
  const auto partition = BlockPartition::uniform(empty.rows, block);
  expect_to_want(BlockJacobi<std::complex<double>>::storage_bytes(partition),
                 [&] { BlockJacobi<std::complex<double>>(backend, empty, partition); });
  EXPECT_EQ(BlockJacobi<double>(backend, sorted_.view(), blocks_).defects(), 0) << "the backend goes on";
}

/// The same of a solver: a basis of as many vectors as there are rows. Nothing has begun, so x is as it was.
TEST_F(DeviceFaults, OutOfDeviceMemoryForABasisSaysHowMuchWasWanted) {
  constexpr index_t n = 400'000;
  const Backend backend = Backend::cuda(0, stream_);
  std::vector<offset_t> offsets(n + 1);
  std::iota(offsets.begin(), offsets.end(), offset_t{0});
  std::vector<index_t> columns(n);
  std::iota(columns.begin(), columns.end(), 0);
  const CsrMatrix<double> identity(n, n, offsets, columns, std::vector<double>(n, 1.0));
  const Array<double> b(backend, std::vector<double>(n, 1.0));
  Array<double> x(backend, std::vector<double>(n, 3.0));
  SolveOptions options;
  options.restart = options.max_iterations = n;
  expect_to_want((std::size_t{n} + 1) * n * sizeof(double), [&] {
    static_cast<void>(gmres(LinearOperator<double>(backend, identity), {}, b.view(), x.view(), options));
  });
  EXPECT_EQ(x.to_host(), std::vector<double>(n, 3.0));
}

}  // namespace
}  // namespace blockjacobi::test
