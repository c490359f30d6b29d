#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

TEST(PetscAdapter, EmptyRanks) {
  // Two blocks: with four ranks two have no rows.
  const System system = family(matrices::BlockFamily::spd, {5}, 2);
  const OwnedMat A = distribute(system.matrix, system.partition);
  EXPECT_EQ(solve(A, std::string(cg_options) + ours).reason, KSP_CONVERGED_RTOL);
  EXPECT_EQ(solve(A, std::string(cg_options) + ours + "-pc_blockjacobi_detect").reason, KSP_CONVERGED_RTOL);
}

TEST(PetscAdapter, NewValuesRepeatTheNumericSetUpAlone) {
  const System first = family(matrices::BlockFamily::spd, {5, 9, 40}, 18, 1);
  const System second = family(matrices::BlockFamily::spd, {5, 9, 40}, 18, 2);
  const OwnedMat A = distribute(first.matrix, first.partition), B = distribute(second.matrix, second.partition);
  const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours),
                 fresh = solver_of(B, std::string(cg_options) + ours);
  must(KSPSetUp(ksp));
  must(KSPSetUp(ksp));  // the same values
  EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses 1, numeric set-ups 1"));

  must(MatCopy(B, A, SAME_NONZERO_PATTERN));
  must(PCSetUp(preconditioner_of(ksp)));  // KSPSetUp() alone would not look at the matrix again
  must(KSPSetUp(fresh));
  EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses 1, numeric set-ups 2"));
  EXPECT_EQ(applied(preconditioner_of(ksp), A), applied(preconditioner_of(fresh), B));

  // Another matrix is another pattern, as far as PETSc can tell.
  must(KSPSetOperators(ksp, B, B));
  must(KSPSetUp(ksp));
  EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses 2, numeric set-ups 3"));
  EXPECT_EQ(applied(preconditioner_of(ksp), B), applied(preconditioner_of(fresh), B));

  // Other options are other blocks.
  must(PetscOptionsSetValue(nullptr, "-pc_blockjacobi_size", "2"));
  must(KSPSetFromOptions(ksp));
  must(PCSetUp(preconditioner_of(ksp)));
  EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "blocks of at most 2 rows"));
}

TEST(PetscAdapter, SizesThatAreStatedAnew) {
  const System system = family(matrices::BlockFamily::spd, {24}, 2 * ranks());
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp uniform = solver_of(A, std::string(ours) + "-pc_blockjacobi_size 7"), ksp = solver_of(A, ours);
  must(KSPSetUp(uniform));
  PetscInt analyses = 0;
  const auto with_sizes = [&](std::vector<PetscInt> sizes) {
    must(MatSetVariableBlockSizes(A, static_cast<PetscInt>(sizes.size()), sizes.data()));
    for (const double factor : {2.0, 0.5}) must(MatScale(A, factor));  // a set-up is for values that changed
    must(PCSetUp(preconditioner_of(ksp)));
    EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses " + std::to_string(++analyses) + ","));
    return applied(preconditioner_of(ksp), A);
  };
  const std::vector<T> blocks_of_24 = with_sizes({24, 24});
  const std::vector<T> shorter_last = with_sizes({7, 7, 7, 7, 7, 7, 6});
  EXPECT_EQ(shorter_last, applied(preconditioner_of(uniform), A));
  const std::vector<T> shorter_first = with_sizes({6, 7, 7, 7, 7, 7, 7});
  EXPECT_NE(shorter_first, shorter_last);
  EXPECT_NE(with_sizes({7, 6, 7, 7, 7, 7, 7}), shorter_first);
  EXPECT_NE(with_sizes({48}), blocks_of_24);
  EXPECT_EQ(with_sizes({24, 24}), blocks_of_24);
}

TEST(PetscAdapter, TransposedInverses) {
  const System system = family(matrices::BlockFamily::random, {6, 3, 35}, 12);
  const OwnedMat A = distribute(system.matrix, system.partition);
  OwnedMat transposed;
  must(MatTranspose(A, MAT_INITIAL_MATRIX, transposed.address()));
  const auto [first, end] = own_blocks(system.partition);
  std::vector<PetscInt> sizes;
  for (index_t b = first; b < end; ++b) sizes.push_back(system.partition.block_size(b));
  must(MatSetVariableBlockSizes(transposed, static_cast<PetscInt>(sizes.size()), sizes.data()));
  const OwnedKsp ksp = solver_of(A, ours), reference = solver_of(transposed, ours);
  must(KSPSetUp(ksp));
  must(KSPSetUp(reference));
  const std::vector<T> found = applied(preconditioner_of(ksp), A, true);
  const std::vector<T> expected = applied(preconditioner_of(reference), transposed);
  double error = 0, norm = 0;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    error += std::norm(found[i] - expected[i]);
    norm += std::norm(expected[i]);
  }
  EXPECT_LE(std::sqrt(error), 1e-12 * std::sqrt(norm));
}

TEST(PetscAdapter, OtherTypesOfMatrices) {
  const System system = elasticity();
  const OwnedMat aij = distribute(system.matrix, system.partition, true, MATAIJ);  // the others have no device
  must(MatSetOption(aij, MAT_SYMMETRIC, PETSC_TRUE));
  const OwnedKsp reference = solver_of(aij, ours);
  must(KSPSetUp(reference));
  const std::vector<T> expected = applied(preconditioner_of(reference), aij);
  for (const char* type : {MATBAIJ, MATSBAIJ, MATSELL}) {
    OwnedMat A;
    must(MatConvert(aij, type, MAT_INITIAL_MATRIX, A.address()));
    const auto [first, end] = own_blocks(system.partition);
    std::vector<PetscInt> sizes(static_cast<std::size_t>(end - first), 3);
    must(MatSetVariableBlockSizes(A, end - first, sizes.data()));
    const OwnedKsp ksp = solver_of(A, ours);
    must(KSPSetUp(ksp));
    EXPECT_EQ(applied(preconditioner_of(ksp), A), expected) << type;
    must(MatScale(A, 2.0));
    must(KSPSetUp(ksp));
    std::vector<T> halves = expected;
    for (T& value : halves) value /= T(2);
    EXPECT_EQ(applied(preconditioner_of(ksp), A), halves) << type;
    EXPECT_TRUE(contains(viewed(preconditioner_of(ksp)), "pattern analyses 1, numeric set-ups 2")) << type;
  }
}

/// PETSc leaves zeros out where it converts a dense matrix, and does not call that another pattern.
TEST(PetscAdapter, ZerosOfDenseMatricesComeAndGo) {
  OwnedMat A;
  must(MatCreateDense(PETSC_COMM_WORLD, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE, nullptr, A.address()));
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(A, &first, &end));
  const auto couple = [&](PetscScalar beside) {
    for (PetscInt i = first; i < end; ++i)
      for (PetscInt j = first; j < end; ++j)
        must(MatSetValue(A, i, j, i == j ? T(2) : i / 2 == j / 2 ? beside : T(0), INSERT_VALUES));
    must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  };
  for (const T start : {T(1), T(0)}) {
    SCOPED_TRACE(start == T(0) ? "0 to 1" : "1 to 0");
    couple(start);
    const OwnedKsp ksp = solver_of(A, std::string(ours) + "-pc_blockjacobi_size 2");
    const PC pc = preconditioner_of(ksp);
    for (const T beside : {start, T(1) - start, start}) {
      couple(beside);
      const OwnedVec x = vector_of(A, false), b = vector_of(A, true), r = vector_of(A, true);
      must(PCApply(pc, b, x));
      must(MatMult(A, x, r));  // the blocks are the whole matrix
      PetscReal error = 0;
      must(VecAXPY(r, -1.0, b));
      must(VecNorm(r, NORM_INFINITY, &error));
      EXPECT_LE(error, 1e-14);
    }
  }
}

}  // namespace
}  // namespace blockjacobi::test
