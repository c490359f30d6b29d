// Clusters of a matrix on a device are found there, and stay there. Only for a PETSc with CUDA.
#include "unit/adapters/petsc_device.hpp"

#include <algorithm>

#if defined(PETSC_HAVE_CUDA)
namespace blockjacobi::test {
namespace {

using T = PetscScalar;
class PetscDeviceClusters : public PetscDeviceTest {};

const std::string clusters = "-pc_blockjacobi_clusters -pc_blockjacobi_max_size 12 ";

/// New values, then an application: no copies but for what is done once.
void expect_no_copies(PC pc, Mat A) {
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  must(PCApply(pc, r, z));
  must(MatScale(A, 2.0));  // on the device
  {
    const Transfers log("PCSetUp");
    must(PCSetUp(pc));
    EXPECT_EQ(log.info().count, 1);
    EXPECT_EQ(log.copies(), 0);
  }
  expect_no_copy_in_an_application(pc, r, z);
  const Transfers log("PCApply");
  must(PCApplyTranspose(pc, r, z));
  EXPECT_EQ(log.copies(), 0);
}

TEST_F(PetscDeviceClusters, OfSupervariablesNodesAndBlocksOfSeveralSizes) {
  const std::pair<System, bool> systems[] = {{seven_points(8, {1.0, 3.0, 100.0}), false},
                                             {elasticity(4), true},
                                             {family(matrices::BlockFamily::random, {1, 3, 2}, 60), true}};
  for (const auto& [system, know] : systems)
    for (const char* more : {"", "-pc_blockjacobi_max_size 48 ", "-pc_blockjacobi_l1 ", "-pc_blockjacobi_size 5 "}) {
      SCOPED_TRACE(std::to_string(system.matrix.rows()) + " rows, " + more);
      const OwnedMat A = on_device(system, know);
      const OwnedKsp ksp = expect_as_on_host(A, system, "cuda", 1e-11, clusters + more, know);
      expect_no_copies(preconditioner_of(ksp), A);
    }
}

TEST_F(PetscDeviceClusters, TransposedInverses) {
  const System system = family(matrices::BlockFamily::random, {3, 2}, 40);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = set_up(A, clusters), reference = set_up(H, clusters);
  EXPECT_LE(difference(applied(preconditioner_of(ksp), A, true), applied(preconditioner_of(reference), H, true)),
            1e-12);
}

TEST_F(PetscDeviceClusters, TheSameIterations) {
  const System system = elasticity();
  const OwnedMat A = on_device(system), H = on_host(system);
  for (const char* more : {"", "-pc_blockjacobi_coarse ones "}) {
    const std::string options = std::string(cg_options) + ours + clusters + more;
    const Outcome found = solve(A, options), expected = solve(H, options);
    EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL);
    // Dot products are sums in another order there: the band of iterations of whole solves.
    EXPECT_NEAR(found.iterations, expected.iterations, std::max(2.0, 0.02 * expected.iterations)) << more;
    EXPECT_LE(found.residual, 2e-8);
  }
}

TEST_F(PetscDeviceClusters, WithACoarseLevel) {
  const System system = elasticity(4);
  OwnedMat A = on_device(system);
  must(MatSetBlockSize(A, 3));
  const std::string coarse = "-pc_blockjacobi_coarse ones ";
  const OwnedKsp ksp = set_up(A, clusters + coarse);
  const OwnedMat H = on_host(system);
  must(MatSetBlockSize(H, 3));
  const OwnedKsp reference = set_up(H, clusters + coarse);
  const PC pc = preconditioner_of(ksp);
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), 1e-9);
  must(MatScale(A, 2.0));
  {
    const Transfers log("PCSetUp");
    must(PCSetUp(pc));
    EXPECT_EQ(log.copies(), 0);
  }
  must(MatScale(H, 2.0));
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), 1e-9);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  expect_no_copy_in_an_application(pc, r, z);
}

TEST_F(PetscDeviceClusters, OfAMatrixOnTheHostForVectorsThere) {
  const System system = elasticity(4);
  const OwnedMat A = on_host(system);
  must(MatSetVecType(A, VECCUDA));
  const OwnedKsp ksp = expect_as_on_host(A, system, "cuda", 1e-11, clusters);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  expect_no_copy_in_an_application(preconditioner_of(ksp), r, z);
}

/// Once to find the clusters, then values, as the log has it.
TEST_F(PetscDeviceClusters, TheLogHasTheCopiesOfAnAnalysis) {
  const System system = elasticity(4);
  const OwnedMat A = on_host(system);
  must(MatSetVecType(A, VECCUDA));
  MatInfo own;
  must(MatGetInfo(A, MAT_LOCAL, &own));
  const auto pattern = own.nz_used * sizeof(index_t), values = own.nz_used * sizeof(T);  // with other ranks' columns
  const OwnedKsp ksp = solver_of(A, std::string(ours) + clusters);
  {
    const Transfers log("PCSetUp");
    must(PCSetUp(preconditioner_of(ksp)));
    EXPECT_EQ(log.info().CpuToGpuCount, 2);
    EXPECT_GT(log.info().CpuToGpuSize, (pattern + 2 * values) / 2);
    EXPECT_LT(log.info().CpuToGpuSize, 2 * pattern + 3 * values);
    EXPECT_EQ(log.info().GpuToCpuCount, 0);
  }
  const System sizes = family(matrices::BlockFamily::random, {1, 3, 2}, 60);
  const OwnedMat B = on_device(sizes);
  const OwnedKsp other = solver_of(B, std::string(ours) + clusters);
  const Transfers log("PCSetUp");
  must(PCSetUp(preconditioner_of(other)));
  EXPECT_EQ(log.info().GpuToCpuCount, 1);  // the matrix
}

TEST_F(PetscDeviceClusters, ColumnsAtOnce) {
  const System system = family(matrices::BlockFamily::random, {6, 3}, 24);
  const OwnedMat A = on_device(system);
  const OwnedKsp ksp = set_up(A, clusters);
  expect_columns_as_each(preconditioner_of(ksp), A);
}

TEST_F(PetscDeviceClusters, OnRanksWithoutRows) {
  const System system = family(matrices::BlockFamily::spd, {5}, 1);
  const OwnedMat A = on_device(system, false);
  expect_as_on_host(A, system, "cuda", 1e-12, clusters, false);
}

}  // namespace
}  // namespace blockjacobi::test
#endif
