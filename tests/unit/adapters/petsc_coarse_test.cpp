#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

constexpr const char* coarse = "-pc_blockjacobi_coarse ones ";

TEST(PetscCoarse, FewerIterations) {
  matrices::StencilOptions grid;
  grid.grid = {80, 80, 1};
  grid.phase = 0;  // of complex numbers: vectors of ones are smooth
  System system{matrices::stencil<T>(grid), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 8);
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  for (const char* blocks : {"-pc_blockjacobi_size 8 ", "-pc_blockjacobi_clusters "}) {
    SCOPED_TRACE(blocks);
    const std::string options = std::string(cg_options) + ours + blocks;
    const Outcome alone = solve(A, options, Rhs::product), joined = solve(A, options + coarse, Rhs::product);
    EXPECT_EQ(alone.reason, KSP_CONVERGED_RTOL);
    EXPECT_EQ(joined.reason, KSP_CONVERGED_RTOL);
    EXPECT_LE(joined.residual, 2e-8);
    EXPECT_LT(joined.iterations, alone.iterations * 4 / 5) << alone.iterations;
  }
}

TEST(PetscCoarse, AVectorForEachUnknownOfANode) {
  const System system = elasticity(4);
  const auto find = [&](const char* options) {
    OwnedMat A = distribute(system.matrix, system.partition, false);
    must(MatSetBlockSize(A, 3));
    const OwnedKsp ksp = solver_of(A, std::string(ours) + coarse + options);
    must(PCSetUp(preconditioner_of(ksp)));
    return viewed(preconditioner_of(ksp));
  };
  for (const char* options : {"", "-pc_blockjacobi_clusters"}) {
    const std::string text = find(options);
    EXPECT_TRUE(contains(text, "coarse level of ones on the rows of each rank")) << text;
    if (ranks() > 1) continue;  // the report of a rank is shown of one alone
    const auto number_before = [&](const std::string& word) {
      const auto at = text.find(word);
      EXPECT_NE(at, std::string::npos) << text;
      return std::atoi(text.c_str() + text.rfind(' ', at - 2) + 1);
    };
    EXPECT_EQ(number_before(" vectors on"), 3 * number_before(" aggregates of")) << text;
  }
}

/// Each of the first three unknowns of all nodes, in PETSc's norm.
Owned<MatNullSpace, MatNullSpaceDestroy> translations_of(Mat A) {
  std::vector<OwnedVec> vectors;
  std::vector<Vec> handles;
  for (PetscInt c = 0; c < 3; ++c) {
    vectors.push_back(vector_of(A, false));
    PetscInt first = 0, end = 0;
    must(VecGetOwnershipRange(vectors.back(), &first, &end));
    for (PetscInt i = first; i < end; ++i)
      must(VecSetValue(vectors.back(), i, i % 3 == c ? T(1) : T(0), INSERT_VALUES));
    must(VecAssemblyBegin(vectors.back()));
    must(VecAssemblyEnd(vectors.back()));
    must(VecNormalize(vectors.back(), nullptr));
    handles.push_back(vectors.back());
  }
  Owned<MatNullSpace, MatNullSpaceDestroy> space;
  must(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 3, handles.data(), space.address()));
  return space;
}

TEST(PetscCoarse, TheNearNullspaceOfTheMatrix) {
  const System system = elasticity(4);
  for (const char* blocks : {"", "-pc_blockjacobi_clusters "}) {
    SCOPED_TRACE(blocks);
    const auto applied_with = [&](const char* vectors, PetscInt block_size, MatNullSpace space) {
      const OwnedMat A = distribute(system.matrix, system.partition);
      must(MatSetBlockSize(A, block_size));
      must(MatSetNearNullSpace(A, space));
      const OwnedKsp ksp = solver_of(A, std::string(ours) + blocks + "-pc_blockjacobi_coarse " + vectors);
      return applied(preconditioner_of(ksp), A);
    };
    const auto expect_close = [](const std::vector<T>& a, const std::vector<T>& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::abs(a[i] - b[i]), 1e-9 * (1 + std::abs(b[i]))) << i;
    };
    const OwnedMat A = distribute(system.matrix, system.partition);
    const auto translations = translations_of(A);
    expect_close(applied_with("near_nullspace", 1, translations), applied_with("ones", 3, nullptr));
    Owned<MatNullSpace, MatNullSpaceDestroy> constant;
    must(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, constant.address()));
    expect_close(applied_with("near_nullspace", 3, constant), applied_with("ones", 1, nullptr));
    expect_close(applied_with("near_nullspace", 3, nullptr), applied_with("ones", 3, nullptr));
  }
}

TEST(PetscCoarse, ANearNullspaceOfOtherRows) {
  const System system = elasticity(4), smaller = elasticity(3);
  const OwnedMat A = distribute(system.matrix, system.partition);
  must(MatSetNearNullSpace(A, translations_of(distribute(smaller.matrix, smaller.partition))));
  const OwnedKsp ksp = solver_of(A, std::string(ours) + "-pc_blockjacobi_coarse near_nullspace");
  const Quiet quiet;
  EXPECT_EQ(PCSetUp(preconditioner_of(ksp)), PETSC_ERR_ARG_SIZ);
}

TEST(PetscCoarse, TheViewSaysWhichVectorsServe) {
  const System system = elasticity(4);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const auto find = [&] {
    const OwnedKsp ksp = solver_of(A, std::string(ours) + "-pc_blockjacobi_coarse near_nullspace");
    must(KSPSetUp(ksp));
    return viewed(preconditioner_of(ksp));
  };
  const std::string where = " on the rows of each rank, additive";
  const std::string without = find();
  EXPECT_TRUE(contains(without, "coarse level of ones" + where + "; the matrix has no near-nullspace\n")) << without;
  must(MatSetNearNullSpace(A, translations_of(A)));
  const std::string with = find();
  EXPECT_TRUE(contains(with, "coarse level of near_nullspace" + where + "\n")) << with;
}

constexpr const char* multigrid = "-pc_blockjacobi_coarse multigrid ";

TEST(PetscCoarse, AMultigridNeedsFewerYet) {
  matrices::StencilOptions grid;
  grid.grid = {80, 80, 1};
  grid.phase = 0;
  System system{matrices::stencil<T>(grid), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 8);
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  for (const char* blocks : {"-pc_blockjacobi_size 8 ", "-pc_blockjacobi_clusters "}) {
    SCOPED_TRACE(blocks);
    const std::string options = std::string(cg_options) + ours + blocks;
    const Outcome alone = solve(A, options, Rhs::product), levels = solve(A, options + multigrid, Rhs::product);
    EXPECT_EQ(levels.reason, KSP_CONVERGED_RTOL);
    EXPECT_LE(levels.residual, 2e-8);
    EXPECT_LT(levels.iterations, alone.iterations / 2) << alone.iterations;
    const OwnedKsp ksp = solver_of(A, options + multigrid);
    must(KSPSetUp(ksp));
    const std::string text = viewed(preconditioner_of(ksp));
    EXPECT_TRUE(contains(text, "multigrid on the rows of each rank")) << text;
    EXPECT_EQ(contains(text, "      multigrid: 3 levels"), ranks() == 1) << text;
  }
}

/// Of the near-nullspace of the matrix, and of a vector for each unknown of a node where there is none.
TEST(PetscCoarse, AMultigridOfTheNearNullspace) {
  const System system = elasticity(10);  // levels on each of four ranks
  for (const char* blocks : {"", "-pc_blockjacobi_clusters "}) {
    SCOPED_TRACE(blocks);
    const auto applied_with = [&](PetscInt block_size, MatNullSpace space) {
      const OwnedMat A = distribute(system.matrix, system.partition);
      must(MatSetBlockSize(A, block_size));
      must(MatSetNearNullSpace(A, space));
      const OwnedKsp ksp = solver_of(A, std::string(ours) + blocks + multigrid);
      return applied(preconditioner_of(ksp), A);
    };
    const OwnedMat A = distribute(system.matrix, system.partition);
    const std::vector<T> stated = applied_with(3, nullptr), given = applied_with(3, translations_of(A));
    ASSERT_EQ(stated.size(), given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_LE(std::abs(stated[i] - given[i]), 1e-9 * (1 + std::abs(given[i]))) << i;
    Owned<MatNullSpace, MatNullSpaceDestroy> constant;
    must(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, constant.address()));
    EXPECT_NE(applied_with(3, constant), stated);
  }
}

TEST(PetscCoarse, AMultigridRefusesWhatIsNotHermitian) {
  System system = seven_points(10, {1, 1, 1});
  for (index_t i = 0; i < system.matrix.rows(); ++i) {
    const auto end = static_cast<std::size_t>(system.matrix.row_offsets()[static_cast<std::size_t>(i) + 1]);
    system.matrix.values()[end - 1] *= T(2);  // in the upper triangle
  }
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  EXPECT_EQ(solve(A, std::string(cg_options) + ours + multigrid).reason, KSP_DIVERGED_PC_FAILED);
}

/// Not what it had from values that were refused.
TEST(PetscCoarse, AMultigridOfGoodValuesAfterBadOnes) {
  const System system = seven_points(14, {1, 1, 1});
  const OwnedMat A = distribute(system.matrix, system.partition, false);
  const OwnedMat good = distribute(system.matrix, system.partition, false);
  const std::string options = std::string(cg_options) + ours + multigrid + "-pc_blockjacobi_size 4";
  const OwnedKsp ksp = solver_of(A, options), fresh = solver_of(good, options);
  must(MatScale(A, 0.0));
  must(PCSetUp(preconditioner_of(ksp)));
  PCFailedReason reason = PC_NOERROR;
  must(PCGetFailedReason(preconditioner_of(ksp), &reason));
  EXPECT_NE(reason, PC_NOERROR);
  must(MatCopy(good, A, SAME_NONZERO_PATTERN));
  must(PCSetUp(preconditioner_of(ksp)));
  const std::vector<T> found = applied(preconditioner_of(ksp), A), expected = applied(preconditioner_of(fresh), good);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LE(std::abs(found[i] - expected[i]), 1e-13) << i;
}

TEST(PetscCoarse, NewValues) {
  const System system = seven_points(14, {1, 1, 1});
  for (const char* blocks : {"-pc_blockjacobi_size 4 ", "-pc_blockjacobi_clusters "})
    for (const char* levels : {coarse, multigrid}) {
      SCOPED_TRACE(blocks);
      SCOPED_TRACE(levels);
      const OwnedMat A = distribute(system.matrix, system.partition, false);
      const OwnedKsp ksp = solver_of(A, std::string(ours) + levels + blocks);
      must(KSPSetUp(ksp));
      std::vector<T> halves = applied(preconditioner_of(ksp), A);
      for (T& value : halves) value /= T(2);
      must(MatScale(A, 2.0));
      must(PCSetUp(preconditioner_of(ksp)));
      const std::vector<T> found = applied(preconditioner_of(ksp), A);
      ASSERT_EQ(found.size(), halves.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LE(std::abs(found[i] - halves[i]), 1e-13) << i;
      EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses 1, numeric set-ups 2"));
    }
}

TEST(PetscCoarse, EmptyRanksAndSingularBlocks) {
  const System system = family(matrices::BlockFamily::spd, {5}, 2);
  const OwnedMat A = distribute(system.matrix, system.partition);
  for (const char* levels : {coarse, multigrid})
    EXPECT_EQ(solve(A, std::string(cg_options) + ours + levels).reason, KSP_CONVERGED_RTOL);
  must(MatScale(A, 0.0));
  for (const char* levels : {coarse, multigrid})
    EXPECT_EQ(solve(A, std::string(cg_options) + ours + levels).reason, KSP_DIVERGED_PC_FAILED);
}

TEST(PetscCoarse, WhatItDoesNotDo) {
  const System system = family(matrices::BlockFamily::spd, {5}, 8);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, std::string(ours) + coarse);
  must(KSPSetUp(ksp));
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  const Quiet quiet;
  EXPECT_EQ(PCApplyTranspose(preconditioner_of(ksp), r, z), PETSC_ERR_SUP);
  set_options(std::string(ours) + "-pc_blockjacobi_coarse constants");
  EXPECT_NE(PCSetFromOptions(preconditioner_of(ksp)), 0);
}

}  // namespace
}  // namespace blockjacobi::test
