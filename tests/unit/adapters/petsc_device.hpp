// Matrices on a device for the tests of the PETSc adapter. Only for a PETSc with CUDA.
#pragma once

#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#if defined(PETSC_HAVE_CUDA)
namespace blockjacobi::test {

class PetscDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  }
};

inline OwnedMat on_device(const System& system, bool know = true) {
  return distribute(system.matrix, system.partition, know, MATAIJCUSPARSE);
}

inline OwnedMat on_host(const System& system, bool know = true) {
  return distribute(system.matrix, system.partition, know, MATAIJ);
}

}  // namespace blockjacobi::test
#endif
