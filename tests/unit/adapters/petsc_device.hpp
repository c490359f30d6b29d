// Matrices on a device for the tests of the PETSc adapter. Only for a PETSc with CUDA.
#pragma once

#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

inline double difference(const std::vector<PetscScalar>& a, const std::vector<PetscScalar>& b) {
  double error = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    error += std::norm(a[i] - b[i]);
    norm += std::norm(b[i]);
  }
  return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}

inline OwnedKsp set_up(Mat A, const std::string& options = {}) {
  OwnedKsp ksp = solver_of(A, ours + options);
  must(KSPSetUp(ksp));
  return ksp;
}

/// Copies between host and device that PETSc counts for an event in a stage of its own.
class Transfers {
 public:
  explicit Transfers(const char* name) {
    static int stages = 0;
    must(PetscLogDefaultBegin());
    must(PetscLogStageRegister(("transfers " + std::to_string(stages++)).c_str(), &stage_));
    must(PetscLogEventGetId(name, &event_));
    must(PetscLogStagePush(stage_));
  }
  ~Transfers() { static_cast<void>(PetscLogStagePop()); }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  PetscEventPerfInfo info() const {
    PetscEventPerfInfo found;
    must(PetscLogEventGetPerfInfo(stage_, event_, &found));
    return found;
  }
  int copies() const { return static_cast<int>(info().CpuToGpuCount + info().GpuToCpuCount); }

 private:
  PetscLogStage stage_ = 0;
  PetscLogEvent event_ = 0;
};

inline bool computes_on(PC pc, const std::string& backend) { return contains(viewed(pc), "backend: " + backend); }

/// The preconditioner of A, which is made on this backend, does what that of the same matrix on the host does, for new
/// values too.
inline OwnedKsp expect_as_on_host(Mat A, const System& system, const std::string& backend, double tolerance,
                                  const std::string& options = {}, bool know = true) {
  const OwnedMat H = on_host(system, know);
  OwnedKsp ksp = set_up(A, options);
  const OwnedKsp reference = set_up(H, options);
  const PC pc = preconditioner_of(ksp);
  EXPECT_TRUE(computes_on(pc, backend)) << viewed(pc);
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), tolerance);
  must(MatScale(A, 2.0));
  must(MatScale(H, 2.0));
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), tolerance);
  EXPECT_TRUE(contains(viewed(pc), "pattern analyses 1, numeric set-ups 2")) << viewed(pc);
  return ksp;
}

/// But for what is done once.
inline void expect_no_copy_in_an_application(PC pc, Vec r, Vec z) {
  must(PCApply(pc, r, z));
  const Transfers log("PCApply");
  must(PCApply(pc, r, z));
  EXPECT_EQ(log.copies(), 0);
}

/// Columns on the device are taken at once, without a copy.
inline void expect_columns_as_each(PC pc, Mat A) {
  PetscInt rows = 0;
  must(MatGetLocalSize(A, &rows, nullptr));
  OwnedMat X, Y;
  for (OwnedMat* M : {&X, &Y}) {
    must(MatCreateDenseCUDA(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, 5, nullptr, M->address()));
    must(MatAssemblyBegin(*M, MAT_FINAL_ASSEMBLY));
    must(MatAssemblyEnd(*M, MAT_FINAL_ASSEMBLY));
  }
  must(MatSetRandom(X, nullptr));
  must(PCMatApply(pc, X, Y));
  {
    const Transfers log("PCMatApply");
    must(PCMatApply(pc, X, Y));
    EXPECT_EQ(log.copies(), 0);
  }
  for (PetscInt j = 0; j < 5; ++j) {
    Vec x = nullptr, y = nullptr;
    const OwnedVec z = vector_of(A, false);
    must(MatDenseGetColumnVecRead(X, j, &x));
    must(PCApply(pc, x, z));
    must(MatDenseRestoreColumnVecRead(X, j, &x));
    must(MatDenseGetColumnVecRead(Y, j, &y));
    must(VecAXPY(z, -1.0, y));
    must(MatDenseRestoreColumnVecRead(Y, j, &y));
    PetscReal norm = 0;
    must(VecNorm(z, NORM_INFINITY, &norm));
    EXPECT_LE(norm, 1e-12) << j;
  }
}

}  // namespace blockjacobi::test
#endif
