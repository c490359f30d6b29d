#include "unit/adapters/petsc_systems.hpp"

#include <petscdmda.h>

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

using OwnedDm = Owned<DM, DMDestroy>;

/// Diffusion of coupled unknowns on a grid whose outermost points are kept at zero, in the scale of its level.
PetscErrorCode diffusion(KSP ksp, Mat, Mat A, void*) {
  constexpr PetscReal within[3][3] = {{4.0, 1.5, 1.0}, {1.5, 3.0, 0.5}, {1.0, 0.5, 2.0}};
  DM grid = nullptr;
  DMDALocalInfo info;
  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  const auto is_inside = [&](PetscInt i, PetscInt j) { return i > 0 && i < info.mx - 1 && j > 0 && j < info.my - 1; };
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
      for (PetscInt c = 0; c < info.dof; ++c) {
        const MatStencil row = {0, j, i, c};
        const auto put = [&](PetscInt x, PetscInt y, PetscReal weight) {
          for (PetscInt other = 0; other < info.dof; ++other) {
            const MatStencil column = {0, y, x, other};
            const PetscScalar value = weight * within[c][other];
            PetscCall(MatSetValuesStencil(A, 1, &row, 1, &column, &value, INSERT_VALUES));
          }
          return static_cast<PetscErrorCode>(0);
        };
        PetscCall(put(i, j, 4.0));
        if (!is_inside(i, j)) continue;
        for (const PetscInt step : {-1, 1}) {
          if (is_inside(i + step, j)) PetscCall(put(i + step, j, -1.0));
          if (is_inside(i, j + step)) PetscCall(put(i, j + step, -1.0));
        }
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

/// PCMG over a grid of 33 x 33 points and two coarser ones, which PETSc makes of it; their matrices have block size 3.
Outcome solved_on_grid(const std::string& options) {
  OwnedDm grid;
  OwnedKsp ksp;
  must(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 33, PETSC_DECIDE,
                    PETSC_DECIDE, 3, 1, nullptr, nullptr, grid.address()));
  must(DMSetMatType(grid, matrix_type()));
#if defined(PETSC_HAVE_CUDA)
  if (is_on_device()) must(DMSetVecType(grid, VECCUDA));
#endif
  must(DMSetUp(grid));
  set_options(std::string(cg_options) + "-pc_type mg -pc_mg_levels 3 " + options);
  must(KSPCreate(PETSC_COMM_WORLD, ksp.address()));
  must(KSPSetDM(ksp, grid));
  must(KSPSetComputeOperators(ksp, diffusion, nullptr));
  must(KSPSetFromOptions(ksp));
  must(KSPSetUp(ksp));
  const Outcome found = solve(ksp, Rhs::product);
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL) << options;
  EXPECT_LE(found.residual, 2e-8) << options;
  return found;
}

TEST(PetscMultigrid, GeometricLevels) {
  const PetscInt reference = solved_on_grid(jacobi).iterations;
  EXPECT_LE(reference, 30);
  // What couples the unknowns of a point is gone with the blocks of the matrices.
  EXPECT_LT(solved_on_grid(blocks).iterations, reference);
  EXPECT_LE(solved_on_grid(std::string(blocks) + "-mg_levels_pc_blockjacobi_storage fp32").iterations, reference);
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
