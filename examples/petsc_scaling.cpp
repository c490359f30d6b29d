// PETSc over MPI: weak and strong scaling, and where the time goes.
//
// A three-dimensional problem with three unknowns a point, assembled by PETSc's DMDA, solved by its conjugate gradients
// with our preconditioner on 1, 2, 4, ... ranks: first with the same work a rank (weak scaling), then with the same
// problem (strong scaling). All that a PETSc program needs for it is the registration; the rest are PETSc's own
// options. The blocks do not depend on the number of ranks, and so neither do the iterations: the program checks that.
// The shares of the solve come from PETSc's own log: halo exchange, products without it, application of the
// preconditioner, reductions (dot products and norms, with the wait for the slowest rank), and the rest, which is
// updates of vectors. What is timed is the second of two solves: the first has buffers to make and kernels to load.
//
//   -points 16                                       points along each edge of the cube that one rank has in the weak
//                                                    table; the strong table shares the cube of all ranks
//   -dm_mat_type aijcusparse -dm_vec_type cuda       on GPUs, with a PETSc that has CUDA; -log_view_gpu_time then makes
//                                                    every event wait for its kernels, without which the time of most
//                                                    is found in the reductions, where the solver waits
//   -ksp_type pipecg                                 one reduction an iteration, behind the product
//
// sample run: mpirun --oversubscribe -n 4 petsc_scaling -points 8
// sample run: mpirun --oversubscribe -n 2 petsc_scaling -points 8 -pc_blockjacobi_size 12 -ksp_view
// sample run: mpirun --oversubscribe -n 2 petsc_scaling -points 8 -dm_mat_type baij -ksp_type pipecg

#include <blockjacobi/adapters/petsc.h>

#include <petscdmda.h>
#include <petscksp.h>

#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <thread>

namespace {

constexpr PetscInt unknowns = 3;

// What couples the unknowns of a point.
constexpr PetscScalar within[unknowns][unknowns] = {{4.0, 1.5, 1.0}, {1.5, 3.0, 0.5}, {1.0, 0.5, 2.0}};

// Of the time of all ranks within KSPSolve().
struct Shares {
  double halo = 0.0;
  double product = 0.0;
  double application = 0.0;
  double reduction = 0.0;
};

struct Result {
  PetscInt rows = 0;
  PetscInt iterations = 0;
  PetscLogDouble setup = 0.0;  // seconds
  PetscLogDouble solve = 0.0;
  Shares shares;
};

// 1. The matrix: the 7-point Laplacian for each unknown, and `within` at each point. It comes with block size 3, which
//    is what the preconditioner takes unless options say otherwise.
PetscErrorCode assemble(DM grid, Mat* A) {
  DMDALocalInfo info;
  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(grid, A));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k)
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
        for (PetscInt c = 0; c < unknowns; ++c) {
          const MatStencil row = {k, j, i, c};
          MatStencil columns[unknowns + 6];
          PetscScalar values[unknowns + 6];
          PetscInt count = 0;
          const auto put = [&](PetscInt z, PetscInt y, PetscInt x, PetscInt unknown, PetscScalar value) {
            if (z < 0 || z >= info.mz || y < 0 || y >= info.my || x < 0 || x >= info.mx) return;
            columns[count] = {z, y, x, unknown};
            values[count++] = value;
          };
          for (PetscInt other = 0; other < unknowns; ++other)
            put(k, j, i, other, within[c][other] + PetscScalar(other == c ? 6.0 : 0.0));
          put(k - 1, j, i, c, -1.0);
          put(k + 1, j, i, c, -1.0);
          put(k, j - 1, i, c, -1.0);
          put(k, j + 1, i, c, -1.0);
          put(k, j, i - 1, c, -1.0);
          put(k, j, i + 1, c, -1.0);
          PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

// 2. Where the time went: seconds of events within a stage of PETSc's log, all ranks together.
PetscErrorCode seconds_of(MPI_Comm comm, PetscLogStage stage, std::initializer_list<const char*> names,
                          double* seconds) {
  double own = 0.0;
  PetscFunctionBeginUser;
  for (const char* name : names) {
    PetscLogEvent event = -1;
    PetscEventPerfInfo info;
    PetscCall(PetscLogEventGetId(name, &event));
    if (event < 0) continue;  // of a part of PETSc that was not used
    PetscCall(PetscLogEventGetPerfInfo(stage, event, &info));
    own += info.time;
  }
  PetscCallMPI(MPI_Allreduce(&own, seconds, 1, MPI_DOUBLE, MPI_SUM, comm));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

PetscErrorCode find_shares(MPI_Comm comm, PetscLogStage stage, Shares* shares) {
  double solve = 0.0;
  PetscFunctionBeginUser;
  PetscCall(seconds_of(comm, stage, {"KSPSolve"}, &solve));
  PetscCall(seconds_of(comm, stage, {"VecScatterBegin", "VecScatterEnd"}, &shares->halo));
  PetscCall(seconds_of(comm, stage, {"MatMult"}, &shares->product));
  PetscCall(seconds_of(comm, stage, {"PCApply"}, &shares->application));
  // Those of VecReduce are of pipelined solvers.
  PetscCall(
      seconds_of(comm, stage,
                 {"VecDot", "VecTDot", "VecNorm", "VecReduceArith", "VecReduceComm", "VecReduceBegin", "VecReduceEnd"},
                 &shares->reduction));
  shares->product -= shares->halo;  // MatMult is around it
  for (double* share : {&shares->halo, &shares->product, &shares->application, &shares->reduction}) *share /= solve;
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

// 3. Two solves on the ranks of a communicator, in stages of the log.
PetscErrorCode run(MPI_Comm comm, PetscLogStage first, PetscLogStage stage, PetscInt nx, PetscInt ny, PetscInt nz,
                   Result* result) {
  PetscInt full[unknowns * unknowns], diagonal[unknowns * unknowns];
  for (PetscInt c = 0; c < unknowns * unknowns; ++c) {
    full[c] = 1;
    diagonal[c] = c % (unknowns + 1) == 0;
  }
  DM grid;
  Mat A;
  Vec b, x;
  KSP ksp;
  KSPConvergedReason reason;
  PetscLogDouble begin, middle, end;
  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, nz,
                         PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, unknowns, 1, nullptr, nullptr, nullptr, &grid));
  PetscCall(DMSetFromOptions(grid));  // the types of matrix and vectors
  PetscCall(DMDASetBlockFills(grid, full, diagonal));
  PetscCall(DMSetUp(grid));
  PetscCall(assemble(grid, &A));
  PetscCall(DMCreateGlobalVector(grid, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSet(b, 1.0));

  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PC pc;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBLOCKJACOBI));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(&middle));
  result->setup = middle - begin;
  PetscCall(PetscLogStagePush(first));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePop());
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(&middle));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePop());
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(&end));
  PetscCall(find_shares(comm, stage, &result->shares));

  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, comm, PETSC_ERR_NOT_CONVERGED, "the solve ended with %s", KSPConvergedReasons[reason]);
  PetscCall(MatGetSize(A, &result->rows, nullptr));
  PetscCall(KSPGetIterationNumber(ksp, &result->iterations));
  result->solve = end - middle;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&grid));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

// Waits for all ranks without taking the core from those that work.
PetscErrorCode wait_for_all() {
  MPI_Request request;
  int done = 0;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Ibarrier(PETSC_COMM_WORLD, &request));
  while (!done) {
    PetscCallMPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

// 4. One row of a table: the first `ranks` ranks solve, the others wait. Efficiency is against one rank.
PetscErrorCode row(PetscMPIInt ranks, PetscInt nx, PetscInt ny, PetscInt nz, bool weak, Result* first) {
  PetscMPIInt rank;
  MPI_Comm comm;
  PetscLogStage stages[2];
  Result result;
  const std::string name = (weak ? "Weak " : "Strong ") + std::to_string(ranks);
  PetscFunctionBeginUser;
  PetscCall(PetscLogStageRegister((name + " first").c_str(), &stages[0]));
  PetscCall(PetscLogStageRegister(name.c_str(), &stages[1]));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm));
  if (comm != MPI_COMM_NULL) {
    PetscCall(run(comm, stages[0], stages[1], nx, ny, nz, &result));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  PetscCall(wait_for_all());
  if (ranks == 1) *first = result;
  const double ideal =
      weak ? first->solve / static_cast<double>(first->iterations) * static_cast<double>(result.iterations)
           : first->solve / ranks;
  const Shares& s = result.shares;
  const double rest = 1.0 - s.halo - s.product - s.application - s.reduction;
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD,
      "| %5d | %9ld | %10ld | %11.2f | %10.2f | %8.0f %% | %4.1f | %7.1f | %11.1f | %9.1f | %4.1f | %22.4f |\n", ranks,
      static_cast<long>(result.rows), static_cast<long>(result.iterations), 1e3 * result.setup, 1e3 * result.solve,
      100.0 * ideal / result.solve, 100.0 * s.halo, 100.0 * s.product, 100.0 * s.application, 100.0 * s.reduction,
      100.0 * rest, 1e3 * s.halo * result.solve / static_cast<double>(result.iterations)));
  // Rounding moves the last iteration, not more.
  PetscCheck(rank != 0 || weak || std::abs(static_cast<long>(result.iterations - first->iterations)) <= 2,
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "the iterations depend on the number of ranks");
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

PetscErrorCode tables(PetscInt points) {
  PetscMPIInt size;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (const bool weak : {true, false}) {
    Result first;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s scaling, shares in percent of the solve\n\n"
                          "| ranks |  unknowns | iterations | set-up (ms) | solve (ms) | efficiency | halo | product | "
                          "application | reduction | rest | halo (ms an iteration) |\n"
                          "| ----- | --------- | ---------- | ----------- | ---------- | ---------- | ---- | ------- | "
                          "----------- | --------- | ---- | ---------------------- |\n",
                          weak ? "Weak" : "\nStrong"));
    for (PetscMPIInt ranks = 1; ranks <= size; ranks *= 2)
      PetscCall(row(ranks, points, points, points * (weak ? ranks : size), weak, &first));
  }
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

}  // namespace

int main(int argc, char** argv) {
  PetscInt points = 16;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(bj_petsc_register());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-points", &points, nullptr));
  PetscCheck(points >= 2 && points <= 1000, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-points is %ld, must be in 2..1000", static_cast<long>(points));
  PetscCall(tables(points));
  PetscCall(PetscFinalize());
  return 0;
}
