#include "faults/band_system.hpp"
#include "support/csr_arrays.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

// An access to memory that is not there ends the context of the process: from then on every call of CUDA fails with the
// same error. Each case has a process of its own.

/// No allocation has it.
VectorView<const double> nowhere() {
  return {reinterpret_cast<const double*>(std::uintptr_t{1} << 20), 400, MemorySpace::device};
}

/// All that is alive when it happens.
struct Objects {
  Backend backend = Backend::cuda();
  System system{400, true};
  CsrArrays<double, std::int32_t> arrays{
      backend,        400, 400, {system.offsets.begin(), system.offsets.end()}, system.columns, system.values,
      IndexBase::zero};
  SparseMatrix<double> matrix{backend, system.view()};
  LinearOperator<double> A{backend, arrays.view()};
  BlockJacobi<double> M{backend, arrays.view(), BlockPartition::uniform(400, 8)};
  TwoLevel<double> two_level{matrix, BlockJacobi<double>(matrix, BlockPartition::uniform(400, 8)), {.size = 12}};
  Multigrid<double> multigrid{matrix, BlockJacobi<double>(matrix, BlockPartition::uniform(400, 8)), {.coarsest = 10}};
  BlockPartition found = BlockPartition::detect(backend, arrays.view(), 16);
  Array<double> b{backend, std::vector<double>(400, 1.0)}, x{backend, std::vector<double>(400)};
  Array<double> several_b{backend, std::vector<double>(400 * 3, 1.0)}, several_x{backend, 400 * 3};
  Array<SolveStatus> status{backend, 1};
  CgWorkspace<double> workspace{A, M};
  GmresWorkspace<double> by_gmres{A, M};

  VectorView<const double> rhs() const { return b.view(); }
  MultiVectorView<const double> columns() const {
    return {several_b.data(), 400, 3, 400, Layout::column_major, MemorySpace::device};
  }
  MultiVectorView<double> solutions() {
    return {several_x.data(), 400, 3, 400, Layout::column_major, MemorySpace::device};
  }
};

/// Calls that did not throw the error, which is that of the first one.
class Silent {
 public:
  template <class Call>
  void count(const char* name, Call call) {
    try {
      call();
      std::fprintf(stderr, "%s says nothing\n", name);
      ++calls_;
    } catch (const CudaError& e) {
      if (error_ == cudaSuccess) error_ = e.code();
      if (e.code() == error_) return;
      std::fprintf(stderr, "%s says %s\n", name, e.what());
      ++calls_;
    }
  }
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
  int error_ = cudaSuccess;
};

/// The status of the child: 0 where `work` found that every call fails, and all destructors came to their end.
[[noreturn]] void in_this_process(const std::function<void(Objects&, Silent&)>& work) {
  Silent silent;
  {
    Objects objects;
    work(objects, silent);
  }
  std::exit(silent.calls() == 0 ? 0 : 1);
}

class StickyErrorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fork has no context of CUDA
    if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  }
};

void all_calls(Objects& o, Silent& silent) {
  o.M.apply(nowhere(), o.x.view());
  silent.count("synchronize", [&] { o.backend.synchronize(); });
  silent.count("to_host", [&] { static_cast<void>(o.x.to_host()); });
  silent.count("copy_from_host", [&] { o.x.copy_from_host(o.system.values.data()); });
  silent.count("zero", [&] { o.x.zero(); });
  silent.count("Array", [&] { Array<double>(o.backend, 100); });
  silent.count("LinearOperator", [&] { LinearOperator<double>(o.backend, o.arrays.view()); });
  silent.count("LinearOperator::apply", [&] { o.A.apply(o.rhs(), o.x.view()); });
  silent.count("BlockJacobi",
               [&] { BlockJacobi<double>(o.backend, o.arrays.view(), BlockPartition::uniform(400, 4)); });
  silent.count("apply", [&] { o.M.apply(o.rhs(), o.x.view()); });
  const auto view = o.arrays.view();
  silent.count("refresh", [&] { o.M.refresh(view.values, view.nnz, MemorySpace::device); });
  silent.count("defects", [&] { static_cast<void>(o.M.defects()); });
  silent.count("TwoLevel::refresh", [&] { o.two_level.refresh(); });
  silent.count("TwoLevel::apply", [&] { o.two_level.apply(o.rhs(), o.x.view()); });
  silent.count("TwoLevel", [&] {
    TwoLevel<double>(o.matrix, BlockJacobi<double>(o.matrix, BlockPartition::uniform(400, 8)), {.size = 12});
  });
  silent.count("Multigrid::refresh", [&] { o.multigrid.refresh(); });
  silent.count("Multigrid::apply", [&] { o.multigrid.apply(o.rhs(), o.x.view()); });
  silent.count("Multigrid::report", [&] { static_cast<void>(o.multigrid.report()); });
  silent.count("Multigrid", [&] {
    Multigrid<double>(o.matrix, BlockJacobi<double>(o.matrix, BlockPartition::uniform(400, 8)), {.coarsest = 10});
  });
  silent.count("suggest", [&] { static_cast<void>(suggest(o.matrix, {.probe_share = 1.0})); });
  silent.count("detect", [&] { static_cast<void>(BlockPartition::detect(o.backend, view, 8)); });
  silent.count("clusters", [&] { static_cast<void>(BlockPartition::clusters(o.matrix, 8)); });
  silent.count("cg", [&] { static_cast<void>(cg(o.A, o.M, o.rhs(), o.x.view())); });
  silent.count("gmres", [&] { static_cast<void>(gmres(o.A, o.M, o.rhs(), o.x.view())); });
  silent.count("bicgstab", [&] { static_cast<void>(bicgstab(o.A, o.M, o.rhs(), o.x.view())); });
  silent.count("minres", [&] { static_cast<void>(minres(o.A, o.M, o.rhs(), o.x.view())); });
  silent.count("cg with a multigrid", [&] { static_cast<void>(cg(o.A, o.multigrid, o.rhs(), o.x.view())); });
  silent.count("cg_columns", [&] { static_cast<void>(cg_columns(o.A, o.M, o.columns(), o.solutions())); });
  silent.count("gmres_columns", [&] { static_cast<void>(gmres_columns(o.A, o.M, o.columns(), o.solutions())); });
  silent.count("cg_enqueue", [&] { cg_enqueue(o.workspace, o.rhs(), o.x.view(), o.status.data()); });
  silent.count("gmres_enqueue", [&] { gmres_enqueue(o.by_gmres, o.rhs(), o.x.view(), o.status.data()); });
  const auto batch = MatrixBatchView<double>::strided(o.x.data(), 8, 8, 8, 64, 6, MemorySpace::device);
  silent.count("inverse",
               [&] { batched::inverse<double>(o.backend, batch, batch, reinterpret_cast<int*>(o.b.data())); });
  // The last: it leaves no inverses.
  silent.count("rebuild", [&] { o.M.rebuild(view.values, view.nnz, MemorySpace::device); });
}

TEST_F(StickyErrorDeathTest, EveryCallAfterItSaysSoAndDestructorsSurvive) {
  EXPECT_EXIT(in_this_process(all_calls), ::testing::ExitedWithCode(0), "");
}

/// The call alone, and what waits for it.
std::function<void(Objects&, Silent&)> meeting_it(std::function<void(Objects&)> call) {
  return [call = std::move(call)](Objects& o, Silent& silent) {
    silent.count("the call", [&] { call(o); });
    silent.count("synchronize", [&] { o.backend.synchronize(); });
  };
}

/// Of work that the solve itself enqueues, with all that it has of its own.
TEST_F(StickyErrorDeathTest, ASolveThatMeetsItEnds) {
  for (const auto solve : {&cg<double>, &bicgstab<double>, &minres<double>, &gmres<double>})
    EXPECT_EXIT(in_this_process(
                    meeting_it([solve](Objects& o) { static_cast<void>(solve(o.A, o.M, nowhere(), o.x.view(), {})); })),
                ::testing::ExitedWithCode(0), "");
  for (const auto solve : {&cg_columns<double>, &gmres_columns<double>})
    EXPECT_EXIT(in_this_process(meeting_it([solve](Objects& o) {
                  MultiVectorView<const double> b = o.columns();
                  b.data = nowhere().data;
                  static_cast<void>(solve(o.A, o.M, b, o.solutions(), {}));
                })),
                ::testing::ExitedWithCode(0), "");
}

TEST_F(StickyErrorDeathTest, ASetUpThatMeetsItEnds) {
  const auto with_no_values = [](const Objects& o) {
    CsrView<double, std::int32_t> view = o.arrays.view();
    view.values = nowhere().data;
    return view;
  };
  EXPECT_EXIT(in_this_process(meeting_it([&](Objects& o) {
                BlockJacobi<double>(o.backend, with_no_values(o), BlockPartition::uniform(400, 8));
              })),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(in_this_process(meeting_it([&](Objects& o) {
                const auto matrix =
                    SparseMatrix<double>::adopt(o.backend, with_no_values(o), {.symmetry = Symmetry::symmetric});
                Multigrid<double>(matrix, BlockJacobi<double>(o.matrix, BlockPartition::uniform(400, 8)),
                                  {.coarsest = 10});
              })),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace blockjacobi::test
