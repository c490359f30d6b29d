#include "faults/device_faults.hpp"
#include "faults/failing_new.hpp"
#include "faults/solve_in_c.hpp"

#include <blockjacobi/blockjacobi.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>

// The C interface on the device, where the status says which memory there was not enough of.
namespace blockjacobi::test {
namespace {

/// What the status and the message stand for.
void throw_unless_success(bj_status status) {
  if (status == BJ_SUCCESS) return;
  const std::string said = bj_last_error();
  if (status == BJ_OUT_OF_MEMORY) {
    EXPECT_NE(said.find("out of memory"), std::string::npos) << said;
    throw std::bad_alloc();
  }
  EXPECT_EQ(status, BJ_CUDA_ERROR) << said;
  throw CudaError(cudaErrorMemoryAllocation, said);
}

using Solve = bj_status (*)(const bj_backend*, const System&);
using OwnedBackend = Owned<bj_backend, bj_backend_destroy>;

TEST_F(DeviceFaults, MemoryOfCudaInC) {
  const System small(144, true);
  for (const auto kind : {FailingCudaMemory::pooled, FailingCudaMemory::pinned})
    for (const auto& [solve, system] :
         {std::pair<Solve, const System*>{&solve_in_c, &unsorted_}, {&solve_on_levels_in_c, &small}}) {
      SCOPED_TRACE(FailingCudaMemory::call(kind));
      expect_every_failure_of_cuda_comes_out(kind, [solve = solve, system = system] {
        OwnedBackend backend;
        throw_unless_success(in_turn([&] { return bj_backend_create_cuda(0, backend.place()); },
                                     [&] { return solve(backend, *system); }));
      });
    }
}

TEST_F(DeviceFaults, AllocationsOnTheHostInC) {
  {
    const FailingNew first(0);
    bj_backend* none = nullptr;
    ASSERT_EQ(bj_backend_create_host(1, &none), BJ_OUT_OF_MEMORY);  // the message of this thread has its place now
  }
  expect_every_host_failure_comes_out([] {
    OwnedBackend made;
    throw_unless_success(bj_backend_create_cuda(0, made.place()));
  });
  OwnedBackend backend;
  ASSERT_EQ(bj_backend_create_cuda(0, backend.place()), BJ_SUCCESS) << bj_last_error();
  const System small(144, true);
  for (const auto& [solve, system] :
       {std::pair<Solve, const System*>{&solve_in_c, &unsorted_}, {&solve_on_levels_in_c, &small}})
    expect_every_host_failure_comes_out(
        [&backend, solve = solve, system = system] { throw_unless_success(solve(backend, *system)); });
  EXPECT_GT(host_failures_, 0);
}

}  // namespace
}  // namespace blockjacobi::test
