#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

constexpr const char* gmres_options =
    "-ksp_type gmres -ksp_pc_side right -ksp_norm_type unpreconditioned -ksp_rtol 1e-8 -ksp_max_it 5000 "
    "-ksp_divtol 1e30 ";
constexpr const char* theirs = "-pc_type vpbjacobi ";

/// Ours needs as many iterations as PCVPBJACOBI on the same blocks, and finds a solution.
void expect_iterations_of_vpbjacobi(const System& system, const std::string& options) {
  const OwnedMat A = distribute(system.matrix, system.partition);
  const Outcome reference = solve(A, options + theirs, Rhs::product);
  const Outcome found = solve(A, options + ours, Rhs::product);
  EXPECT_EQ(reference.reason, KSP_CONVERGED_RTOL);
  EXPECT_EQ(found.reason, KSP_CONVERGED_RTOL);
  EXPECT_LE(std::abs(found.iterations - reference.iterations), 1) << found.iterations << ", " << reference.iterations;
  EXPECT_LE(found.residual, 2e-8);
}

TEST(PetscAdapter, CgNeedsTheIterationsOfVpbjacobi) {
  expect_iterations_of_vpbjacobi(elasticity(), cg_options);
  for (const index_t n : {3, 8, 16, 32}) {
    SCOPED_TRACE(n);
    expect_iterations_of_vpbjacobi(family(matrices::BlockFamily::spd, {n}, 40), cg_options);
  }
  expect_iterations_of_vpbjacobi(family(matrices::BlockFamily::spd, {3, 1, 17, 5, 32, 8}, 60), cg_options);
}

TEST(PetscAdapter, GmresNeedsTheIterationsOfVpbjacobi) {
  expect_iterations_of_vpbjacobi(family(matrices::BlockFamily::random, {2, 7, 31, 4}, 48), gmres_options);
  matrices::ConvectionDiffusionOptions options;
  options.grid = {24, 24, 1};
  System system{matrices::convection_diffusion<T>(options), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 12);
  expect_iterations_of_vpbjacobi(system, gmres_options);
}

TEST(PetscAdapter, BlocksAboveThirtyTwo) {
  expect_iterations_of_vpbjacobi(family(matrices::BlockFamily::spd, {33, 64, 100, 2, 150}, 10), cg_options);
}

/// A real system where there is a folder of them.
void expect_iterations_on_real_matrix(const char* name, index_t block_size, const std::string& options) {
  const char* folder = std::getenv("BLOCKJACOBI_MATRICES");
  System system{read_matrix_market<T>(std::filesystem::path(folder) / (std::string(name) + ".mtx.gz")), {}};
  system.partition = block_size > 0 ? BlockPartition::uniform(system.matrix.rows(), block_size)
                                    : BlockPartition::detect(system.matrix, 32);
  SCOPED_TRACE(name);
  expect_iterations_of_vpbjacobi(system, options);
}

TEST(PetscAdapter, RealMatricesNeedTheIterationsOfVpbjacobi) {
  if (std::getenv("BLOCKJACOBI_MATRICES") == nullptr) GTEST_SKIP() << "BLOCKJACOBI_MATRICES is not set";
  expect_iterations_on_real_matrix("bcsstk16", 0, cg_options);
  expect_iterations_on_real_matrix("ccx_segmenttet", 3, cg_options);
  expect_iterations_on_real_matrix("opm_spe9", 3, gmres_options);
}

}  // namespace
}  // namespace blockjacobi::test
