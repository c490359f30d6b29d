#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

constexpr const char* gamg = "-pc_type gamg ";
constexpr const char* jacobi = "-mg_levels_pc_type jacobi ";
// Aggregates of fewer rows than near-nullspace vectors leave zero rows in coarse matrices, which Jacobi takes for ones.
constexpr const char* blocks = "-mg_levels_pc_type blockjacobi -mg_levels_pc_blockjacobi_singular pseudo_inverse ";

Outcome solved(Mat A, const std::string& options) {
  const Outcome found = solve(A, std::string(cg_options) + options, Rhs::product);
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL) << options;
  EXPECT_LE(found.residual, 2e-8) << options;
  return found;
}

/// A clamped cube with its rigid body modes.
OwnedMat elastic_cube(index_t elements, MatType type = matrix_type()) {
  const System system = elasticity(elements);
  OwnedMat A = distribute(system.matrix, system.partition, false, type);
  must(MatSetBlockSize(A, 3));
  must(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  OwnedVec coordinates;
  must(MatCreateVecs(A, coordinates.address(), nullptr));
  must(VecSetBlockSize(coordinates, 3));
  PetscInt first = 0, end = 0;
  must(VecGetOwnershipRange(coordinates, &first, &end));
  for (PetscInt node = first / 3; node < end / 3; ++node) {
    // x fastest; the nodes at x = 0 are clamped and not among the rows.
    const PetscInt at[3] = {1 + node % elements, node / elements % (elements + 1), node / elements / (elements + 1)};
    for (PetscInt axis = 0; axis < 3; ++axis)
      must(VecSetValue(coordinates, 3 * node + axis, static_cast<PetscReal>(at[axis]), INSERT_VALUES));
  }
  must(VecAssemblyBegin(coordinates));
  must(VecAssemblyEnd(coordinates));
  MatNullSpace modes = nullptr;
  must(MatNullSpaceCreateRigidBody(coordinates, &modes));
  must(MatSetNearNullSpace(A, modes));
  must(MatNullSpaceDestroy(&modes));
  return A;
}

TEST(PetscMultigrid, ElasticityWithRigidBodyModes) {
  const OwnedMat A = elastic_cube(8);
  const PetscInt reference = solved(A, std::string(gamg) + jacobi).iterations;
  for (const char* storage : {"full", "packed", "fp32"}) {
    const PetscInt found =
        solved(A, std::string(gamg) + blocks + "-mg_levels_pc_blockjacobi_storage " + storage).iterations;
    EXPECT_LE(found, reference + 1) << storage;
  }
  // Far below what the smoother needs without the coarse levels.
  EXPECT_LE(4 * reference, solved(A, ours).iterations);
}

TEST(PetscMultigrid, L1NeedsNoEigenvalues) {
  const OwnedMat A = elastic_cube(8);
  const PetscInt reference = solved(A, std::string(gamg) + jacobi).iterations;
  const std::string richardson = "-mg_levels_ksp_type richardson ";
  EXPECT_LE(solved(A, std::string(gamg) + blocks + richardson + "-mg_levels_pc_blockjacobi_l1").iterations,
            2 * reference);
  // Without l1 undamped Richardson blows up what it shall smooth, and CG needs many times as many iterations or fails.
  const Outcome undamped = solve(A, std::string(cg_options) + gamg + blocks + richardson, Rhs::product);
  EXPECT_TRUE(undamped.reason < 0 || undamped.iterations > 4 * reference) << undamped.iterations;
}

TEST(PetscMultigrid, SevenPoints) {
  const System system = seven_points(16, {1.0, 1.0, 1.0});
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  const PetscInt reference = solved(A, std::string(gamg) + jacobi).iterations;
  EXPECT_LE(solved(A, std::string(gamg) + blocks).iterations, reference + 1);
  EXPECT_LE(solved(A, std::string(gamg) + blocks + "-mg_levels_pc_blockjacobi_size 4").iterations, reference + 1);
}

TEST(PetscMultigrid, BlocksAlongStrongCouplingSmoothWhatJacobiDoesNot) {
  const System system = seven_points(16, {100.0, 1.0, 1.0});
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  const PetscInt reference = solved(A, std::string(gamg) + jacobi).iterations;
  EXPECT_LE(4 * solved(A, std::string(gamg) + blocks + "-mg_levels_pc_blockjacobi_size 16").iterations, 3 * reference);
  const System across = seven_points(16, {1.0, 1.0, 100.0});
  const OwnedMat B = distribute(across.matrix, across.partition, false);
  const PetscInt reference_across = solved(B, std::string(gamg) + jacobi).iterations;
  EXPECT_LE(4 * solved(B, std::string(gamg) + blocks + "-mg_levels_pc_blockjacobi_clusters").iterations,
            3 * reference_across);
}

TEST(PetscMultigrid, UnderDeflation) {
#if !defined(PETSC_HAVE_MUMPS)
  if (ranks() > 1) GTEST_SKIP() << "PETSc's deflation wants a factorization over several ranks, which this one lacks";
#endif
  const OwnedMat A = elastic_cube(8, MATAIJ);  // PETSc's deflation has no product of parallel matrices on devices
  const std::string deflation = "-pc_type deflation -pc_deflation_compute_space_size 2 -deflation_pc_pc_type ";
  const PetscInt found = solved(A, deflation + "blockjacobi").iterations;
  EXPECT_LE(found, solved(A, deflation + "jacobi").iterations + 1);
  EXPECT_LE(found, solved(A, ours).iterations);
}

}  // namespace
}  // namespace blockjacobi::test
