#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

constexpr const char* clusters = "-pc_type blockjacobi -pc_blockjacobi_clusters -pc_blockjacobi_max_size 4 ";

/// 24 rows a rank, each coupled to the three whose distance is a multiple of 6, not symmetrically: after a renumbering
/// the matrix is block-diagonal with blocks of 4.
OwnedMat blocks_apart() {
  OwnedMat A;
  must(MatCreateAIJ(PETSC_COMM_WORLD, 24, 24, PETSC_DETERMINE, PETSC_DETERMINE, 4, nullptr, 0, nullptr, A.address()));
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; ++i)
    for (PetscInt j = first + i % 6; j < end; j += 6)
      must(MatSetValue(A, i, j, i == j ? T(9) : T(1) + T(i % 5) / T(4), INSERT_VALUES));
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

/// ||b - op(A) M^-1 b||, largest element; zero up to rounding where the blocks are the whole matrix.
PetscReal residual_of(PC pc, Mat A, bool transposed) {
  const OwnedVec b = vector_of(A, true), x = vector_of(A, false), r = vector_of(A, false);
  PetscReal norm = 0;
  must(transposed ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
  must(transposed ? MatMultTranspose(A, x, r) : MatMult(A, x, r));
  must(VecAXPY(r, -1.0, b));
  must(VecNorm(r, NORM_INFINITY, &norm));
  return norm;
}

TEST(PetscAdapter, ClustersAreBlocksOfRowsThatStandApart) {
  const OwnedMat A = blocks_apart();
  const OwnedKsp ksp = solver_of(A, clusters);
  const PC pc = preconditioner_of(ksp);
  must(KSPSetUp(ksp));
  EXPECT_LE(residual_of(pc, A, false), 1e-14);
  EXPECT_LE(residual_of(pc, A, true), 1e-14);
  const std::string text = viewed(pc);
  EXPECT_TRUE(contains(text, "clusters of at most 4 rows")) << text;
  EXPECT_TRUE(contains(
      text, std::to_string(24 * ranks()) + " rows in " + std::to_string(6 * ranks()) + " blocks of at most 4 rows"))
      << text;

  // New values in the same pattern, in the same clusters.
  must(MatScale(A, 2.0));
  must(MatShift(A, 1.0));
  EXPECT_LE(residual_of(pc, A, false), 1e-14);
  EXPECT_TRUE(contains(viewed(pc), "pattern analyses 1, numeric set-ups 2")) << viewed(pc);

  // Blocks of consecutive rows find nothing to couple here.
  must(PetscOptionsSetValue(nullptr, "-pc_blockjacobi_clusters", "false"));
  must(KSPSetFromOptions(ksp));
  EXPECT_GT(residual_of(pc, A, false), 0.01);
}

TEST(PetscAdapter, DefectsOfClustersHaveTheRowsOfTheMatrix) {
  const OwnedMat A = blocks_apart();
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first + 1; i < end; i += 6)
    for (PetscInt j = first + 1; j < end; j += 6) must(MatSetValue(A, i, j, T(1), INSERT_VALUES));
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  const OwnedKsp ksp = solver_of(A, clusters);
  EXPECT_EQ(solve(ksp).reason, KSP_DIVERGED_PC_FAILED);
  const std::string text = viewed(preconditioner_of(ksp));
  EXPECT_TRUE(contains(text, std::to_string(ranks()) + " singular blocks")) << text;
  if (ranks() == 1) {
    EXPECT_TRUE(contains(text, "1, 7, 13, 19")) << text;
  }
}

TEST(PetscAdapter, ClustersKeepTheBlocksOfTheMatrixWhole) {
  const System system = elasticity();
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, std::string(cg_options) + clusters + "-pc_blockjacobi_max_size 12");
  const Outcome found = solve(ksp);
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL);
  EXPECT_LE(found.residual, 2e-8);
  // Nodes of three rows fill clusters of 12 but not of 4, which keep single nodes.
  EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "blocks of at most 12 rows"));
  const Outcome nodes = solve(A, std::string(cg_options) + clusters);
  const Outcome stated = solve(A, std::string(cg_options) + ours);
  EXPECT_EQ(nodes.iterations, stated.iterations);
  EXPECT_LE(20 * found.iterations, 21 * stated.iterations);
}

TEST(PetscAdapter, ClustersKeepBlocksOfSeveralSizesWhole) {
  const System system = family(matrices::BlockFamily::spd, {1, 3, 2}, 24);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const std::string limit = "-pc_blockjacobi_max_size ";
  const Outcome stated = solve(A, std::string(cg_options) + ours);
  // No two blocks fit into 3 rows but those of 1 and 2, which are no neighbours in all places.
  const Outcome found = solve(A, std::string(cg_options) + clusters + limit + "3");
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL);
  EXPECT_LE(found.iterations, stated.iterations + 2);
  const Quiet quiet;
  const OwnedKsp too_small = solver_of(A, std::string(ours) + clusters + limit + "2");
  EXPECT_EQ(PCSetUp(preconditioner_of(too_small)), PETSC_ERR_ARG_WRONG);
}

TEST(PetscAdapter, ClustersFollowStrongCouplingAcrossTheNumbering) {
  // Rows are coupled strongly to those one layer of the grid away.
  const System system = seven_points(16, {1.0, 1.0, 100.0});
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  const Outcome rows = solve(A, std::string(cg_options) + ours + "-pc_blockjacobi_size 4");
  const Outcome found = solve(A, std::string(cg_options) + clusters);
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL);
  EXPECT_LE(4 * found.iterations, 3 * rows.iterations) << found.iterations << ", " << rows.iterations;
}

TEST(PetscAdapter, ClustersOnRanksWithoutRows) {
  const System system = family(matrices::BlockFamily::spd, {5}, 2);
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  EXPECT_EQ(solve(A, std::string(cg_options) + clusters).reason, KSP_CONVERGED_RTOL);
}

}  // namespace
}  // namespace blockjacobi::test
