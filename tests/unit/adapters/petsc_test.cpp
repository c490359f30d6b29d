#include "support/petsc.hpp"
#include "matrices/generators.hpp"

#include <petsc/private/pcimpl.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <unistd.h>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

constexpr const char* cg_options =
    "-ksp_type cg -ksp_norm_type unpreconditioned -ksp_rtol 1e-8 -ksp_max_it 5000 -ksp_divtol 1e30 ";
constexpr const char* gmres_options =
    "-ksp_type gmres -ksp_pc_side right -ksp_norm_type unpreconditioned -ksp_rtol 1e-8 -ksp_max_it 5000 "
    "-ksp_divtol 1e30 ";
constexpr const char* ours = "-pc_type blockjacobi ";
constexpr const char* theirs = "-pc_type vpbjacobi ";

struct System {
  CsrMatrix<T> matrix;
  BlockPartition partition;
};

System family(matrices::BlockFamily kind, std::vector<index_t> sizes, index_t blocks, std::uint64_t seed = 1) {
  matrices::BlockFamilyOptions options;
  options.family = kind;
  options.sizes = std::move(sizes);
  options.blocks = blocks;
  options.coupling = 0.4;
  options.singular_every = blocks;
  options.seed = seed;
  return {matrices::block_family<T>(options), BlockPartition::from_offsets(matrices::block_family_offsets(options))};
}

System elasticity() {
  matrices::ElasticityOptions options;
  options.elements = {6, 6, 6};
  System system{matrices::elasticity<T>(options), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 3);
  return system;
}

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

/// z = M^-1 r, or with the transposed inverses, as it lies on this rank.
std::vector<T> applied(PC pc, Mat A, bool transposed = false) {
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  must(transposed ? PCApplyTranspose(pc, r, z) : PCApply(pc, r, z));
  PetscInt size = 0;
  const T* values = nullptr;
  must(VecGetLocalSize(z, &size));
  must(VecGetArrayRead(z, &values));
  const std::vector<T> result(values, values + size);
  must(VecRestoreArrayRead(z, &values));
  return result;
}

std::string viewed(PC pc) {
  PetscViewer viewer = nullptr;
  const std::string path = (std::filesystem::temp_directory_path() / ("bj_view_" + std::to_string(getpid()))).string();
  std::vector<char> name(path.begin(), path.end());
  name.resize(512, '\0');
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, PETSC_COMM_WORLD);
  must(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name.data(), &viewer));
  must(PCView(pc, viewer));
  must(PetscViewerDestroy(&viewer));
  MPI_Barrier(PETSC_COMM_WORLD);
  std::FILE* file = std::fopen(name.data(), "r");
  std::string result;
  for (int c = file != nullptr ? std::fgetc(file) : EOF; c != EOF; c = std::fgetc(file))
    result.push_back(static_cast<char>(c));
  if (file != nullptr) std::fclose(file);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (this_rank() == 0) std::remove(name.data());
  return result;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Errors of PETSc come back as codes, without a word.
class Quiet {
 public:
  Quiet() { must(PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr)); }
  ~Quiet() { static_cast<void>(PetscPopErrorHandler()); }
};

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

TEST(PetscAdapter, EmptyRanks) {
  // Two blocks: with four ranks two have no rows.
  const System system = family(matrices::BlockFamily::spd, {5}, 2);
  const OwnedMat A = distribute(system.matrix, system.partition);
  EXPECT_EQ(solve(A, std::string(cg_options) + ours).reason, KSP_CONVERGED_RTOL);
  EXPECT_EQ(solve(A, std::string(cg_options) + ours + "-pc_blockjacobi_detect").reason, KSP_CONVERGED_RTOL);
}

TEST(PetscAdapter, OptionsSayWhichBlocks) {
  const System system = family(matrices::BlockFamily::spd, {4, 8}, 24);  // 144 rows
  const OwnedMat A = distribute(system.matrix, system.partition);
  const auto blocks_with = [&](const std::string& options) {
    const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours + options);
    must(KSPSetUp(ksp));
    const std::string text = viewed(preconditioner_of(ksp));
    const auto at = text.find("rows in ");
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + 8);
  };
  EXPECT_EQ(blocks_with(""), 24) << "the variable sizes of the matrix";
  EXPECT_EQ(blocks_with("-pc_blockjacobi_size 6"), 24) << "144 / 6";
  EXPECT_EQ(blocks_with("-pc_blockjacobi_size 1"), 144);
  EXPECT_EQ(blocks_with("-pc_blockjacobi_detect -pc_blockjacobi_max_size 1"), 144);

  // Neither sizes nor options: the block size of the matrix, and without one the pattern.
  const System chain = family(matrices::BlockFamily::spd, {3}, 24);
  const OwnedMat plain = distribute(chain.matrix, chain.partition, false);
  const auto blocks_of_plain = [&] {
    const OwnedKsp ksp = solver_of(plain, std::string(cg_options) + ours + "-pc_blockjacobi_max_size 1");
    must(KSPSetUp(ksp));
    const std::string text = viewed(preconditioner_of(ksp));
    return std::atoi(text.c_str() + text.find("rows in ") + 8);
  };
  EXPECT_EQ(blocks_of_plain(), 72);
}

TEST(PetscAdapter, TheBlockSizeOfTheMatrixIsTheDefault) {
  OwnedMat A;
  must(MatCreate(PETSC_COMM_WORLD, A.address()));
  must(MatSetSizes(A, 6, 6, PETSC_DETERMINE, PETSC_DETERMINE));
  must(MatSetType(A, MATAIJ));
  must(MatSetBlockSize(A, 3));
  must(MatSetUp(A));
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; ++i) must(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  const OwnedKsp ksp = solver_of(A, ours);
  must(KSPSetUp(ksp));
  const std::string text = viewed(preconditioner_of(ksp));
  EXPECT_TRUE(contains(text, "in " + std::to_string(2 * ranks()) + " blocks of at most 3 rows")) << text;
  EXPECT_EQ(applied(preconditioner_of(ksp), A).at(0), right_hand_side(first) / T(2));
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

    // A user who wants errors gets one.
    const Quiet quiet;
    const OwnedKsp strict = solver_of(A, std::string(cg_options) + ours + "-ksp_error_if_not_converged");
    EXPECT_EQ(KSPSetUp(strict) != 0, this_rank() == ranks() - 1);
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
  EXPECT_EQ(after, before + 1) << "as of an apply that succeeds";
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

TEST(PetscAdapter, WrongOptionsAreErrorsOfPetsc) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const Quiet quiet;
  const auto code_of = [&](const std::string& options) {
    set_options(std::string(ours) + options);
    OwnedKsp ksp;
    must(KSPCreate(PETSC_COMM_WORLD, ksp.address()));
    must(KSPSetOperators(ksp, A, A));
    const PetscErrorCode code = KSPSetFromOptions(ksp);
    return code != 0 ? code : KSPSetUp(ksp);
  };
  EXPECT_EQ(code_of(""), 0);
  EXPECT_EQ(code_of("-pc_blockjacobi_size 0"), PETSC_ERR_ARG_OUTOFRANGE);
  EXPECT_EQ(code_of("-pc_blockjacobi_size 513"), PETSC_ERR_ARG_OUTOFRANGE);
  EXPECT_EQ(code_of("-pc_blockjacobi_max_size 0"), PETSC_ERR_ARG_OUTOFRANGE);
  EXPECT_EQ(code_of("-pc_blockjacobi_threads 0"), PETSC_ERR_ARG_OUTOFRANGE);
  EXPECT_EQ(code_of("-pc_blockjacobi_size 4 -pc_blockjacobi_detect"), PETSC_ERR_ARG_INCOMP);
  EXPECT_NE(code_of("-pc_blockjacobi_size four"), 0);
  EXPECT_NE(code_of("-pc_blockjacobi_singular ignore"), 0);
  EXPECT_NE(code_of("-pc_blockjacobi_storage half"), 0);
  EXPECT_EQ(code_of("-pc_blockjacobi_accuracy 0"), PETSC_ERR_ARG_OUTOFRANGE);
  for (const char* storage : {"packed", "fp32", "bf16", "fp16", "adaptive -pc_blockjacobi_accuracy 0.01"})
    EXPECT_EQ(code_of(std::string("-pc_blockjacobi_l1 -pc_blockjacobi_storage ") + storage), 0) << storage;
  EXPECT_EQ(code_of("-pc_blockjacobi_size 4 -pc_blockjacobi_singular identity -pc_blockjacobi_storage full"), 0);
}

TEST(PetscAdapter, WhatCannotBeDoneIsAnErrorOfPetsc) {
  const Quiet quiet;
  // A matrix without a diagonal part to speak of.
  OwnedMat shell;
  must(MatCreateShell(PETSC_COMM_WORLD, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE, nullptr, shell.address()));
  must(MatSetUp(shell));
  const OwnedKsp of_shell = solver_of(shell, ours);
  EXPECT_NE(KSPSetUp(of_shell), 0);

  // Blocks of more rows than there may be.
  const System system = family(matrices::BlockFamily::spd, {300}, 4);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const auto [first, end] = own_blocks(system.partition);
  PetscInt rows = 300 * (end - first);
  must(MatSetVariableBlockSizes(A, 1, &rows));
  const OwnedKsp of_large = solver_of(A, ours);
  if (rows > max_block_size) {
    EXPECT_EQ(KSPSetUp(of_large), PETSC_ERR_ARG_WRONG);
  }
}

TEST(PetscAdapter, OtherTypesOfMatrices) {
  const System system = elasticity();
  const OwnedMat aij = distribute(system.matrix, system.partition);
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

TEST(PetscAdapter, ViewShowsOptionsAndReport) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours + "-pc_blockjacobi_size 4");
  const std::string before = viewed(preconditioner_of(ksp));
  EXPECT_TRUE(contains(before, "type: blockjacobi") && contains(before, "blocks of 4 rows")) << before;
  EXPECT_TRUE(contains(before, "backend: none yet")) << before;
  must(KSPSetUp(ksp));
  const std::string after = viewed(preconditioner_of(ksp));
  EXPECT_TRUE(contains(after, "singular blocks: fail, storage: full, backend: host, 1 thread")) << after;
  EXPECT_TRUE(contains(after, "64 rows in 16 blocks of at most 4 rows")) << after;
  EXPECT_TRUE(contains(after, "0 singular blocks, 0 with NaN or Inf; smallest reciprocal condition ")) << after;
  EXPECT_EQ(contains(after, "blocks x order: 16 x 4"), ranks() == 1) << after;
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
