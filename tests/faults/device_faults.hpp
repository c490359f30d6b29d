#pragma once

#include "faults/band_system.hpp"
#include "faults/failing_cuda_memory.hpp"
#include "faults/failing_new.hpp"
#include "kernels/counting_resource.hpp"
#include "support/csr_arrays.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi::test {

inline constexpr index_t rows = 400;

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
    EXPECT_EQ(FailingCudaMemory::live(FailingCudaMemory::pinned), 0);
    EXPECT_EQ(FailingCudaMemory::live(FailingCudaMemory::pooled), 0);
  }

  Backend make_backend() const { return Backend::cuda(0, stream_, memory_); }

  /// The arrays of a system on the device.
  template <Scalar T>
  static CsrArrays<T, std::int32_t> on(const Backend& backend, const SystemOf<T>& system) {
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
  /// The same of memory that CUDA hands out itself: what it says comes out, with the bytes that were wanted.
  void expect_every_failure_of_cuda_comes_out(FailingCudaMemory::Kind kind, const std::function<void()>& work) {
    work();  // what is made once
    const std::size_t live = memory_->live;
    const long held = FailingCudaMemory::live(kind);
    long failures = 0;
    for (long allocation = 0;; ++allocation) {
      SCOPED_TRACE(allocation);
      ASSERT_LT(allocation, 10'000);
      FailingCudaMemory failing(kind, allocation);
      try {
        work();
        EXPECT_FALSE(failing.stop()) << "a failure was made up for in silence";
        break;
      } catch (const CudaError& e) {
        EXPECT_TRUE(failing.stop()) << e.what();
        EXPECT_EQ(e.code(), cudaErrorMemoryAllocation);
        const std::string said = e.what();
        EXPECT_NE(said.find("allocation of "), std::string::npos) << said;
        EXPECT_NE(said.find(std::string(" bytes by ") + FailingCudaMemory::call(kind)), std::string::npos) << said;
        ++failures;
      }
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      EXPECT_EQ(memory_->live, live);
      EXPECT_EQ(FailingCudaMemory::live(kind), held);
      if (HasFailure()) return;
    }
    EXPECT_GT(failures, 0);
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

  /// The sorted system in T, on a backend of its own, with ones on its right-hand sides.
  template <Scalar T>
  struct SolvableIn {
    static constexpr index_t columns = 3;
    Backend backend;
    CsrArrays<T, std::int32_t> arrays;
    LinearOperator<T> A;
    BlockJacobi<T> M;
    Array<T> b, x;
    Array<SolveStatus> status;
    SolveOptions options;

    explicit SolvableIn(const DeviceFaults& faults)
        : backend(faults.make_backend()),
          arrays(on(backend, SystemOf<T>(rows, true))),
          A(backend, arrays.view()),
          M(backend, arrays.view(), faults.blocks_),
          b(backend, std::vector<T>(std::size_t{rows} * columns, T(1))),
          x(backend, b.size()),
          status(backend, 1) {
      options.rtol = sizeof(real_t<T>) == sizeof(float) ? 1e-4 : 1e-8;
      options.max_iterations = 60;
    }
    /// The first column.
    VectorView<const T> right() const { return {b.data(), rows, MemorySpace::device}; }
    VectorView<T> solution() { return {x.data(), rows, MemorySpace::device}; }
  };
  using Solvable = SolvableIn<double>;

  /// A solve from zero, which converges.
  template <Scalar T>
  struct SolveCase {
    std::string name;
    std::function<void(SolvableIn<T>&)> solve;
  };
  /// By every method, also of several columns, and of those that are enqueued.
  template <Scalar T>
  static std::vector<SolveCase<T>> every_solve();

  /// expect(work) of each of them.
  template <Scalar T, class Expect>
  void of_every_solve(Expect expect) const {
    for (const auto& [name, solve] : every_solve<T>()) {
      SCOPED_TRACE(name);
      SolvableIn<T> system(*this);
      expect([&, &solve = solve] { solve(system); });
    }
  }

  long host_failures_ = 0;  ///< that came out
  cudaStream_t stream_ = nullptr;
  const std::shared_ptr<CountingResource> memory_ = std::make_shared<CountingResource>();
  const System sorted_{rows, true}, unsorted_{rows, false};
  const BlockPartition blocks_ = BlockPartition::uniform(rows, 8);
};

template <Scalar T>
std::vector<DeviceFaults::SolveCase<T>> DeviceFaults::every_solve() {
  using Given = SolvableIn<T>;
  using Solve = SolveReport (*)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,
                                const SolveOptions&);
  using SolveColumns = std::vector<SolveReport> (*)(const LinearOperator<T>&, const Preconditioner<T>&,
                                                    MultiVectorView<const T>, MultiVectorView<T>, const SolveOptions&);
  std::vector<SolveCase<T>> cases;
  const auto add = [&](std::string name, std::function<void(Given&)> solve) {
    cases.push_back({std::move(name), [solve = std::move(solve)](Given& given) {
                       given.x.zero();
                       solve(given);
                     }});
  };
  const std::pair<const char*, Solve> solvers[] = {
      {"cg", &cg<T>},       {"fcg", &fcg<T>},       {"minres", &minres<T>},        {"bicgstab", &bicgstab<T>},
      {"gmres", &gmres<T>}, {"fgmres", &fgmres<T>}, {"richardson", &richardson<T>}};
  for (const auto& [name, solve] : solvers)
    for (const Resident resident : {Resident::automatic, Resident::never})
      add(name + std::string(resident == Resident::never ? " in phases" : ""), [solve = solve, resident](Given& s) {
        SolveOptions options = s.options;
        options.resident = resident;
        EXPECT_TRUE(solve(s.A, s.M, s.right(), s.solution(), options).converged());
      });
  const std::pair<const char*, SolveColumns> columns[] = {{"cg_columns", &cg_columns<T>},
                                                          {"gmres_columns", &gmres_columns<T>}};
  for (const auto& [name, solve] : columns)
    add(name, [solve = solve](Given& s) {
      const MultiVectorView<const T> B{s.b.data(), rows, s.columns, rows, Layout::column_major, MemorySpace::device};
      const MultiVectorView<T> X{s.x.data(), rows, s.columns, rows, Layout::column_major, MemorySpace::device};
      for (const SolveReport& report : solve(s.A, s.M, B, X, s.options)) EXPECT_TRUE(report.converged());
    });
  add("cg_enqueue", [](Given& s) {
    CgWorkspace<T> workspace(s.A, s.M, s.options);
    cg_enqueue(workspace, s.right(), s.solution(), s.status.data());
    EXPECT_EQ(s.status.to_host()[0].reason, StopReason::converged);
  });
  add("gmres_enqueue", [](Given& s) {
    GmresWorkspace<T> workspace(s.A, s.M, s.options);
    gmres_enqueue(workspace, s.right(), s.solution(), s.status.data());
    EXPECT_EQ(s.status.to_host()[0].reason, StopReason::converged);
  });
  return cases;
}

}  // namespace blockjacobi::test
