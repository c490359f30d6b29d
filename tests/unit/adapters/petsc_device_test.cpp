// Matrices and vectors on a device: what stays there, and what is copied. Only for a PETSc with CUDA.
#include "unit/adapters/petsc_device.hpp"

#if defined(PETSC_HAVE_CUDA)
#include <petscdmda.h>

PETSC_EXTERN PetscBool PetscLogGpuTimeFlag;  // in a private header since 3.20

namespace blockjacobi::test {
namespace {

using T = PetscScalar;

TEST_F(PetscDeviceTest, SetUpAndApplicationStayThere) {
  const System system = family(matrices::BlockFamily::spd, {3, 8, 32}, 60);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = set_up(A), reference = set_up(H);
  EXPECT_TRUE(computes_on(preconditioner_of(ksp), "cuda")) << viewed(preconditioner_of(ksp));
  EXPECT_LE(difference(applied(preconditioner_of(ksp), A), applied(preconditioner_of(reference), H)), 1e-12);
  EXPECT_LE(difference(applied(preconditioner_of(ksp), A, true), applied(preconditioner_of(reference), H, true)),
            1e-12);

  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  must(PCApply(preconditioner_of(ksp), r, z));
  {
    const Transfers log("PCApply");
    for (int i = 0; i < 3; ++i) must(PCApply(preconditioner_of(ksp), r, z));
    EXPECT_EQ(log.info().count, 3);
    EXPECT_EQ(log.copies(), 0);
    EXPECT_GT(log.info().GpuFlops, 0);
  }
  must(MatScale(A, 2.0));  // on the device
  const Transfers log("PCSetUp");
  must(PCSetUp(preconditioner_of(ksp)));
  EXPECT_EQ(log.info().count, 1);
  EXPECT_EQ(log.copies(), 0);
}

/// Elements that a product with A, whose pattern is symmetric, sends to other ranks at most and receives from them.
std::pair<PetscInt, PetscInt> halo_of(Mat A) {
  PetscInt own = 0, all = 0;
  must(MatGetGhosts(A, &own, nullptr));
  MPI_Allreduce(&own, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  return {all - own, own};
}

TEST_F(PetscDeviceTest, IterationsMoveNothingButTheHaloAndScalars) {
  const System system = elasticity(12);
  const OwnedMat A = on_device(system);
  const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours);
  EXPECT_EQ(solve(ksp).reason, KSP_CONVERGED_RTOL);
  const OwnedVec b = vector_of(A, true), x = vector_of(A, false);
  must(KSPSolve(ksp, b, x));  // what is uploaded once
  const Transfers log("KSPSolve");
  must(KSPSolve(ksp, b, x));
  PetscInt iterations = 0;
  must(KSPGetIterationNumber(ksp, &iterations));
  const PetscEventPerfInfo found = log.info();
  // Scalars of norms and dot products, three an iteration and those around the loop, and over several ranks the halo,
  // in each product with A; no vector.
  const auto [sent, received] = halo_of(A);
  const auto most = [&](PetscInt halo) {
    return static_cast<PetscLogDouble>(4 * iterations + 16 + (iterations + 2) * halo) * sizeof(T);
  };
  EXPECT_LE(found.GpuToCpuSize, most(sent));
  EXPECT_LE(found.CpuToGpuSize, most(received));
  PetscInt rows = 0;
  must(MatGetLocalSize(A, &rows, nullptr));
  if (ranks() <= 2) {
    EXPECT_LT(2 * std::max(sent, received), rows) << "a halo that could pass for a vector";
  }
}

/// Entries of A on this rank by their places, as an assembly on a device gives them.
OwnedMat by_coordinates(const System& system) {
  const OwnedMat H = on_host(system, false);
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(H, &first, &end));
  std::vector<PetscInt> rows, columns;
  for (PetscInt i = first; i < end; ++i) {
    PetscInt count = 0;
    const PetscInt* found = nullptr;
    must(MatGetRow(H, i, &count, &found, nullptr));
    rows.insert(rows.end(), static_cast<std::size_t>(count), i);
    columns.insert(columns.end(), found, found + count);
    must(MatRestoreRow(H, i, &count, &found, nullptr));
  }
  OwnedMat A;
  must(MatCreate(PETSC_COMM_WORLD, A.address()));
  must(MatSetSizes(A, end - first, end - first, PETSC_DETERMINE, PETSC_DETERMINE));
  must(MatSetType(A, MATAIJCUSPARSE));
  must(MatSetPreallocationCOO(A, static_cast<PetscCount>(rows.size()), rows.data(), columns.data()));
  return A;
}

/// The values of by_coordinates(), times a factor, in the memory of a vector on the device.
OwnedVec values_by_coordinates(const System& system, double factor) {
  const OwnedMat H = on_host(system, false);
  PetscInt first = 0, end = 0;
  must(MatGetOwnershipRange(H, &first, &end));
  std::vector<T> values;
  for (PetscInt i = first; i < end; ++i) {
    PetscInt count = 0;
    const T* found = nullptr;
    must(MatGetRow(H, i, &count, nullptr, &found));
    for (PetscInt k = 0; k < count; ++k) values.push_back(found[k] * factor);
    must(MatRestoreRow(H, i, &count, nullptr, &found));
  }
  OwnedVec v;
  must(VecCreate(PETSC_COMM_SELF, v.address()));
  must(VecSetSizes(v, static_cast<PetscInt>(values.size()), PETSC_DETERMINE));
  must(VecSetType(v, VECSEQCUDA));
  T* array = nullptr;
  must(VecGetArrayWrite(v, &array));
  std::copy(values.begin(), values.end(), array);
  must(VecRestoreArrayWrite(v, &array));
  const T* device = nullptr;
  PetscMemType type = PETSC_MEMTYPE_HOST;
  must(VecGetArrayReadAndMemType(v, &device, &type));  // uploads
  EXPECT_TRUE(PetscMemTypeDevice(type));
  must(VecRestoreArrayReadAndMemType(v, &device));
  return v;
}

void set_values(Mat A, Vec values) {
  const T* array = nullptr;
  PetscMemType type = PETSC_MEMTYPE_HOST;
  must(VecGetArrayReadAndMemType(values, &array, &type));
  must(MatSetValuesCOO(A, array, INSERT_VALUES));
  must(VecRestoreArrayReadAndMemType(values, &array));
}

TEST_F(PetscDeviceTest, AssemblyThereSendsNoByteThroughTheHost) {
  const System system = elasticity(4);
  const OwnedMat A = by_coordinates(system);
  const OwnedVec once = values_by_coordinates(system, 1.0), twice = values_by_coordinates(system, 2.0);
  set_values(A, once);
  const OwnedKsp ksp = solver_of(A, std::string(ours) + "-pc_blockjacobi_size 3");
  const PC pc = preconditioner_of(ksp);
  must(KSPSetUp(ksp));
  std::vector<T> halves = applied(pc, A);
  for (T& value : halves) value /= T(2);
  {
    const Transfers log("PCSetUp");
    set_values(A, twice);
    must(PCSetUp(pc));
    EXPECT_EQ(log.info().count, 1);
    EXPECT_EQ(log.copies(), 0);
  }
  EXPECT_EQ(applied(pc, A), halves);
  EXPECT_TRUE(contains(viewed(pc), "pattern analyses 1, numeric set-ups 2")) << viewed(pc);
}

TEST_F(PetscDeviceTest, BlocksAboveThirtyTwoAndRowSums) {
  const System large = family(matrices::BlockFamily::spd, {33, 64, 100, 2}, 8);
  for (const char* options : {"", "-pc_blockjacobi_l1 ", "-pc_blockjacobi_detect -pc_blockjacobi_max_size 100 ",
                              "-pc_blockjacobi_coarse ones ", "-pc_blockjacobi_l1 -pc_blockjacobi_coarse ones "}) {
    SCOPED_TRACE(options);
    const OwnedMat A = on_device(large);
    expect_as_on_host(A, large, "cuda", 1e-11, options);
  }
}

/// PETSc then keeps offsets of the others alone on the device.
TEST_F(PetscDeviceTest, RowsThatAreMostlyEmpty) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  const index_t rows = 100 * ranks();
  for (index_t i = 0; i < rows; ++i) {
    if (i % 100 >= 40 && i % 100 < 70) {
      columns.push_back(i);
      values.push_back(T(2 + i % 5));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const System system{CsrMatrix<T>(rows, rows, offsets, columns, values), BlockPartition::uniform(rows, 10)};
  for (const char* blocks : {"", "-pc_blockjacobi_detect ", "-pc_blockjacobi_l1 ", "-pc_blockjacobi_clusters ",
                             "-pc_blockjacobi_coarse ones "}) {
    SCOPED_TRACE(blocks);
    const OwnedMat A = on_device(system);
    expect_as_on_host(A, system, "cuda", 1e-12, std::string(blocks) + "-pc_blockjacobi_singular identity");
  }
}

TEST_F(PetscDeviceTest, AMatrixOnTheHostForVectorsThere) {
  const System system = family(matrices::BlockFamily::spd, {3, 8, 40}, 30);
  const OwnedMat A = on_host(system);
  must(MatSetVecType(A, VECCUDA));
  const OwnedKsp ksp = expect_as_on_host(A, system, "cuda", 1e-12);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  expect_no_copy_in_an_application(preconditioner_of(ksp), r, z);
}

/// PETSc gives the type of a DM's vectors to those alone, not to its matrices.
TEST_F(PetscDeviceTest, AMatrixOnTheHostForVectorsOfTheDmThere) {
  Owned<DM, DMDestroy> grid;
  OwnedMat A;
  OwnedVec r, z;
  must(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 60, 3, 1, nullptr, grid.address()));
  must(DMSetMatType(grid, MATAIJ));
  must(DMSetVecType(grid, VECCUDA));
  must(DMSetUp(grid));
  must(DMCreateMatrix(grid, A.address()));
  must(MatShift(A, PetscScalar(4)));
  must(DMCreateGlobalVector(grid, r.address()));
  must(VecDuplicate(r, z.address()));
  must(VecSet(r, PetscScalar(1)));
  const OwnedKsp ksp = set_up(A);
  EXPECT_TRUE(computes_on(preconditioner_of(ksp), "cuda")) << viewed(preconditioner_of(ksp));
  expect_no_copy_in_an_application(preconditioner_of(ksp), r, z);
  must(VecShift(z, PetscScalar(-0.25)));
  PetscReal error = 1;
  must(VecNorm(z, NORM_INFINITY, &error));
  EXPECT_LE(error, 1e-15);
}

/// As the coarse levels of PCGAMG may be: then the vectors are as well.
TEST_F(PetscDeviceTest, AMatrixBoundToTheCpuStaysThere) {
  const System system = family(matrices::BlockFamily::spd, {3, 8, 40}, 30);
  const OwnedMat A = on_device(system);
  must(MatBindToCPU(A, PETSC_TRUE));
  expect_as_on_host(A, system, "host", 0);
}

/// PETSc lets it be bound to the CPU from its creation, as each that is not of a device's type.
TEST_F(PetscDeviceTest, AMatrixOnTheHostWhoseBindingPropagates) {
  const System system = family(matrices::BlockFamily::spd, {3, 8, 40}, 30);
  const OwnedMat A = on_host(system);
  must(MatSetVecType(A, VECCUDA));
  must(MatSetBindingPropagates(A, PETSC_TRUE));
  expect_as_on_host(A, system, "host", 0);
}

TEST_F(PetscDeviceTest, VectorsOnTheHostForAMatrixThere) {
  const System system = family(matrices::BlockFamily::random, {3, 8, 40}, 30);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = set_up(A), reference = set_up(H);
  const PC pc = preconditioner_of(ksp);
  EXPECT_TRUE(computes_on(pc, "cuda")) << viewed(pc);
  // The host has its inverses from the first of them on, after new values too.
  EXPECT_EQ(applied(pc, H), applied(preconditioner_of(reference), H));
  EXPECT_EQ(applied(pc, H, true), applied(preconditioner_of(reference), H, true));
  EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);
  must(MatScale(A, 2.0));
  must(MatScale(H, 2.0));
  {
    const Transfers log("PCSetUp");
    must(PCSetUp(pc));
    EXPECT_EQ(log.info().GpuToCpuCount, 1);  // the values
    EXPECT_EQ(log.info().CpuToGpuCount, 0);
  }
  const OwnedVec r = vector_of(H, true), z = vector_of(H, false);
  {
    const Transfers log("PCApply");
    must(PCApply(pc, r, z));
    must(PCApplyTranspose(pc, r, z));
    EXPECT_EQ(log.info().count, 2);
    EXPECT_EQ(log.copies(), 0);
    EXPECT_EQ(log.info().GpuFlops, 0);
  }
  EXPECT_EQ(applied(pc, H), applied(preconditioner_of(reference), H));

  // The host serves vectors on the device once; the next set-up is made there again.
  EXPECT_EQ(applied(pc, A), applied(preconditioner_of(reference), H));
  EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);
  must(MatScale(A, 0.5));
  must(MatScale(H, 0.5));
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), 1e-12);
  EXPECT_TRUE(computes_on(pc, "cuda")) << viewed(pc);
}

TEST_F(PetscDeviceTest, VectorsThereBringTheInversesBackFromTheHost) {
  const System system = family(matrices::BlockFamily::random, {3, 8, 40}, 30);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = set_up(A), reference = set_up(H);
  const PC pc = preconditioner_of(ksp);
  const std::vector<T> expected = applied(preconditioner_of(reference), H);
  for (const int patience : {2, 4}) {  // each time twice as many
    EXPECT_EQ(applied(pc, H), expected);
    for (int i = 1; i < patience; ++i) EXPECT_EQ(applied(pc, A), expected);
    EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);
    EXPECT_EQ(applied(pc, H), expected);  // counts anew
    for (int i = 1; i < patience; ++i) EXPECT_EQ(applied(pc, A), expected);
    EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);
    EXPECT_LE(difference(applied(pc, A), expected), 1e-12);
    EXPECT_TRUE(computes_on(pc, "cuda")) << viewed(pc);
  }
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  expect_no_copy_in_an_application(pc, r, z);
  EXPECT_TRUE(contains(viewed(pc), "numeric set-ups 5")) << viewed(pc);
}

/// As the vectors of a DM may be under -dm_bind_below: a solve after that has to end.
TEST_F(PetscDeviceTest, VectorsOfOneRankOnTheHost) {
  const System system = elasticity(4);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = solver_of(A, std::string(cg_options) + ours), reference = set_up(H);
  const PC pc = preconditioner_of(ksp);
  EXPECT_EQ(solve(ksp).reason, KSP_CONVERGED_RTOL);  // after which the ranks have agreed
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  if (this_rank() == 0) {
    must(VecBindToCPU(r, PETSC_TRUE));
    must(VecBindToCPU(z, PETSC_TRUE));
  }
  must(PCApply(pc, r, z));
  EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);  // of the first rank
  EXPECT_LE(difference(values_of(z), applied(preconditioner_of(reference), H)), 1e-12);
  EXPECT_EQ(solve(ksp).reason, KSP_CONVERGED_RTOL);
  EXPECT_TRUE(computes_on(pc, "cuda")) << viewed(pc);
}

TEST_F(PetscDeviceTest, ColumnsOnTheHostForAMatrixThere) {
  const System system = family(matrices::BlockFamily::random, {6, 3, 35}, 12);
  const OwnedMat A = on_device(system);
  const OwnedKsp ksp = set_up(A);
  const PC pc = preconditioner_of(ksp);
  PetscInt rows = 0;
  must(MatGetLocalSize(A, &rows, nullptr));
  OwnedMat X, Y;
  for (OwnedMat* M : {&X, &Y}) {
    must(MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, 5, nullptr, M->address()));
    must(MatAssemblyBegin(*M, MAT_FINAL_ASSEMBLY));
    must(MatAssemblyEnd(*M, MAT_FINAL_ASSEMBLY));
  }
  must(MatSetRandom(X, nullptr));
  must(PCMatApply(pc, X, Y));
  EXPECT_TRUE(computes_on(pc, "host")) << viewed(pc);
  const Transfers log("PCMatApply");
  must(PCMatApply(pc, X, Y));
  EXPECT_EQ(log.info().count, 1);
  EXPECT_EQ(log.copies(), 0);
}

TEST_F(PetscDeviceTest, ColumnsThereAreAppliedToAtOnce) {
  const System system = family(matrices::BlockFamily::random, {6, 3, 35}, 12);
  const OwnedMat A = on_device(system);
  const OwnedKsp ksp = set_up(A);
  expect_columns_as_each(preconditioner_of(ksp), A);
}

/// PETSc's time of the GPU for as long as this lives: every event then waits for its kernels.
class GpuTime {
 public:
  GpuTime() {
    must(PetscLogDefaultBegin());
    PetscLogGpuTimeFlag = PETSC_TRUE;  // PetscLogGpuTime() works once a program
  }
  ~GpuTime() { PetscLogGpuTimeFlag = PETSC_FALSE; }
  GpuTime(const GpuTime&) = delete;
  GpuTime& operator=(const GpuTime&) = delete;
};

TEST_F(PetscDeviceTest, TheLogHasTheTimeAndOperationsOfTheGpu) {
  const System system = family(matrices::BlockFamily::spd, {3, 8, 32}, 60);
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = solver_of(A, ours), reference = solver_of(H, ours);
  const PC pc = preconditioner_of(ksp);
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false), on_host_r = vector_of(H, true),
                 on_host_z = vector_of(H, false);
  must(KSPSetUp(ksp));
  must(KSPSetUp(reference));
  must(PCApply(pc, r, z));  // what is done once
  PetscLogDouble operations = 0;
  const GpuTime time;
  {
    const Transfers log("PCApply");
    must(PCApply(preconditioner_of(reference), on_host_r, on_host_z));
    operations = log.info().flops;
    EXPECT_GT(operations, 0);
    EXPECT_EQ(log.info().GpuFlops, 0);
    EXPECT_EQ(log.info().GpuTime, 0);
  }
  {
    const Transfers log("PCApply");
    for (int i = 0; i < 3; ++i) must(PCApply(pc, r, z));
    EXPECT_EQ(log.info().GpuFlops, 3 * operations);
    EXPECT_EQ(log.info().flops, 3 * operations);
    EXPECT_GT(log.info().GpuTime, 0);
    EXPECT_LE(log.info().GpuTime, log.info().time);
  }
  must(MatScale(A, 2.0));
  must(MatScale(H, 2.0));
  {
    const Transfers log("PCSetUp");
    must(PCSetUp(preconditioner_of(reference)));
    operations = log.info().flops;
    EXPECT_GT(operations, 0);
    EXPECT_EQ(log.info().GpuFlops, 0);
  }
  const Transfers log("PCSetUp");
  must(PCSetUp(pc));
  EXPECT_EQ(log.info().GpuFlops, operations);
  EXPECT_EQ(log.info().flops, operations);
  EXPECT_GT(log.info().GpuTime, 0);
  EXPECT_LE(log.info().GpuTime, log.info().time);
}

TEST_F(PetscDeviceTest, AnErrorStopsTheClockToo) {
  const GpuTime time;
  const System system = family(matrices::BlockFamily::spd, {32}, 20 * ranks());
  const OwnedMat A = on_device(system), H = on_host(system);
  const OwnedKsp ksp = set_up(A, "-pc_blockjacobi_coarse ones"), reference = set_up(H, "-pc_blockjacobi_coarse ones");
  const PC pc = preconditioner_of(ksp);
  {
    const Quiet quiet;
    const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
    EXPECT_EQ(PCApplyTranspose(pc, r, z), PETSC_ERR_SUP);
  }
  EXPECT_LE(difference(applied(pc, A), applied(preconditioner_of(reference), H)), 1e-11);
}

}  // namespace
}  // namespace blockjacobi::test
#endif
