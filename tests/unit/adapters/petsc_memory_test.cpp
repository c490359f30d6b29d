#include "adapters/petsc_memory.hpp"

#include "support/petsc.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blockjacobi::petsc {
namespace {

constexpr auto success = static_cast<PetscErrorCode>(0);

/// A vector that claims to lie in memory of any type.
struct FakeVec {
  std::vector<PetscScalar> values;
  PetscMemType type;
  std::string calls;
};

/// Notes who asked for what.
struct FakeArrays {
  using Vector = FakeVec*;
  static PetscErrorCode read(FakeVec* x, const PetscScalar** array, PetscMemType* type) {
    x->calls += "read ";
    *array = x->values.data();
    *type = x->type;
    return success;
  }
  static PetscErrorCode end_read(FakeVec* x, const PetscScalar**) { return note(x, "end_read "); }
  static PetscErrorCode read_on_host(FakeVec* x, const PetscScalar** array) {
    *array = x->values.data();
    return note(x, "read_on_host ");
  }
  static PetscErrorCode end_read_on_host(FakeVec* x, const PetscScalar**) { return note(x, "end_read_on_host "); }
  static PetscErrorCode write(FakeVec* y, PetscScalar** array, PetscMemType* type) {
    y->calls += "write ";
    *array = y->values.data();
    *type = y->type;
    return success;
  }
  static PetscErrorCode end_write(FakeVec* y, PetscScalar**) { return note(y, "end_write "); }
  static PetscErrorCode write_on_host(FakeVec* y, PetscScalar** array) {
    *array = y->values.data();
    return note(y, "write_on_host ");
  }
  static PetscErrorCode end_write_on_host(FakeVec* y, PetscScalar**) { return note(y, "end_write_on_host "); }
  static PetscErrorCode note(FakeVec* v, const char* call) {
    v->calls += call;
    return success;
  }
};

class PetscMemory : public ::testing::Test {
  test::Quiet quiet_;
};

TEST_F(PetscMemory, HostAndCudaHaveASpaceOthersNot) {
  MemorySpace space = MemorySpace::device;
  EXPECT_EQ(space_of(PETSC_MEMTYPE_HOST, &space), success);
  EXPECT_EQ(space, MemorySpace::host);
  EXPECT_EQ(space_of(PETSC_MEMTYPE_CUDA, &space), success);
  EXPECT_EQ(space, MemorySpace::device);
  EXPECT_EQ(space_of(PETSC_MEMTYPE_NVSHMEM, &space), success);
  EXPECT_EQ(space, MemorySpace::device);
  EXPECT_EQ(space_of(PETSC_MEMTYPE_HIP, &space), PETSC_ERR_SUP);
}

TEST_F(PetscMemory, DeviceArraysAreHandedOnWithoutCopies) {
  FakeVec x{{1, 2}, PETSC_MEMTYPE_CUDA, ""}, y{{0, 0}, PETSC_MEMTYPE_CUDA, ""};
  const auto twice = [&](const PetscScalar* r, PetscScalar* z) {
    EXPECT_EQ(r, x.values.data());
    EXPECT_EQ(z, y.values.data());
    z[1] = PetscScalar(2) * r[1];
    return success;
  };
  bool lie_there = false;
  EXPECT_EQ(with_device_arrays<FakeArrays>(&x, &y, twice, &lie_there), success);
  EXPECT_TRUE(lie_there);
  EXPECT_EQ(y.values[1], PetscScalar(4));
  EXPECT_EQ(x.calls, "read end_read ");
  EXPECT_EQ(y.calls, "write end_write ");
}

TEST_F(PetscMemory, VectorsOnTheHostAreNoneOfADevice) {
  FakeVec x{{1}, PETSC_MEMTYPE_CUDA, ""}, y{{0}, PETSC_MEMTYPE_HOST, ""};
  const auto never = [](const PetscScalar*, PetscScalar*) {
    ADD_FAILURE() << "was called";
    return success;
  };
  bool lie_there = true;
  EXPECT_EQ(with_device_arrays<FakeArrays>(&x, &y, never, &lie_there), success);
  EXPECT_FALSE(lie_there);
  EXPECT_EQ(x.calls, "read end_read ");
  EXPECT_EQ(y.calls, "write end_write ");
}

TEST_F(PetscMemory, TheHostBackendAsksForHostArraysOfAnyVector) {
  FakeVec x{{3}, PETSC_MEMTYPE_CUDA, ""}, y{{0}, PETSC_MEMTYPE_CUDA, ""};
  const auto copy = [](const PetscScalar* r, PetscScalar* z) {
    *z = *r;
    return success;
  };
  EXPECT_EQ(with_host_arrays<FakeArrays>(&x, &y, copy), success);
  EXPECT_EQ(x.calls, "read_on_host end_read_on_host ");
  EXPECT_EQ(y.calls, "write_on_host end_write_on_host ");
  EXPECT_EQ(y.values[0], PetscScalar(3));
}

/// And the vectors are as free as before.
TEST_F(PetscMemory, AnErrorInsideComesBack) {
  FakeVec x{{3}, PETSC_MEMTYPE_CUDA, ""}, y{{0}, PETSC_MEMTYPE_CUDA, ""};
  const auto fail = [](const PetscScalar*, PetscScalar*) { return static_cast<PetscErrorCode>(PETSC_ERR_LIB); };
  EXPECT_EQ(with_host_arrays<FakeArrays>(&x, &y, fail), PETSC_ERR_LIB);
  bool lie_there = false;
  EXPECT_EQ(with_device_arrays<FakeArrays>(&x, &y, fail, &lie_there), PETSC_ERR_LIB);
  y.type = PETSC_MEMTYPE_HIP;
  EXPECT_EQ(with_device_arrays<FakeArrays>(&x, &y, fail, &lie_there), PETSC_ERR_SUP);
  EXPECT_EQ(x.calls, "read_on_host end_read_on_host read end_read read end_read ");
  EXPECT_EQ(y.calls, "write_on_host end_write_on_host write end_write write end_write ");
}

}  // namespace
}  // namespace blockjacobi::petsc
