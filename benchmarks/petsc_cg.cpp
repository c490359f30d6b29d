// PETSc's conjugate gradients with this preconditioner and with PETSc's own, on 7-point systems of three unknowns a
// point, as a table: set-ups from nothing, set-up for new values, application, an iteration, iterations.
//
//   mpirun -n RANKS petsc_cg [-points 32] [-total] [-mat_type aijcusparse] [-repeats 5] [-sizes 3,4,6,12]
//            [-exchange] [-library] [-head]
//
// A rank has a slab of points^3 points, or of points^2 x points / RANKS with -total. Times are the shortest of the
// repeats, each the largest over the ranks, with the device waited for; of set-ups from nothing the first stands beside
// the shortest: kernels are loaded and memory is allocated in it. The matrix is on the device before. The right-hand
// side is a vector of ones.
//
// With -exchange instead what a solve moves, with blocks of 3: copies between host and device and their bytes, as
// PETSc's log has them of KSPSolve(), the most of any rank; beside them the halo that a rank receives for a product,
// and the time of the exchange, which -log_view_gpu_time rids of the wait for kernels before it.
//
// With -library instead the same set-ups without PETSc's layer: a backend and a BlockJacobi of it on the arrays of the
// matrix, of one rank, where they lie.

#include <blockjacobi/adapters/petsc.h>
#include <blockjacobi/array.hpp>
#include <blockjacobi/block_jacobi.hpp>

#include <petscdevice.h>
#include <petscksp.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

constexpr auto success = static_cast<PetscErrorCode>(0);
constexpr PetscInt unknowns = 3;

/// What couples the unknowns of a point.
constexpr PetscScalar within[unknowns][unknowns] = {{10.0, 1.5, 1.0}, {1.5, 9.0, 0.5}, {1.0, 0.5, 8.0}};

/// The rows of points k0 .. k1 - 1 along z of an n x n x depth grid, in compressed rows; columns increase.
struct Slab {
  std::vector<PetscInt> offsets{0}, columns;
  std::vector<PetscScalar> values;

  Slab(PetscInt n, PetscInt depth, PetscInt k0, PetscInt k1) {
    const auto rows = static_cast<std::size_t>(unknowns * n * n * (k1 - k0));
    offsets.reserve(rows + 1);
    columns.reserve(9 * rows);
    values.reserve(9 * rows);
    const auto put = [&](PetscInt point, PetscInt unknown, PetscScalar value) {
      columns.push_back(unknowns * point + unknown);
      values.push_back(value);
    };
    for (PetscInt k = k0; k < k1; ++k)
      for (PetscInt j = 0; j < n; ++j)
        for (PetscInt i = 0; i < n; ++i) {
          const PetscInt point = i + n * (j + n * k);
          for (PetscInt c = 0; c < unknowns; ++c) {
            if (k > 0) put(point - n * n, c, -1.0);
            if (j > 0) put(point - n, c, -1.0);
            if (i > 0) put(point - 1, c, -1.0);
            for (PetscInt other = 0; other < unknowns; ++other) put(point, other, within[c][other]);
            if (i + 1 < n) put(point + 1, c, -1.0);
            if (j + 1 < n) put(point + n, c, -1.0);
            if (k + 1 < depth) put(point + n * n, c, -1.0);
            offsets.push_back(static_cast<PetscInt>(columns.size()));
          }
        }
  }
};

PetscErrorCode make_matrix(PetscInt points, bool is_total, Mat* A) {
  PetscMPIInt rank = 0, ranks = 1;
  char type[64] = MATAIJ;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-mat_type", type, sizeof(type), nullptr));
  const PetscInt depth = is_total ? points : points * ranks;
  const Slab slab(points, depth, depth * rank / ranks, depth * (rank + 1) / ranks);
  const auto own = static_cast<PetscInt>(slab.offsets.size()) - 1;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, own, own, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, slab.offsets.data(), slab.columns.data(), slab.values.data()));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, slab.offsets.data(), slab.columns.data(), slab.values.data()));
  PetscFunctionReturn(success);
}

/// As many blocks of `size` rows as there are on this rank, for PCVPBJACOBI.
PetscErrorCode state_blocks(Mat A, PetscInt size) {
  PetscInt rows = 0;
  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &rows, nullptr));
  std::vector<PetscInt> sizes(static_cast<std::size_t>(rows / size), size);
  if (rows % size > 0) sizes.push_back(rows % size);
  PetscCall(MatSetVariableBlockSizes(A, static_cast<PetscInt>(sizes.size()), sizes.data()));
  PetscFunctionReturn(success);
}

PetscErrorCode wait_for_device() {
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  PetscDeviceContext context = nullptr;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextSynchronize(context));
#endif
  PetscFunctionReturn(success);
}

/// Milliseconds of f() on the slowest rank, if less than before.
template <class F>
PetscErrorCode time_of(double* shortest, F f) {
  PetscFunctionBeginUser;
  PetscCall(wait_for_device());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  double own = MPI_Wtime(), slowest = 0;
  PetscCall(f());
  PetscCall(wait_for_device());
  own = MPI_Wtime() - own;
  PetscCallMPI(MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *shortest = std::min(*shortest, 1e3 * slowest);
  PetscFunctionReturn(success);
}

struct Row {
  double first = 0, anew = 1e300, again = 1e300, application = 1e300, iteration = 1e300;  // ms
  PetscInt iterations = 0;
};

constexpr int timed_iterations = 60, timed_applications = 20;

PetscErrorCode make_solver(Mat A, const char* type, KSP* ksp) {
  PC pc;
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(success);
}

/// CG to a tolerance that it does not reach takes as many iterations as it may.
PetscErrorCode measure(Mat A, const char* type, PetscInt repeats, Row* row) {
  Vec b, x;
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatMult(A, b, x));
  for (PetscInt i = 0; i < repeats; ++i) {
    KSP ksp;
    PC pc;
    KSPConvergedReason reason;
    double set_up = 1e300, solve = 1e300;
    PetscCall(make_solver(A, type, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(time_of(&set_up, [&] { return PCSetUp(pc); }));
    if (i == 0) row->first = set_up;
    row->anew = std::min(row->anew, set_up);
    for (const double factor : {2.0, 0.5}) {
      PetscCall(MatScale(A, factor));
      PetscCall(time_of(&row->again, [&] { return PCSetUp(pc); }));
    }
    PetscCall(time_of(&solve, [&] {
      PetscFunctionBeginUser;
      for (int k = 0; k < timed_applications; ++k) PetscCall(PCApply(pc, b, x));
      PetscFunctionReturn(success);
    }));
    row->application = std::min(row->application, solve / timed_applications);
    PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e30, 10000));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "CG with %s: %s", type,
               KSPConvergedReasons[reason]);
    PetscCall(KSPGetIterationNumber(ksp, &row->iterations));
    PetscCall(KSPSetTolerances(ksp, 1e-300, 0.0, 1e30, timed_iterations));
    solve = 1e300;
    PetscCall(time_of(&solve, [&] { return KSPSolve(ksp, b, x); }));
    PetscInt done = 0;
    PetscCall(KSPGetIterationNumber(ksp, &done));
    row->iteration = std::min(row->iteration, solve / static_cast<double>(std::max<PetscInt>(done, 1)));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(success);
}

/// Of the second of two solves on this rank.
struct Moved {
  double to_device = 0, bytes_to_device = 0, to_host = 0, bytes_to_host = 0, halo = 0, exchange = 0, solve = 0;  // s
};

PetscErrorCode event_of(PetscLogStage stage, const char* name, PetscEventPerfInfo* info) {
  PetscLogEvent event = -1;
  PetscFunctionBeginUser;
  *info = {};
  PetscCall(PetscLogEventGetId(name, &event));
  if (event >= 0) PetscCall(PetscLogEventGetPerfInfo(stage, event, info));
  PetscFunctionReturn(success);
}

PetscErrorCode move(Mat A, const char* type, PetscLogStage stage, Moved* moved) {
  KSP ksp;
  Vec b, x;
  PetscInt ghosts = 0;
  PetscEventPerfInfo solve, begin, end;
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(make_solver(A, type, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-300, 0.0, 1e30, timed_iterations));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscLogStagePop());
  PetscCall(event_of(stage, "KSPSolve", &solve));
  PetscCall(event_of(stage, "VecScatterBegin", &begin));
  PetscCall(event_of(stage, "VecScatterEnd", &end));
  PetscCall(MatGetGhosts(A, &ghosts, nullptr));
#if defined(PETSC_HAVE_DEVICE)
  moved->to_device = solve.CpuToGpuCount;
  moved->bytes_to_device = solve.CpuToGpuSize;
  moved->to_host = solve.GpuToCpuCount;
  moved->bytes_to_host = solve.GpuToCpuSize;
#endif
  moved->halo = static_cast<double>(ghosts) * sizeof(PetscScalar);
  moved->exchange = begin.time + end.time;
  moved->solve = solve.time;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(success);
}

PetscErrorCode exchanges(Mat A, PetscMPIInt ranks, PetscInt rows) {
  PetscFunctionBeginUser;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(state_blocks(A, 3));
  for (const char* type : {PCVPBJACOBI, PCBLOCKJACOBI}) {
    PetscLogStage stage;
    Moved own, m;
    PetscCall(PetscLogStageRegister(type, &stage));
    PetscCall(move(A, type, stage, &own));
    PetscCallMPI(MPI_Allreduce(&own, &m, sizeof(Moved) / sizeof(double), MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "| %d | %ld | %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.4f | %.1f |\n",
                          ranks, static_cast<long>(rows), type, timed_iterations, m.to_device, m.bytes_to_device,
                          m.to_host, m.bytes_to_host, m.halo, 1e3 * m.exchange / timed_iterations,
                          100.0 * m.exchange / m.solve));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode asked_sizes(std::vector<PetscInt>* sizes) {
  PetscInt found[16], count = 16;
  PetscBool given = PETSC_FALSE;
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(nullptr, nullptr, "-sizes", found, &count, &given));
  if (given)
    sizes->assign(found, found + count);
  else
    *sizes = {3, 4, 6, 12};
  PetscFunctionReturn(success);
}

PetscErrorCode times(Mat A, PetscMPIInt ranks, PetscInt rows, PetscInt repeats) {
  std::vector<PetscInt> sizes;
  PetscFunctionBeginUser;
  PetscCall(asked_sizes(&sizes));
  for (const PetscInt size : sizes) {
    PetscCall(state_blocks(A, size));
    for (const char* type : {PCVPBJACOBI, PCBLOCKJACOBI}) {
      Row row;
      PetscCall(measure(A, type, repeats, &row));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "| %d | %ld | %s | %ld | %.3f | %.3f | %.3f | %.4f | %.4f | %ld |\n",
                            ranks, static_cast<long>(rows), type, static_cast<long>(size), row.first, row.anew,
                            row.again, row.application, row.iteration, static_cast<long>(row.iterations)));
    }
  }
  PetscFunctionReturn(success);
}

/// The matrix where its values lie, if its columns have 32 bits.
template <class Index>
PetscErrorCode view_of(Mat A, blockjacobi::CsrView<PetscScalar, Index>* view) {
  PetscFunctionBeginUser;
  if constexpr (std::is_same_v<Index, blockjacobi::index_t>) {
    PetscInt rows = 0;
    const PetscInt *offsets = nullptr, *columns = nullptr, *on_host = nullptr, *ignored = nullptr;
    PetscScalar* values = nullptr;
    PetscMemType type = PETSC_MEMTYPE_HOST;
    PetscBool done = PETSC_FALSE;
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &offsets, &columns, &values, &type));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &on_host, &ignored, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PETSc gives no rows of an AIJ matrix");
    *view = {rows,
             rows,
             on_host[rows],
             offsets,
             columns,
             values,
             blockjacobi::IndexBase::zero,
             PetscMemTypeHost(type) ? blockjacobi::MemorySpace::host : blockjacobi::MemorySpace::device};
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &on_host, &ignored, &done));
  } else {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "-library wants a PETSc with indices of 32 bits");
  }
  PetscFunctionReturn(success);
}

PetscErrorCode times_of_library(Mat A, PetscInt rows, PetscInt repeats) {
  using namespace blockjacobi;
  std::vector<PetscInt> sizes;
  PetscMPIInt ranks = 1;
  CsrView<PetscScalar, PetscInt> matrix;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "-library wants one rank, not %d", ranks);
  PetscCall(asked_sizes(&sizes));
  PetscCall(view_of(A, &matrix));
  for (const PetscInt asked : sizes) {
    const auto size = static_cast<index_t>(asked);
    Row row;
    for (PetscInt repeat = 0; repeat < repeats; ++repeat) {
      std::optional<Backend> backend;
      std::optional<BlockJacobi<PetscScalar>> M;
      double set_up = 1e300, applied = 1e300;
      PetscCall(time_of(&set_up, [&] {
        backend = matrix.space == MemorySpace::host ? Backend::host(1) : Backend::cuda();
        M.emplace(*backend, matrix, BlockPartition::uniform(matrix.rows, size));
        backend->synchronize();
        return success;
      }));
      if (repeat == 0) row.first = set_up;
      row.anew = std::min(row.anew, set_up);
      PetscCall(time_of(&row.again, [&] {
        M->refresh(matrix.values, matrix.nnz, matrix.space);
        backend->synchronize();
        return success;
      }));
      Array<PetscScalar> r(*backend, std::vector<PetscScalar>(static_cast<std::size_t>(matrix.rows), 1.0));
      Array<PetscScalar> z(*backend, r.size());
      PetscCall(time_of(&applied, [&] {
        for (int k = 0; k < timed_applications; ++k) M->apply(std::as_const(r).view(), z.view());
        backend->synchronize();
        return success;
      }));
      row.application = std::min(row.application, applied / timed_applications);
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "| 1 | %ld | library | %ld | %.3f | %.3f | %.3f | %.4f | | |\n",
                          static_cast<long>(rows), static_cast<long>(size), row.first, row.anew, row.again,
                          row.application));
  }
  PetscFunctionReturn(success);
}

}  // namespace

int main(int argc, char** argv) {
  PetscInt points = 32, repeats = 5, rows = 0;
  PetscMPIInt ranks = 1;
  PetscBool is_total = PETSC_FALSE, head = PETSC_FALSE, exchange = PETSC_FALSE, library = PETSC_FALSE;
  Mat A;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(bj_petsc_register());
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-points", &points, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-repeats", &repeats, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-total", &is_total, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-exchange", &exchange, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-library", &library, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-head", &head, nullptr));
  PetscCheck(points >= 2 && points <= 400 && repeats >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-points must be in 2..400, -repeats at least 1");
  if (head)
    PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "%s",
                    exchange ? "| ranks | rows | preconditioner | iterations | copies to the GPU | bytes | copies to "
                               "the host | bytes | halo of a product (bytes) | exchange (ms an iteration) | of the "
                               "solve (%) |\n"
                               "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
                             : "| ranks | rows | preconditioner | block | set-up, the first (ms) | the shortest (ms) | "
                               "new values (ms) | application (ms) | CG, an iteration (ms) | iterations |\n"
                               "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(make_matrix(points, is_total == PETSC_TRUE, &A));
  PetscCall(MatGetSize(A, &rows, nullptr));
  if (library)
    PetscCall(times_of_library(A, rows, repeats));
  else
    PetscCall(exchange ? exchanges(A, ranks, rows) : times(A, ranks, rows, repeats));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
