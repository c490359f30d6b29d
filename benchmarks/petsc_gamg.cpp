// CG under PETSc's multigrid, algebraic (GAMG) and geometric (PCMG over a DMDA), with this preconditioner as the
// smoother beside Jacobi, PETSc's own, as a table.
//
//   mpirun -n RANKS petsc_gamg [-systems elasticity,contrast,points,lines,mg,mg3] [-smoother N] [-elements 24]
//                              [-points 48] [-grid 33] [-mat_type aijcusparse] [-repeats 3] [-head]
//
// elasticity   a clamped cube of elements^3 with its rigid body modes, blocks of 3; contrast: of stiffness 1 to 1000
// points       the 7-point stencil of points^3; lines: coupled 100 times as strongly along the rows
// mg           the 7-point stencil of grid^3 (2^k + 1) under PCMG; mg3: for three unknowns a point that are coupled
//
// The smoother is PETSc's Chebyshev iteration with Jacobi, with the blocks that matrices state (else detected ones),
// and with blocks of 4 and of 12 rows; -smoother takes one of the four, 1 being Jacobi. Times are the shortest of the
// repeats, each the largest over the ranks: the first set-up, one for new values, of PCMG none, and the solve to 1e-8.
// The set-up of PCMG assembles the matrices of all levels. The right-hand side is the product with a smooth vector.

#include "matrices/generators.hpp"

#include <blockjacobi/adapters/petsc.h>
#include <blockjacobi/blockjacobi.hpp>

#include <petscdevice.h>
#include <petscdmda.h>
#include <petscksp.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace {

using blockjacobi::CsrMatrix;
using blockjacobi::index_t;

constexpr auto success = static_cast<PetscErrorCode>(0);

struct Smoother {
  const char* name;
  const char* options;
};

// Aggregates of fewer rows than near-nullspace vectors leave zero rows in coarse matrices, which Jacobi takes for ones.
constexpr Smoother smoothers[] = {
    {"jacobi", "-mg_levels_pc_type jacobi"},
    {"blockjacobi", "-mg_levels_pc_type blockjacobi -mg_levels_pc_blockjacobi_singular pseudo_inverse"},
    {"blockjacobi 4",
     "-mg_levels_pc_type blockjacobi -mg_levels_pc_blockjacobi_singular pseudo_inverse "
     "-mg_levels_pc_blockjacobi_size 4"},
    {"blockjacobi 12",
     "-mg_levels_pc_type blockjacobi -mg_levels_pc_blockjacobi_singular pseudo_inverse "
     "-mg_levels_pc_blockjacobi_size 12"}};
constexpr const char* set_by_smoothers[] = {"-mg_levels_pc_type", "-mg_levels_pc_blockjacobi_singular",
                                            "-mg_levels_pc_blockjacobi_size"};

PetscErrorCode set_smoother(const Smoother& smoother) {
  PetscFunctionBeginUser;
  for (const char* name : set_by_smoothers) PetscCall(PetscOptionsClearValue(nullptr, name));
  PetscCall(PetscOptionsInsertString(nullptr, smoother.options));
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

/// A system that PETSc is given as a matrix, or as a grid on which it asks for the matrix of each level.
class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  virtual PetscErrorCode hand_to(KSP ksp) = 0;
  /// Where a set-up for new values is no more than that.
  virtual Mat matrix() { return nullptr; }
};

/// The whole matrix, which every rank makes, spread over the ranks by whole nodes.
class Assembled final : public Problem {
 public:
  PetscErrorCode make(const CsrMatrix<PetscScalar>& whole, PetscInt unknowns) {
    PetscMPIInt rank = 0, ranks = 1;
    char type[64] = MATAIJ;
    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(PetscOptionsGetString(nullptr, nullptr, "-mat_type", type, sizeof(type), nullptr));
    const PetscInt64 nodes = whole.rows() / unknowns;
    const auto first = static_cast<std::size_t>(nodes * rank / ranks * unknowns);
    const auto end = static_cast<std::size_t>(nodes * (rank + 1) / ranks * unknowns);
    const auto begin = whole.row_offsets()[first];
    std::vector<PetscInt> offsets;
    for (std::size_t i = first; i <= end; ++i) offsets.push_back(static_cast<PetscInt>(whole.row_offsets()[i] - begin));
    const std::vector<PetscInt> columns(whole.columns().begin() + begin,
                                        whole.columns().begin() + begin + offsets.back());
    const PetscScalar* values = whole.values().data() + begin;
    const auto own = static_cast<PetscInt>(end - first);
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A_));
    PetscCall(MatSetSizes(A_, own, own, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(A_, type));
    PetscCall(MatSeqAIJSetPreallocationCSR(A_, offsets.data(), columns.data(), values));
    PetscCall(MatMPIAIJSetPreallocationCSR(A_, offsets.data(), columns.data(), values));
    PetscCall(MatSetBlockSize(A_, unknowns));
    PetscCall(MatSetOption(A_, MAT_SPD, PETSC_TRUE));
    PetscFunctionReturn(success);
  }

  /// Of the nodes of matrices::elasticity(): x fastest, those at x = 0 are not among them.
  PetscErrorCode add_rigid_body_modes(PetscInt elements) {
    Vec coordinates;
    MatNullSpace modes;
    PetscInt first = 0, end = 0;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A_, &coordinates, nullptr));
    PetscCall(VecSetBlockSize(coordinates, 3));
    PetscCall(VecGetOwnershipRange(coordinates, &first, &end));
    for (PetscInt row = first; row < end; ++row) {
      const PetscInt node = row / 3;
      const PetscInt at[3] = {1 + node % elements, node / elements % (elements + 1), node / elements / (elements + 1)};
      PetscCall(VecSetValue(coordinates, row, static_cast<PetscReal>(at[row % 3]), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(coordinates));
    PetscCall(VecAssemblyEnd(coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
    PetscCall(MatSetNearNullSpace(A_, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(VecDestroy(&coordinates));
    PetscFunctionReturn(success);
  }

  PetscErrorCode hand_to(KSP ksp) override {
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPSetOperators(ksp, A_, A_));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscFunctionReturn(success);
  }
  Mat matrix() override { return A_; }
  ~Assembled() override { static_cast<void>(MatDestroy(&A_)); }

 private:
  Mat A_ = nullptr;
};

/// Diffusion of coupled unknowns on a grid whose outermost points are kept at zero.
class OnGrid final : public Problem {
 public:
  PetscErrorCode make(PetscInt points, PetscInt unknowns) {
    char type[64] = MATAIJ;
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetString(nullptr, nullptr, "-mat_type", type, sizeof(type), nullptr));
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                           points, points, points, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, unknowns, 1, nullptr,
                           nullptr, nullptr, &grid_));
    PetscCall(DMSetMatType(grid_, type));
    // With vectors of the host CG took other numbers of iterations on a device (PETSc 3.26.1), with Jacobi as well.
    const bool on_device = std::string(type).find("cusparse") != std::string::npos;
    PetscCall(DMSetVecType(grid_, on_device ? VECCUDA : VECSTANDARD));
    PetscCall(DMSetUp(grid_));
    for (PetscInt n = points; n > 5 && n % 2 == 1; n = (n + 1) / 2) ++levels_;
    PetscFunctionReturn(success);
  }

  PetscErrorCode hand_to(KSP ksp) override {
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPSetDM(ksp, grid_));
    PetscCall(KSPSetComputeOperators(ksp, assemble, nullptr));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, levels_, nullptr));
    PetscFunctionReturn(success);
  }
  ~OnGrid() override { static_cast<void>(DMDestroy(&grid_)); }

 private:
  static PetscErrorCode assemble(KSP ksp, Mat, Mat A, void*) {
    constexpr PetscScalar within[3][3] = {{4.0, 1.5, 1.0}, {1.5, 3.0, 0.5}, {1.0, 0.5, 2.0}};
    DM grid;
    DMDALocalInfo info;
    PetscFunctionBeginUser;
    PetscCall(KSPGetDM(ksp, &grid));
    PetscCall(DMDAGetLocalInfo(grid, &info));
    const PetscScalar h = 1.0 / static_cast<PetscReal>(info.mx - 1);
    const auto is_inside = [&](PetscInt i, PetscInt j, PetscInt k) {
      return i > 0 && i < info.mx - 1 && j > 0 && j < info.my - 1 && k > 0 && k < info.mz - 1;
    };
    for (PetscInt k = info.zs; k < info.zs + info.zm; ++k)
      for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
        for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
          for (PetscInt c = 0; c < info.dof; ++c) {
            const MatStencil row = {k, j, i, c};
            MatStencil columns[3 * 7];
            PetscScalar values[3 * 7];
            PetscInt count = 0;
            const auto put = [&](PetscInt x, PetscInt y, PetscInt z, PetscScalar weight) {
              for (PetscInt other = 0; other < info.dof; ++other) {
                columns[count] = {z, y, x, other};
                values[count++] = weight * h * within[c][other];
              }
            };
            put(i, j, k, 6.0);
            if (is_inside(i, j, k))
              for (const PetscInt step : {-1, 1}) {
                if (is_inside(i + step, j, k)) put(i + step, j, k, -1.0);
                if (is_inside(i, j + step, k)) put(i, j + step, k, -1.0);
                if (is_inside(i, j, k + step)) put(i, j, k + step, -1.0);
              }
            PetscCall(MatSetValuesStencil(A, 1, &row, count, columns, values, INSERT_VALUES));
          }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscFunctionReturn(success);
  }

  DM grid_ = nullptr;
  PetscInt levels_ = 1;
};

struct Row {
  double first = 1e300, again = 1e300, solve = 1e300;  // ms
  PetscInt rows = 0, iterations = 0;
};

/// x_i is 1 + (i mod 7), all over 7.
PetscErrorCode make_right_hand_side(Mat A, Vec* x, Vec* b) {
  PetscInt first = 0, end = 0;
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecGetOwnershipRange(*x, &first, &end));
  for (PetscInt i = first; i < end; ++i)
    PetscCall(VecSetValue(*x, i, PetscScalar(1 + i % 7) / PetscScalar(7), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*x));
  PetscCall(VecAssemblyEnd(*x));
  PetscCall(MatMult(A, *x, *b));
  PetscFunctionReturn(success);
}

PetscErrorCode measure(Problem& problem, const Smoother& smoother, PetscInt repeats, Row* row) {
  PetscFunctionBeginUser;
  PetscCall(set_smoother(smoother));
  for (PetscInt i = 0; i < repeats; ++i) {
    KSP ksp;
    Mat A;
    Vec x, b;
    KSPConvergedReason reason;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e30, 1000));
    PetscCall(problem.hand_to(ksp));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(time_of(&row->first, [&] { return KSPSetUp(ksp); }));
    if (problem.matrix() != nullptr)
      for (const double factor : {2.0, 0.5}) {
        PetscCall(MatScale(problem.matrix(), factor));
        PetscCall(KSPSetOperators(ksp, problem.matrix(), problem.matrix()));
        PetscCall(time_of(&row->again, [&] { return KSPSetUp(ksp); }));
      }
    PetscCall(KSPGetOperators(ksp, &A, nullptr));
    PetscCall(make_right_hand_side(A, &x, &b));
    for (int k = 0; k < 5; ++k) PetscCall(time_of(&row->solve, [&] { return KSPSolve(ksp, b, x); }));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "CG with %s: %s", smoother.name,
               KSPConvergedReasons[reason]);
    PetscCall(KSPGetIterationNumber(ksp, &row->iterations));
    PetscCall(MatGetSize(A, &row->rows, nullptr));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode table(const std::string& name, Problem& problem, PetscInt repeats) {
  PetscMPIInt ranks = 1;
  PetscFunctionBeginUser;
  PetscInt only = 0;  // 0: all
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-smoother", &only, nullptr));
  PetscCheck(only >= 0 && only <= static_cast<PetscInt>(std::size(smoothers)), PETSC_COMM_WORLD,
             PETSC_ERR_ARG_OUTOFRANGE, "-smoother must be in 1..%d", static_cast<int>(std::size(smoothers)));
  for (const Smoother& smoother : smoothers) {
    if (only != 0 && &smoother != smoothers + only - 1) continue;
    Row row;
    PetscCall(measure(problem, smoother, repeats, &row));
    char again[32] = "";
    if (row.again < 1e300) std::snprintf(again, sizeof(again), "%.2f", row.again);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "| %d | %s | %ld | %s | %ld | %.2f | %s | %.2f |\n", ranks, name.c_str(),
                          static_cast<long>(row.rows), smoother.name, static_cast<long>(row.iterations), row.first,
                          again, row.solve));
  }
  PetscFunctionReturn(success);
}

struct Sizes {
  PetscInt elements = 24, points = 48, grid = 33;
};

PetscErrorCode assembled_system(const std::string& name, const Sizes& sizes, Assembled* problem) {
  PetscFunctionBeginUser;
  if (name == "elasticity" || name == "contrast") {
    blockjacobi::matrices::ElasticityOptions options;
    const auto edge = static_cast<index_t>(sizes.elements);
    options.elements = {edge, edge, edge};
    if (name == "contrast") options.contrast = 1000;
    PetscCall(problem->make(blockjacobi::matrices::elasticity<PetscScalar>(options), 3));
    PetscCall(problem->add_rigid_body_modes(sizes.elements));
    PetscFunctionReturn(success);
  }
  PetscCheck(name == "points" || name == "lines", PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "no system is called %s",
             name.c_str());
  blockjacobi::matrices::StencilOptions options;
  const auto edge = static_cast<index_t>(sizes.points);
  options.grid = {edge, edge, edge};
  options.phase = 0;  // of complex numbers: multigrid takes it that ones are smooth
  if (name == "lines") options.anisotropy = {100, 1, 1};
  PetscCall(problem->make(blockjacobi::matrices::stencil<PetscScalar>(options), 1));
  PetscFunctionReturn(success);
}

PetscErrorCode system_table(const std::string& name, const Sizes& sizes, PetscInt repeats) {
  PetscFunctionBeginUser;
  if (name == "mg" || name == "mg3") {
    OnGrid problem;
    PetscCall(problem.make(sizes.grid, name == "mg3" ? 3 : 1));
    PetscCall(table(name, problem, repeats));
  } else {
    Assembled problem;
    PetscCall(assembled_system(name, sizes, &problem));
    PetscCall(table(name, problem, repeats));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode run() {
  Sizes sizes;
  PetscInt repeats = 3, count = 8;
  PetscBool head = PETSC_FALSE, given = PETSC_FALSE;
  char* names[8];
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-elements", &sizes.elements, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-points", &sizes.points, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-grid", &sizes.grid, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-repeats", &repeats, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-head", &head, nullptr));
  PetscCall(PetscOptionsGetStringArray(nullptr, nullptr, "-systems", names, &count, &given));
  PetscCheck(std::min({sizes.elements, sizes.points, sizes.grid}) >= 4 &&
                 std::max({sizes.elements, sizes.points, sizes.grid}) <= 400 && repeats >= 1,
             PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "edges must be in 4..400, -repeats at least 1");
  std::vector<std::string> systems = {"elasticity", "contrast", "points", "lines", "mg", "mg3"};
  if (given) systems.assign(names, names + count);
  for (PetscInt i = 0; given && i < count; ++i) PetscCall(PetscFree(names[i]));
  if (head)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "| ranks | system | rows | smoother | iterations | first set-up (ms) | new values (ms) | "
                          "solve (ms) |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"));
  for (const std::string& name : systems) PetscCall(system_table(name, sizes, repeats));
  PetscFunctionReturn(success);
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(bj_petsc_register());
  PetscCall(run());
  PetscCall(PetscFinalize());
  return 0;
}
