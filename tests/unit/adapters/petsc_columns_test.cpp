#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

constexpr PetscInt columns = 5;

/// As many rows as A, filled with numbers of their own on every rank; with rows to spare between columns.
OwnedMat dense_of(Mat A, bool filled) {
  OwnedMat X;
  PetscInt rows = 0, all = 0;
  must(MatGetLocalSize(A, &rows, nullptr));
  must(MatGetSize(A, &all, nullptr));
  must(MatCreate(PETSC_COMM_WORLD, X.address()));
  must(MatSetSizes(X, rows, PETSC_DECIDE, all, columns));
  must(MatSetType(X, MATDENSE));
  must(MatDenseSetLDA(X, rows + 3));
  must(MatSetUp(X));
  T* values = nullptr;
  must(MatDenseGetArrayWrite(X, &values));
  for (PetscInt j = 0; j < columns; ++j)
    for (PetscInt i = 0; i < rows; ++i)
      values[i + j * (rows + 3)] = filled ? right_hand_side(i * 3 + j * 5 + this_rank()) : T(0);
  must(MatDenseRestoreArrayWrite(X, &values));
  must(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  return X;
}

/// The largest |Y - M^-1 X| of any column by PCApply(), over the largest |M^-1 X|.
double error_of(PC pc, Mat A, Mat X, Mat Y) {
  double error = 0, size = 0;
  for (PetscInt j = 0; j < columns; ++j) {
    Vec x = nullptr, y = nullptr;
    const OwnedVec z = vector_of(A, false);
    PetscReal norm = 0;
    must(MatDenseGetColumnVecRead(X, j, &x));
    must(PCApply(pc, x, z));
    must(MatDenseRestoreColumnVecRead(X, j, &x));
    must(VecNorm(z, NORM_INFINITY, &norm));
    size = std::max(size, norm);
    must(MatDenseGetColumnVecRead(Y, j, &y));
    must(VecAXPY(z, -1.0, y));
    must(MatDenseRestoreColumnVecRead(Y, j, &y));
    must(VecNorm(z, NORM_INFINITY, &norm));
    error = std::max(error, norm);
  }
  return error / size;
}

TEST(PetscColumns, AllAtOnceAreTheSameAsEach) {
  const System system = family(matrices::BlockFamily::random, {6, 3, 35}, 12);
  const OwnedMat A = distribute(system.matrix, system.partition);
  for (const char* options :
       {"", "-pc_blockjacobi_clusters -pc_blockjacobi_max_size 40", "-pc_blockjacobi_coarse ones"}) {
    SCOPED_TRACE(options);
    const OwnedKsp ksp = solver_of(A, std::string(ours) + options);
    const PC pc = preconditioner_of(ksp);
    must(PCSetUp(pc));
    const OwnedMat X = dense_of(A, true), Y = dense_of(A, false);
    must(PCMatApply(pc, X, Y));
    EXPECT_LE(error_of(pc, A, X, Y), 1e-14);
  }
}

TEST(PetscColumns, KspMatSolveTakesThem) {
  const System system = family(matrices::BlockFamily::random, {6, 3, 35}, 12);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, std::string("-ksp_type preonly ") + ours);
  const OwnedMat X = dense_of(A, true), Y = dense_of(A, false);
  must(KSPMatSolve(ksp, X, Y));
  EXPECT_LE(error_of(preconditioner_of(ksp), A, X, Y), 1e-14);
}

TEST(PetscColumns, AFailedSetUpFillsAllWithInfinity) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  must(MatScale(A, 0.0));
  const OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  must(PCSetUp(pc));
  const OwnedMat X = dense_of(A, true), Y = dense_of(A, false);
  must(PCMatApply(pc, X, Y));
  const T* values = nullptr;
  PetscInt rows = 0;
  must(MatGetLocalSize(Y, &rows, nullptr));
  must(MatDenseGetArrayRead(Y, &values));
  EXPECT_TRUE(std::isinf(std::abs(values[0])));
  EXPECT_TRUE(std::isinf(std::abs(values[rows - 1 + (columns - 1) * (rows + 3)])));
  must(MatDenseRestoreArrayRead(Y, &values));
}

/// A multiplication and an addition for each number of the inverses, and for each number and row to make them.
TEST(PetscColumns, TheLogCountsTheOperations) {
  const System system = family(matrices::BlockFamily::spd, {4, 8}, 24);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  const auto [first, end] = own_blocks(system.partition);
  double squares = 0, cubes = 0;
  for (index_t b = first; b < end; ++b) {
    const double order = system.partition.block_size(b);
    squares += order * order;
    cubes += order * order * order;
  }
  const double per_operation = PETSC_FLOPS_PER_OP;  // of PETSc: 4 for complex numbers
  const auto counted = [](auto call) {
    PetscLogDouble before = 0, after = 0;
    must(PetscGetFlops(&before));
    call();
    must(PetscGetFlops(&after));
    return after - before;
  };
  EXPECT_EQ(counted([&] { must(PCSetUp(pc)); }), per_operation * 2 * cubes);
  must(MatScale(A, 2.0));
  EXPECT_EQ(counted([&] { must(PCSetUp(pc)); }), per_operation * 2 * cubes);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  const double one = counted([&] { must(PCApply(pc, r, z)); });
  EXPECT_EQ(one, per_operation * 2 * squares);
  const OwnedMat X = dense_of(A, true), Y = dense_of(A, false);
  must(PCMatApply(pc, X, Y));  // for these the host has to have the inverses, of a matrix on a device too
  EXPECT_EQ(counted([&] { must(PCMatApply(pc, X, Y)); }), columns * one);
}

}  // namespace
}  // namespace blockjacobi::test
