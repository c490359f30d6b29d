#include "unit/adapters/petsc_systems.hpp"

#include <petsc/private/pcimpl.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

/// Replaces what row `row` of A has stored.
void set_row(Mat A, PetscInt row, T value) {
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(A, &first, &end));
  if (row >= first && row < end) {
    PetscInt count = 0;
    const PetscInt* columns = nullptr;
    must(MatGetRow(A, row, &count, &columns, nullptr));
    const std::vector<PetscInt> kept(columns, columns + count);
    must(MatRestoreRow(A, row, &count, &columns, nullptr));
    const std::vector<T> values(kept.size(), value);
    must(MatSetValues(A, 1, &row, static_cast<PetscInt>(kept.size()), kept.data(), values.data(), INSERT_VALUES));
  }
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

TEST(PetscAdapter, SingularBlocksEndTheSolveOnAllRanks) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  for (const T bad : {T(0), T(std::numeric_limits<PetscReal>::quiet_NaN())}) {
    const OwnedMat A = distribute(system.matrix, system.partition);
    const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours);
    EXPECT_EQ(solve(ksp).reason, KSP_CONVERGED_RTOL);
    set_row(A, 63, bad);  // on the last rank
    // Whether PETSc sets up the PC before the solve, as it does once it is told of new values, or within it.
    EXPECT_EQ(solve(ksp).reason, KSP_DIVERGED_PC_FAILED);
    must(KSPSetOperators(ksp, A, A));
    EXPECT_EQ(solve(ksp).reason, KSP_DIVERGED_PC_FAILED);
    PCFailedReason failed;
    must(PCGetFailedReason(preconditioner_of(ksp), &failed));
    EXPECT_EQ(failed, bad == T(0) ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_FACTOR_OTHER);
    const std::string text = viewed(preconditioner_of(ksp));
    if (ranks() == 1) {
      EXPECT_TRUE(contains(text, "block 15 (rows 60..63)")) << text;
    }
    EXPECT_TRUE(contains(text, bad == T(0) ? "1 singular blocks, 0 with NaN" : "0 singular blocks, 1 with NaN"))
        << text;

    // The old values again: the same object recovers.
    const OwnedMat good = distribute(system.matrix, system.partition);
    must(MatCopy(good, A, SAME_NONZERO_PATTERN));
    must(KSPSetOperators(ksp, A, A));
    EXPECT_EQ(solve(ksp).reason, KSP_CONVERGED_RTOL);

    // Policies that replace the block.
    set_row(A, 63, T(0));
    for (const char* policy : {"identity", "scalar_jacobi", "shift", "pseudo_inverse"}) {
      const OwnedKsp other = solver_of(A, std::string(ours) + "-pc_blockjacobi_singular " + policy);
      must(KSPSetUp(other));
      must(PCGetFailedReason(preconditioner_of(other), &failed));
      EXPECT_EQ(failed, PC_NOERROR) << policy;
      const std::vector<T> z = applied(preconditioner_of(other), A);
      if (this_rank() == ranks() - 1 && policy[0] != 'p') {  // the pseudo-inverse has a row of zeros there
        EXPECT_EQ(z.back(), right_hand_side(63)) << policy;
      }
    }

    // A user who wants errors gets one on every rank, whoever has the block, and may go on.
    const OwnedKsp strict = solver_of(A, std::string(cg_options) + ours + "-ksp_error_if_not_converged");
    {
      const Quiet quiet;
      const OwnedVec b = vector_of(A, true), x = vector_of(A, false);
      EXPECT_EQ(KSPSetUp(strict), PETSC_ERR_MAT_LU_ZRPVT);
      EXPECT_EQ(KSPSolve(strict, b, x), PETSC_ERR_MAT_LU_ZRPVT);
    }
    must(MatCopy(good, A, SAME_NONZERO_PATTERN));
    EXPECT_EQ(solve(strict).reason, KSP_CONVERGED_RTOL);
  }
}

TEST(PetscAdapter, EverySolverHearsOfASingularBlockOnOneRank) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  for (const char* solver : {"cg", "fcg", "pipecg", "bcgs", "gmres", "gmres -ksp_pc_side right", "fgmres", "lgmres",
                             "minres", "tfqmr", "richardson", "chebyshev -ksp_chebyshev_eigenvalues 0.1,2", "preonly"})
    for (const char* before : {"set up of bad values", "set up", "solve"}) {
      SCOPED_TRACE(std::string(solver) + ", before: " + before);
      const OwnedMat bad = distribute(system.matrix, system.partition);
      const OwnedKsp ksp = solver_of(bad, "-ksp_type " + std::string(solver) + " " + ours);
      if (std::string(before) == "set up") must(KSPSetUp(ksp));
      if (std::string(before) == "solve") {
        EXPECT_GE(solve(ksp).reason, 0);  // leaves norms in the vectors of the solver
      }
      set_row(bad, 0, 0);  // on the first rank
      if (std::string(before) == "set up of bad values") must(KSPSetUp(ksp));
      EXPECT_EQ(solve(ksp).reason, KSP_DIVERGED_PC_FAILED);
    }
}

TEST(PetscAdapter, AFailureFillsTheVectorOfItsRankAlone) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  PetscReal norm = 0;
  must(PCApply(pc, r, z));
  must(VecNorm(z, NORM_2, &norm));
  EXPECT_TRUE(std::isfinite(norm));

  set_row(A, 0, 0);
  PetscObjectState before = 0, after = 0;
  must(PetscObjectStateGet(reinterpret_cast<PetscObject>(static_cast<Vec>(z)), &before));
  must(PCApply(pc, r, z));
  must(PetscObjectStateGet(reinterpret_cast<PetscObject>(static_cast<Vec>(z)), &after));
  // PETSc counts an array on the host of a vector on a device twice.
  EXPECT_EQ(after, before + (is_on_device() && this_rank() == 0 ? 2 : 1)) << "as of an apply that succeeds";
  // A norm that this rank alone knew would leave the others waiting for it in the next reduction.
  PetscBool known = PETSC_TRUE;
  must(VecNormAvailable(z, NORM_2, &known, &norm));
  EXPECT_EQ(known, PETSC_FALSE);
  must(VecNorm(z, NORM_2, &norm));
  EXPECT_TRUE(std::isinf(norm));
  const std::vector<T> values = applied(pc, A);
  for (const T& value : values) EXPECT_EQ(std::isinf(PetscRealPart(value)), this_rank() == 0);
}

TEST(PetscAdapter, AnErrorInSetUpComesBackUntilItsCauseIsGone) {
  const System system = family(matrices::BlockFamily::spd, {32}, 20 * ranks());
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  const std::vector<T> good = applied(pc, A);
  {
    const Quiet quiet;
    PetscInt rows = 640;  // more than a block may have
    must(MatSetVariableBlockSizes(A, 1, &rows));
    must(MatScale(A, 2.0));
    EXPECT_EQ(PCSetUp(pc), PETSC_ERR_ARG_WRONG);
    EXPECT_EQ(PCSetUp(pc), PETSC_ERR_ARG_WRONG);
    EXPECT_EQ(PCApply(pc, r, z), PETSC_ERR_ARG_WRONG);
    EXPECT_FALSE(contains(viewed(pc), "numeric set-ups"));
    EXPECT_EQ(pc->ops->apply(pc, r, z), PETSC_ERR_ARG_WRONGSTATE);
  }
  std::vector<PetscInt> sizes(20, 32);
  must(MatSetVariableBlockSizes(A, 20, sizes.data()));
  std::vector<T> halves = good;
  for (T& value : halves) value /= T(2);
  EXPECT_EQ(applied(pc, A), halves);
}

/// All ranks take part in PCView(), also where one of them has no inverses.
TEST(PetscAdapter, AnErrorOnOneRankDoesNotStopTheView) {
  const System system = family(matrices::BlockFamily::spd, {32}, 20 * ranks());
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  PetscInt rows = 640;  // more than a block may have
  if (this_rank() == 0) must(MatSetVariableBlockSizes(A, 1, &rows));
  {
    const Quiet quiet;
    EXPECT_EQ(PCSetUp(pc) != 0, this_rank() == 0);
  }
  EXPECT_FALSE(contains(viewed(pc), "numeric set-ups"));
  std::vector<PetscInt> sizes(20, 32);
  must(MatSetVariableBlockSizes(A, 20, sizes.data()));
  must(MatScale(A, 2.0));
  must(PCSetUp(pc));
  EXPECT_TRUE(contains(viewed(pc), "numeric set-ups"));
}

/// Packed storage has half of a block; the view says of which blocks that is not enough, on any number of ranks.
TEST(PetscAdapter, BlocksThatPackedStorageCannotHold) {
  const System system = family(matrices::BlockFamily::random, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, std::string(ours) + "-pc_blockjacobi_storage packed");
  EXPECT_EQ(solve(ksp).reason, KSP_DIVERGED_PC_FAILED);
  PCFailedReason failed;
  must(PCGetFailedReason(preconditioner_of(ksp), &failed));
  EXPECT_EQ(failed, PC_FACTOR_OTHER);
  const std::string text = viewed(preconditioner_of(ksp));
  EXPECT_TRUE(contains(text, "16 blocks not Hermitian, as packed storage needs them")) << text;
  EXPECT_TRUE(contains(text, "(first: block 0)")) << text;
}

TEST(PetscAdapter, WhatCannotBeDoneIsAnErrorOfPetsc) {
  const Quiet quiet;
  // A matrix without a diagonal part to speak of.
  OwnedMat shell;
  must(MatCreateShell(PETSC_COMM_WORLD, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE, nullptr, shell.address()));
  must(MatSetUp(shell));
  const OwnedKsp of_shell = solver_of(shell, ours);
  EXPECT_NE(KSPSetUp(of_shell), 0);

  // A matrix that nobody assembled: what its arrays hold is anything.
  OwnedMat bare;
  must(MatCreateAIJ(PETSC_COMM_WORLD, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE, 1, nullptr, 0, nullptr, bare.address()));
  const OwnedKsp of_bare = solver_of(bare, ours);
  EXPECT_EQ(KSPSetUp(of_bare), PETSC_ERR_ARG_WRONGSTATE);

  // Blocks of more rows than there may be.
  const System system = family(matrices::BlockFamily::spd, {300}, 4);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const auto [first, end] = own_blocks(system.partition);
  PetscInt rows = 300 * (end - first);
  must(MatSetVariableBlockSizes(A, rows > 0 ? 1 : 0, &rows));
  const OwnedKsp of_large = solver_of(A, ours);
  // Collective, so also on ranks whose block is small enough, or that have none.
  EXPECT_EQ(KSPSetUp(of_large), rows > max_block_size ? PETSC_ERR_ARG_WRONG : static_cast<PetscErrorCode>(0));
}

}  // namespace
}  // namespace blockjacobi::test
