#include "faults/band_system.hpp"
#include "faults/failing_new.hpp"
#include "faults/failing_pinned.hpp"
#include "faults/without_image.hpp"
#include "kernels/counting_resource.hpp"
#include "support/csr_arrays.hpp"
#include "support/messages.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

constexpr index_t rows = 400;

/// With the user's stream, which can be recorded in graphs, and the user's allocator.
class DeviceFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(memory_->live, 0u);
    EXPECT_EQ(FailingPinned::live(), 0);
  }

  Backend make_backend() const { return Backend::cuda(0, stream_, memory_); }

  /// The arrays of a system on the device.
  static CsrArrays<double, std::int32_t> on(const Backend& backend, const System& system) {
    const index_t n = system.view().rows;
    return {backend,        n, n, {system.offsets.begin(), system.offsets.end()}, system.columns, system.values,
            IndexBase::zero};
  }

  /// Runs `work` again and again, and lets its first allocation fail, then its second, until none is left to fail.
  /// What the allocator throws comes out, CUDA has no error left, and after `behind`, which follows each failure, as
  /// much memory is in use as before.
  void expect_every_failure_comes_out(
      const std::function<void()>& work, const std::function<void()>& behind = [] {}) {
    work();  // what is made once
    const std::size_t live = memory_->live;
    long failures = 0;
    for (long allocation = 0;; ++allocation) {
      SCOPED_TRACE(allocation);
      ASSERT_LT(allocation, 10'000);
      memory_->fail_after(allocation);
      try {
        work();
        EXPECT_FALSE(memory_->stop_failing()) << "a failure was made up for in silence";
        break;
      } catch (const std::bad_alloc&) {
        EXPECT_TRUE(memory_->stop_failing());
        ++failures;
      }
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      behind();
      EXPECT_EQ(memory_->live, live);
      if (HasFailure()) return;
    }
    EXPECT_EQ(memory_->live, live);
    EXPECT_GT(failures, 0);
  }
  /// The same of operator new, if there is any allocation on the host; those of a text may be made up for.
  void expect_every_host_failure_comes_out(const std::function<void()>& work) {
    work();  // what is made once
    const std::size_t live = memory_->live;
    const long on_host = FailingNew::live();
    bool failed = true;
    for (long allocation = 0; failed; ++allocation) {
      ASSERT_LT(allocation, 10'000);
      try {
        const FailingNew failing(allocation);
        work();
        failed = FailingNew::stop();
      } catch (const std::bad_alloc&) {
        ++host_failures_;
      }
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      EXPECT_EQ(memory_->live, live);
      EXPECT_LE(FailingNew::live(), on_host) << "allocation " << allocation;
      if (HasFailure()) return;
    }
  }
  /// The first allocation would fail.
  void expect_no_allocation(const std::function<void()>& work) {
    memory_->fail_after(0);
    EXPECT_NO_THROW(work());
    EXPECT_FALSE(memory_->stop_failing());
  }

  /// Of up to 16 rows.
  static std::pair<Permutation, BlockPartition> clusters_of(const SparseMatrix<double>& matrix) {
    auto [permutation, blocks] = BlockPartition::clusters(matrix, 16);
    return {std::move(permutation), std::move(blocks)};
  }

  template <class Expect>
  void every_solver(Expect expect) const;
  template <class Expect>
  void several_columns(Expect expect) const;
  template <class Expect>
  void workspaces(Expect expect) const;

  long host_failures_ = 0;  ///< that came out
  cudaStream_t stream_ = nullptr;
  const std::shared_ptr<CountingResource> memory_ = std::make_shared<CountingResource>();
  const System sorted_{rows, true}, unsorted_{rows, false};
  const BlockPartition blocks_ = BlockPartition::uniform(rows, 8);
};

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

/// expect(work) of every method.
template <class Expect>
void DeviceFaults::every_solver(Expect expect) const {
  const Backend backend = make_backend();
  const auto arrays = on(backend, sorted_);
  const LinearOperator<double> A(backend, arrays.view());
  const BlockJacobi<double> M(backend, arrays.view(), blocks_);
  const Array<double> b(backend, std::vector<double>(rows, 1.0));
  Array<double> x(backend, rows);
  using Solve = SolveReport (*)(const LinearOperator<double>&, const Preconditioner<double>&, VectorView<const double>,
                                VectorView<double>, const SolveOptions&);
  const std::pair<const char*, Solve> solvers[] = {{"cg", &cg<double>},
                                                   {"fcg", &fcg<double>},
                                                   {"minres", &minres<double>},
                                                   {"bicgstab", &bicgstab<double>},
                                                   {"gmres", &gmres<double>},
                                                   {"fgmres", &fgmres<double>},
                                                   {"richardson", &richardson<double>}};
  for (const auto& [name, solve] : solvers)
    for (const Resident resident : {Resident::automatic, Resident::never}) {
      SCOPED_TRACE(name);
      SolveOptions options;
      options.resident = resident;
      const auto converges = [&, solve = solve] {
        x.zero();
        EXPECT_TRUE(solve(A, M, b.view(), x.view(), options).converged());
      };
      expect(converges);
    }
}

/// expect(work) of columns that are solved for together.
template <class Expect>
void DeviceFaults::several_columns(Expect expect) const {
  const Backend backend = make_backend();
  const auto arrays = on(backend, sorted_);
  const LinearOperator<double> A(backend, arrays.view());
  const BlockJacobi<double> M(backend, arrays.view(), blocks_);
  constexpr index_t columns = 3;
  const Array<double> b(backend, std::vector<double>(rows * columns, 1.0));
  Array<double> x(backend, rows * columns);
  const MultiVectorView<const double> B{b.data(), rows, columns, rows, Layout::column_major, MemorySpace::device};
  const MultiVectorView<double> X{x.data(), rows, columns, rows, Layout::column_major, MemorySpace::device};
  for (const auto solve : {&cg_columns<double>, &gmres_columns<double>}) {
    const auto converges = [&] {
      x.zero();
      for (const SolveReport& report : solve(A, M, B, X, {})) EXPECT_TRUE(report.converged());
    };
    expect(converges);
  }
}

/// expect(work) of solves that are enqueued.
template <class Expect>
void DeviceFaults::workspaces(Expect expect) const {
  const Backend backend = make_backend();
  const auto arrays = on(backend, sorted_);
  const LinearOperator<double> A(backend, arrays.view());
  const BlockJacobi<double> M(backend, arrays.view(), blocks_);
  const Array<double> b(backend, std::vector<double>(rows, 1.0));
  Array<double> x(backend, rows);
  Array<SolveStatus> status(backend, 2);
  SolveOptions options;
  options.max_iterations = 60;
  expect([&] {
    CgWorkspace<double> by_cg(A, M, options);
    GmresWorkspace<double> by_gmres(A, M, options);
    cg_enqueue(by_cg, b.view(), x.view(), status.data());
    gmres_enqueue(by_gmres, b.view(), x.view(), status.data() + 1);
    for (const SolveStatus& found : status.to_host()) EXPECT_EQ(found.reason, StopReason::converged);
  });
}

TEST_F(DeviceFaults, Solvers) {
  every_solver([this](const auto& converges) { expect_every_failure_comes_out(converges, converges); });
}

TEST_F(DeviceFaults, SeveralColumnsAndWorkspaces) {
  several_columns([this](const auto& converge) { expect_every_failure_comes_out(converge, converge); });
  workspaces([this](const auto& solve) { expect_every_failure_comes_out(solve); });
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
  constexpr index_t n = 40, count = 3;
  constexpr std::size_t size = n * n;
  const Backend backend = make_backend();
  std::vector<double> twos(count * size);
  for (std::size_t k = 0; k < twos.size(); ++k) twos[k] = k % size % (n + 1) == 0 ? 2.0 : 0.0;
  const Array<double> a(backend, twos);
  Array<double> x(backend, twos.size()), tau(backend, n * count);
  Array<index_t> numbers(backend, n * count);
  Array<int> info(backend, count);
  const auto batch = [](auto* data) {
    return MatrixBatchView<std::remove_pointer_t<decltype(data)>>::strided(data, n, n, n, size, count,
                                                                           MemorySpace::device);
  };
  const MatrixBatchView<const double> A = batch(std::as_const(a).data());
  const MatrixBatchView<double> X = batch(x.data());
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
  const auto packed = [&] {
    x.zero();
    batched::spd_inverse(backend, Triangle::lower, A, X, SpdStorage::packed, info.data());
    EXPECT_NEAR(x.to_host()[0], 0.5, 1e-14);
    EXPECT_EQ(info.to_host(), std::vector<int>(count));
  };
  expect_every_failure_comes_out(packed, packed);
  expect_no_allocation([&] {
    batched::inverse(backend, A, X, info.data());
    halves();
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
  for (const bool coarse : {false, true}) {
    SCOPED_TRACE(coarse);
    if (coarse) candidate.coarse = TwoLevelOptions{.size = 12};
    expect_every_failure_comes_out([&] {
      SuggestedSystem<double> system(matrix, candidate);
      system.refresh();
      x.zero();
      EXPECT_TRUE(system.solve(Method::cg, b.view(), x.view()).converged());
    });
  }
  expect_every_failure_comes_out([&] { EXPECT_FALSE(suggest(matrix, {.probe_share = 1.0}).candidates.empty()); });
}

/// What the library allocates on the host while it works on the device.
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
  converges(&minres<double>, M);
  EXPECT_GT(host_failures_, 0);
}

TEST_F(DeviceFaults, AllocationsOnTheHostOfSolvers) {
  const auto expect = [this](const auto& work) { expect_every_host_failure_comes_out(work); };
  every_solver(expect);
  several_columns(expect);
  workspaces(expect);
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

/// Pinned memory is not the user's allocator's: what CUDA says comes out, with the bytes.
TEST_F(DeviceFaults, PinnedMemory) {
  const Backend backend = make_backend();
  const auto arrays = on(backend, sorted_);
  const LinearOperator<double> A(backend, arrays.view());
  const BlockJacobi<double> M(backend, arrays.view(), blocks_);
  const Array<double> b(backend, std::vector<double>(rows, 1.0));
  Array<double> x(backend, std::vector<double>(rows));
  const std::size_t live = memory_->live;
  const auto pinned = FailingPinned::live();
  const auto solve = [&] { return cg(A, M, b.view(), x.view()); };
  {
    const FailingPinned failing;
    try {
      static_cast<void>(solve());
      FAIL() << "no pinned memory is asked for";
    } catch (const CudaError& e) {
      EXPECT_EQ(e.code(), cudaErrorMemoryAllocation);
      EXPECT_NE(std::string(e.what()).find("bytes by cudaMallocHost"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(memory_->live, live);
  EXPECT_EQ(FailingPinned::live(), pinned);
  EXPECT_TRUE(solve().converged());
  EXPECT_EQ(FailingPinned::live(), pinned + 1) << "kept for the next solve";
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
  const std::size_t wanted = BlockJacobi<std::complex<double>>::storage_bytes(partition);
  try {
    BlockJacobi<std::complex<double>>(backend, empty, partition);
    FAIL() << wanted << " bytes were allocated";
  } catch (const CudaError& e) {
    EXPECT_EQ(e.code(), cudaErrorMemoryAllocation);
    EXPECT_NE(std::string(e.what()).find("allocation of " + std::to_string(wanted) + " bytes"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(BlockJacobi<double>(backend, sorted_.view(), blocks_).defects(), 0) << "the backend goes on";
}

}  // namespace
}  // namespace blockjacobi::test
