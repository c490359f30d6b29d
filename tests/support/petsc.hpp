#pragma once

#include <blockjacobi/adapters/petsc.h>
#include <blockjacobi/blockjacobi.hpp>

#include <petscksp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace blockjacobi::test {

/// For calls that a test takes for granted.
inline void must(PetscErrorCode code) {
  if (code != 0) throw std::runtime_error("PETSc error " + std::to_string(static_cast<int>(code)));
}

/// Destroys an object of PETSc with the scope.
template <class T, auto destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { static_cast<void>(destroy(&object_)); }
  operator T() const { return object_; }
  T* address() { return &object_; }

 private:
  T object_ = nullptr;
};
using OwnedMat = Owned<Mat, MatDestroy>;
using OwnedVec = Owned<Vec, VecDestroy>;
using OwnedKsp = Owned<KSP, KSPDestroy>;

inline PetscMPIInt ranks() {
  PetscMPIInt size = 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}
inline PetscMPIInt this_rank() {
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return rank;
}

/// The blocks of this rank, where every rank takes the same number of neighbouring blocks as far as possible.
inline std::pair<index_t, index_t> own_blocks(const BlockPartition& partition) {
  const auto cut = [&](PetscMPIInt rank) {
    return static_cast<index_t>(offset_t{partition.blocks()} * rank / ranks());
  };
  return {cut(this_rank()), cut(this_rank() + 1)};
}

/// Whether matrices and vectors of the tests lie on a device, as BLOCKJACOBI_TEST_BACKEND=cuda asks.
inline bool is_on_device() {
#if defined(PETSC_HAVE_CUDA)
  const char* backend = std::getenv("BLOCKJACOBI_TEST_BACKEND");
  return backend != nullptr && std::string(backend) == "cuda";
#else
  return false;
#endif
}

inline MatType matrix_type() {
#if defined(PETSC_HAVE_CUDA)
  if (is_on_device()) return MATAIJCUSPARSE;
#endif
  return MATAIJ;
}

/// The matrix, which every rank has in whole, spread over the ranks between blocks of the partition. PETSc is told
/// their sizes if it may `know` them.
inline OwnedMat distribute(const CsrMatrix<PetscScalar>& matrix, const BlockPartition& partition, bool know = true,
                           MatType type = matrix_type()) {
  const auto [first_block, end_block] = own_blocks(partition);
  const auto offsets = partition.offsets();
  const index_t first = offsets[static_cast<std::size_t>(first_block)];
  const index_t end = offsets[static_cast<std::size_t>(end_block)];
  std::vector<PetscInt> rows{0}, sizes;
  for (index_t i = first; i < end; ++i)
    rows.push_back(static_cast<PetscInt>(matrix.row_offsets()[static_cast<std::size_t>(i) + 1] -
                                         matrix.row_offsets()[static_cast<std::size_t>(first)]));
  for (index_t b = first_block; b < end_block; ++b) sizes.push_back(partition.block_size(b));
  const auto begin = static_cast<std::size_t>(matrix.row_offsets()[static_cast<std::size_t>(first)]);
  const std::vector<PetscInt> columns(matrix.columns().begin() + static_cast<std::ptrdiff_t>(begin),
                                      matrix.columns().begin() + static_cast<std::ptrdiff_t>(begin) + rows.back());

  OwnedMat A;
  must(MatCreate(PETSC_COMM_WORLD, A.address()));
  must(MatSetSizes(A, end - first, end - first, matrix.rows(), matrix.rows()));
  must(MatSetType(A, type));
  // Each does nothing to the other's type.
  must(MatSeqAIJSetPreallocationCSR(A, rows.data(), columns.data(), matrix.values().data() + begin));
  must(MatMPIAIJSetPreallocationCSR(A, rows.data(), columns.data(), matrix.values().data() + begin));
  if (know) must(MatSetVariableBlockSizes(A, static_cast<PetscInt>(sizes.size()), sizes.data()));
  return A;
}

/// Element i is 1 + (i mod 7), all over 7: the same system whatever the number of ranks.
inline PetscScalar right_hand_side(PetscInt i) { return PetscScalar(1 + i % 7) / PetscScalar(7); }

inline OwnedVec vector_of(Mat A, bool filled) {
  OwnedVec v;
  PetscInt first = 0, end = 0;
  must(MatCreateVecs(A, v.address(), nullptr));
  must(VecGetOwnershipRange(v, &first, &end));
  for (PetscInt i = first; filled && i < end; ++i) must(VecSetValue(v, i, right_hand_side(i), INSERT_VALUES));
  must(VecAssemblyBegin(v));
  must(VecAssemblyEnd(v));
  return v;
}

/// Options as they stand on a command line, in place of all before.
inline void set_options(const std::string& options) {
  must(PetscOptionsClear(nullptr));
  must(PetscOptionsInsertString(nullptr, options.c_str()));
}

inline OwnedKsp solver_of(Mat A, const std::string& options) {
  set_options(options);
  OwnedKsp ksp;
  must(KSPCreate(PETSC_COMM_WORLD, ksp.address()));
  must(KSPSetOperators(ksp, A, A));
  must(KSPSetFromOptions(ksp));
  return ksp;
}

inline PC preconditioner_of(KSP ksp) {
  PC pc = nullptr;
  must(KSPGetPC(ksp, &pc));
  return pc;
}

struct Outcome {
  KSPConvergedReason reason;
  PetscInt iterations;
  PetscReal residual;  ///< ||b - A x|| / ||b||
};

/// The right-hand side: as in right_hand_side(), or the product of A with it, which real systems ask for.
enum class Rhs { plain, product };

/// Solves A x = b from x = 0.
inline Outcome solve(KSP ksp, Rhs rhs = Rhs::plain) {
  Mat A = nullptr;
  must(KSPGetOperators(ksp, &A, nullptr));
  const OwnedVec plain = vector_of(A, true), b = vector_of(A, true), x = vector_of(A, false), r = vector_of(A, false);
  if (rhs == Rhs::product) must(MatMult(A, plain, b));
  must(KSPSolve(ksp, b, x));
  Outcome outcome{};
  PetscReal norm = 0;
  must(KSPGetConvergedReason(ksp, &outcome.reason));
  must(KSPGetIterationNumber(ksp, &outcome.iterations));
  must(MatMult(A, x, r));
  must(VecAYPX(r, -1.0, b));
  must(VecNorm(b, NORM_2, &norm));
  must(VecNorm(r, NORM_2, &outcome.residual));
  outcome.residual /= norm;
  return outcome;
}

inline Outcome solve(Mat A, const std::string& options, Rhs rhs = Rhs::plain) {
  return solve(solver_of(A, options), rhs);
}

/// What this rank has of a vector.
inline std::vector<PetscScalar> values_of(Vec v) {
  PetscInt size = 0;
  const PetscScalar* values = nullptr;
  must(VecGetLocalSize(v, &size));
  must(VecGetArrayRead(v, &values));
  std::vector<PetscScalar> result(values, values + size);
  must(VecRestoreArrayRead(v, &values));
  return result;
}

/// z = M^-1 r, or with the transposed inverses, as it lies on this rank.
inline std::vector<PetscScalar> applied(PC pc, Mat A, bool transposed = false) {
  const OwnedVec r = vector_of(A, true), z = vector_of(A, false);
  must(transposed ? PCApplyTranspose(pc, r, z) : PCApply(pc, r, z));
  return values_of(z);
}

/// What PCView prints, on every rank.
inline std::string viewed(PC pc) {
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

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Errors of PETSc come back as codes, without a word.
class Quiet {
 public:
  Quiet() { must(PetscPushErrorHandler(hand_on, nullptr)); }
  ~Quiet() { static_cast<void>(PetscPopErrorHandler()); }

 private:
  // PETSc's own handler of this kind has not the same name in all its versions.
  static PetscErrorCode hand_on(MPI_Comm, int, const char*, const char*, PetscErrorCode error, PetscErrorType,
                                const char*, void*) {
    return error;
  }
};

}  // namespace blockjacobi::test
