#pragma once

#include "faults/band_system.hpp"
#include "faults/failing_new.hpp"
#include "faults/failing_pinned.hpp"
#include "kernels/counting_resource.hpp"
#include "support/csr_arrays.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
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

  /// The sorted system, on a backend of its own.
  struct Solvable {
    Backend backend;
    CsrArrays<double, std::int32_t> arrays;
    LinearOperator<double> A;
    BlockJacobi<double> M;

    explicit Solvable(const DeviceFaults& faults)
        : backend(faults.make_backend()),
          arrays(on(backend, faults.sorted_)),
          A(backend, arrays.view()),
          M(backend, arrays.view(), faults.blocks_) {}
  };

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

/// expect(work) of every method.
template <class Expect>
void DeviceFaults::every_solver(Expect expect) const {
  const Solvable system(*this);
  const Array<double> b(system.backend, std::vector<double>(rows, 1.0));
  Array<double> x(system.backend, rows);
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
        EXPECT_TRUE(solve(system.A, system.M, b.view(), x.view(), options).converged());
      };
      expect(converges);
    }
}

/// expect(work) of columns that are solved for together.
template <class Expect>
void DeviceFaults::several_columns(Expect expect) const {
  const Solvable system(*this);
  constexpr index_t columns = 3;
  const Array<double> b(system.backend, std::vector<double>(rows * columns, 1.0));
  Array<double> x(system.backend, rows * columns);
  const MultiVectorView<const double> B{b.data(), rows, columns, rows, Layout::column_major, MemorySpace::device};
  const MultiVectorView<double> X{x.data(), rows, columns, rows, Layout::column_major, MemorySpace::device};
  for (const auto solve : {&cg_columns<double>, &gmres_columns<double>}) {
    const auto converges = [&] {
      x.zero();
      for (const SolveReport& report : solve(system.A, system.M, B, X, {})) EXPECT_TRUE(report.converged());
    };
    expect(converges);
  }
}

/// expect(work) of solves that are enqueued.
template <class Expect>
void DeviceFaults::workspaces(Expect expect) const {
  const Solvable system(*this);
  const Array<double> b(system.backend, std::vector<double>(rows, 1.0));
  Array<double> x(system.backend, rows);
  Array<SolveStatus> status(system.backend, 2);
  SolveOptions options;
  options.max_iterations = 60;
  expect([&] {
    CgWorkspace<double> by_cg(system.A, system.M, options);
    GmresWorkspace<double> by_gmres(system.A, system.M, options);
    cg_enqueue(by_cg, b.view(), x.view(), status.data());
    gmres_enqueue(by_gmres, b.view(), x.view(), status.data() + 1);
    for (const SolveStatus& found : status.to_host()) EXPECT_EQ(found.reason, StopReason::converged);
  });
}

}  // namespace blockjacobi::test
