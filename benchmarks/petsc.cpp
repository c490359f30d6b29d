// Set-up and application of the PETSc adapter beside PCVPBJACOBI, on the same matrices, blocks and ranks, as a table.
//
//   mpirun -n RANKS petsc_table [-repeats 15] [-rows 100000] [-cpu_time]
//
// Every time is the shortest of the repeats, each the largest over the ranks: of the clock on the wall, or with
// -cpu_time of the processor, which other work on the machine disturbs less. Set-up is PCSetUp() of a new PC, of ours
// with the pattern analysis; refresh is PCSetUp() for new values of the same pattern.

#include "matrices/generators.hpp"

#include <blockjacobi/adapters/petsc.h>
#include <blockjacobi/blockjacobi.hpp>

#include <petsc/private/petscimpl.h>
#include <petscksp.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace {

using blockjacobi::CsrMatrix;
using blockjacobi::index_t;

constexpr auto success = static_cast<PetscErrorCode>(0);

/// Every rank has a matrix of its own on the diagonal, of about `rows` rows in dense blocks; neighbouring blocks are
/// coupled.
PetscErrorCode make_matrix(const std::vector<index_t>& sizes, PetscInt rows, Mat* A) {
  PetscMPIInt rank = 0;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  index_t round = 0;
  for (const index_t size : sizes) round += size;
  blockjacobi::matrices::BlockFamilyOptions options;
  options.sizes = sizes;
  options.blocks = static_cast<index_t>(rows) / round * static_cast<index_t>(sizes.size());
  options.seed = static_cast<std::uint64_t>(rank) + 1;
  const CsrMatrix<PetscScalar> local = blockjacobi::matrices::block_family<PetscScalar>(options);
  std::vector<PetscInt> offsets(local.row_offsets().begin(), local.row_offsets().end());
  PetscInt first = 0;
  const PetscInt own = local.rows();
  PetscCallMPI(MPI_Exscan(&own, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (rank == 0) first = 0;
  std::vector<PetscInt> columns(local.columns().begin(), local.columns().end());
  for (PetscInt& column : columns) column += first;
  std::vector<PetscInt> blocks;
  for (index_t b = 0; b < options.blocks; ++b) blocks.push_back(sizes[static_cast<std::size_t>(b) % sizes.size()]);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, own, own, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, offsets.data(), columns.data(), local.values().data()));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, offsets.data(), columns.data(), local.values().data()));
  PetscCall(MatSetVariableBlockSizes(*A, static_cast<PetscInt>(blocks.size()), blocks.data()));
  PetscFunctionReturn(success);
}

/// Seconds; set by -cpu_time.
bool is_cpu_time = false;
double now() {
  if (!is_cpu_time) return MPI_Wtime();
  std::timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Milliseconds of a call on the slowest rank.
template <class F>
PetscErrorCode timed(std::vector<double>* times, F f) {
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  double own = now(), slowest = 0;
  PetscCall(f());
  own = now() - own;
  PetscCallMPI(MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  times->push_back(1e3 * slowest);
  PetscFunctionReturn(success);
}

double shortest(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

/// Times in ms.
struct Times {
  std::vector<double> setup, refresh, apply;
};

/// One repeat: a new PC, new values, ten applications.
PetscErrorCode repeat(Mat A, const char* type, Vec x, Vec y, Times* times) {
  PC pc;
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(timed(&times->setup, [&] { return PCSetUp(pc); }));
  PetscCall(PetscObjectStateIncrease(reinterpret_cast<PetscObject>(A)));
  PetscCall(timed(&times->refresh, [&] { return PCSetUp(pc); }));
  for (int i = 0; i < 10; ++i) PetscCall(timed(&times->apply, [&] { return PCApply(pc, x, y); }));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(success);
}

PetscErrorCode compare(const char* name, const std::vector<index_t>& sizes, PetscInt rows, PetscInt repeats) {
  Mat A;
  Vec x, y, z;
  Times ours, theirs;
  PetscInt all_rows = 0;
  PetscReal norm = 0, difference = 0;
  PetscMPIInt ranks = 1;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(make_matrix(sizes, rows, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, nullptr));
  // In turn, so that both see the same machine.
  for (PetscInt i = 0; i < repeats; ++i) {
    PetscCall(repeat(A, PCVPBJACOBI, x, y, &theirs));
    PetscCall(repeat(A, PCBLOCKJACOBI, x, z, &ours));
  }
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(z, -1.0, y));
  PetscCall(VecNorm(z, NORM_2, &difference));
  PetscCheck(difference <= 1e-9 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "the two differ by %g of the result",
             static_cast<double>(difference / norm));
  PetscCall(MatGetSize(A, &all_rows, nullptr));
  const auto ratio = [](const std::vector<double>& a, const std::vector<double>& b) {
    return shortest(a) / shortest(b);
  };
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD, "| %d | %s | %ld | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.3f | %.3f | %.2f |\n", ranks,
      name, static_cast<long>(all_rows), shortest(theirs.setup), shortest(ours.setup), ratio(theirs.setup, ours.setup),
      shortest(theirs.refresh), shortest(ours.refresh), ratio(theirs.refresh, ours.refresh), shortest(theirs.apply),
      shortest(ours.apply), ratio(theirs.apply, ours.apply)));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(success);
}

}  // namespace

int main(int argc, char** argv) {
  PetscInt repeats = 15, rows = 100000;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(bj_petsc_register());
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-repeats", &repeats, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-rows", &rows, nullptr));
  PetscBool cpu_time = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-cpu_time", &cpu_time, nullptr));
  is_cpu_time = cpu_time == PETSC_TRUE;
  PetscCheck(repeats >= 1 && rows >= 1000, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeats must be at least 1, -rows at least 1000");
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD,
      "| ranks | blocks | rows | set-up vpbjacobi (ms) | ours | times | refresh vpbjacobi (ms) | ours | times | apply "
      "vpbjacobi (ms) | ours | times |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"));
  PetscCall(compare("3", {3}, rows, repeats));
  PetscCall(compare("8", {8}, rows, repeats));
  PetscCall(compare("16", {16}, rows, repeats));
  PetscCall(compare("32", {32}, rows, repeats));
  PetscCall(compare("3, 8, 5, 16", {3, 8, 5, 16}, rows, repeats));
  PetscCall(PetscFinalize());
  return 0;
}
