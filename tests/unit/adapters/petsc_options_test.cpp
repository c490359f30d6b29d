#include "unit/adapters/petsc_systems.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

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
  PetscInt rows = 0;
  must(MatGetLocalSize(A, &rows, nullptr));
  const int own = static_cast<int>((rows + 5) / 6);
  int blocks_of_six = 0;
  MPI_Allreduce(&own, &blocks_of_six, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD);
  EXPECT_EQ(blocks_with(""), 24) << "the variable sizes of the matrix";
  EXPECT_EQ(blocks_with("-pc_blockjacobi_size 6"), blocks_of_six) << "the last one of a rank may be shorter";
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
  EXPECT_EQ(code_of("-pc_blockjacobi_clusters -pc_blockjacobi_detect"), PETSC_ERR_ARG_INCOMP);
  EXPECT_EQ(code_of("-pc_blockjacobi_clusters -pc_blockjacobi_size 4 -pc_blockjacobi_max_size 3"), PETSC_ERR_ARG_WRONG);
  EXPECT_NE(code_of("-pc_blockjacobi_size four"), 0);
  EXPECT_NE(code_of("-pc_blockjacobi_singular ignore"), 0);
  EXPECT_NE(code_of("-pc_blockjacobi_storage half"), 0);
  EXPECT_EQ(code_of("-pc_blockjacobi_accuracy 0"), PETSC_ERR_ARG_OUTOFRANGE);
  for (const char* storage : {"packed", "fp32", "bf16", "fp16", "adaptive -pc_blockjacobi_accuracy 0.01"})
    EXPECT_EQ(code_of(std::string("-pc_blockjacobi_l1 -pc_blockjacobi_storage ") + storage), 0) << storage;
  EXPECT_EQ(code_of("-pc_blockjacobi_size 4 -pc_blockjacobi_singular identity -pc_blockjacobi_storage full"), 0);
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
  const std::string backend = is_on_device() ? "cuda " : "host, 1 thread";
  EXPECT_TRUE(contains(after, "singular blocks: fail, storage: full, backend: " + backend)) << after;
  EXPECT_TRUE(contains(after, "64 rows in 16 blocks of at most 4 rows")) << after;
  EXPECT_TRUE(contains(after, "0 singular blocks, 0 with NaN or Inf; smallest reciprocal condition ")) << after;
  EXPECT_EQ(contains(after, "blocks x order: 16 x 4"), ranks() == 1) << after;
}

TEST(PetscAdapter, StorageAndThreadsAreThoseThatWereAskedFor) {
  const System system = family(matrices::BlockFamily::spd, {4}, 16);
  const OwnedMat A = distribute(system.matrix, system.partition);
  const auto view_with = [&](const std::string& options) {
    const OwnedKsp ksp = solver_of(A, std::string(ours) + options);
    must(KSPSetUp(ksp));
    return viewed(preconditioner_of(ksp));
  };
  for (const std::string storage : {"packed", "fp32", "bf16", "fp16"}) {
    const std::string text = view_with("-pc_blockjacobi_storage " + storage);
    EXPECT_TRUE(contains(text, "storage: " + storage + ", backend")) << text;
    if (ranks() == 1) {
      EXPECT_TRUE(contains(text, "storage " + storage + ": 16 " + storage)) << text;
    }
  }
  if (ranks() == 1 && sizeof(PetscReal) == 8) {
    const std::string adaptive = "-pc_blockjacobi_storage adaptive -pc_blockjacobi_accuracy ";
    EXPECT_TRUE(contains(view_with(adaptive + "1e-14"), "storage adaptive: 16 full"));
    EXPECT_FALSE(contains(view_with(adaptive + "0.5"), " full"));
  }
  if (!is_on_device()) {
    EXPECT_TRUE(contains(view_with("-pc_blockjacobi_threads 2"), "backend: host, 2 threads"));
  }
}

}  // namespace
}  // namespace blockjacobi::test
