#pragma once

#include "adapters/petsc_memory.hpp"

#include <petscmat.h>

#include <limits>
#include <vector>

namespace blockjacobi::petsc {

/// The diagonal part of a matrix on this rank, in compressed rows. AIJ matrices are read in place, on the host or on a
/// device; of those on a device PETSc has the pattern on the host too.
class LocalMatrix {
 public:
  using View = CsrView<PetscScalar, PetscInt>;

  LocalMatrix() = default;
  LocalMatrix(const LocalMatrix&) = delete;
  LocalMatrix& operator=(const LocalMatrix&) = delete;

  /// Collective on `matrix` where PETSc's MatGetDiagonalBlock() is. The view holds until the matrix changes; `to_host`
  /// asks for one on the host, wherever the matrix lies. `same_pattern`: whether the matrix has the pattern of the call
  /// before; becomes false where the view may not.
  PetscErrorCode take(Mat matrix, bool to_host, bool* same_pattern) {
    Mat local = nullptr;
    PetscBool is_aij = PETSC_FALSE, is_assembled = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatAssembled(matrix, &is_assembled));
    PetscCheck(is_assembled, PetscObjectComm(reinterpret_cast<PetscObject>(matrix)), PETSC_ERR_ARG_WRONGSTATE,
               "blockjacobi: the matrix is not assembled");
    PetscCall(MatGetDiagonalBlock(matrix, &local));
    PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(local), MATSEQAIJ, &is_aij));
    if (!is_aij) {
      PetscCall(convert(local, same_pattern));
      local = converted_;
    }
    PetscCall(view_pattern(local, *same_pattern));
    PetscCall(to_host ? view_on_host(local) : view_in_place(local));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// As the matrix lies. On a device no columns where PETSc's numbers have 64 bits.
  const View& view() const { return view_; }
  /// The pattern on the host; values are there if the matrix is.
  const View& on_host() const { return on_host_; }

  PetscErrorCode reset() {
    PetscFunctionBegin;
    PetscCall(MatDestroy(&converted_));
    view_ = {};
    on_host_ = {};
    narrow_columns_ = {};
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

 private:
  /// PETSc converts all that these types store. Of others, dense ones for example, it leaves out zeros: the pattern
  /// then follows the values.
  PetscErrorCode convert(Mat local, bool* same_pattern) {
    PetscBool keeps_zeros = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(local), &keeps_zeros, MATSEQBAIJ, MATSEQSBAIJ,
                                        MATSEQSELL, ""));
    *same_pattern = *same_pattern && keeps_zeros && converted_ != nullptr;
    view_ = {};
    if (!*same_pattern) PetscCall(MatDestroy(&converted_));
    PetscCall(MatConvert(local, MATSEQAIJ, *same_pattern ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &converted_));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  PetscErrorCode view_on_host(Mat local) {
    const PetscScalar* values = nullptr;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    on_host_.values = values;
    view_ = on_host_;
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  PetscErrorCode view_in_place(Mat local) {
    const PetscInt *offsets = nullptr, *columns = nullptr;
    PetscScalar* values = nullptr;
    PetscMemType type = PETSC_MEMTYPE_HOST;
    MemorySpace space = MemorySpace::host;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetCSRAndMemType(local, &offsets, &columns, &values, &type));
    PetscCall(space_of(type, &space));
    if (space == MemorySpace::host) {
      on_host_.values = values;
      view_ = on_host_;
    } else {
      PetscCall(expand_offsets(local, &offsets, &columns));
      view_ = {on_host_.rows, on_host_.cols, on_host_.nnz, offsets, if_narrow(columns), values, IndexBase::zero, space};
    }
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// Of a matrix with many empty rows PETSc uploads the offsets of the others, and those of all when asked for them.
  PetscErrorCode expand_offsets([[maybe_unused]] Mat local, [[maybe_unused]] const PetscInt** offsets,
                                [[maybe_unused]] const PetscInt** columns) {
    PetscFunctionBegin;
    // Before 3.26 these matrices have no numbers of 64 bits.
#if defined(PETSC_HAVE_CUDA) && (PETSC_VERSION_GE(3, 26, 0) || !defined(PETSC_USE_64BIT_INDICES))
    PetscBool is_cusparse = PETSC_FALSE;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(local), MATSEQAIJCUSPARSE, &is_cusparse));
    if (is_cusparse) PetscCall(MatSeqAIJCUSPARSEGetIJ(local, PETSC_FALSE, offsets, columns));
#endif
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  PetscErrorCode view_pattern(Mat local, bool same_pattern) {
    PetscInt rows = 0, cols = 0, size = 0;
    const PetscInt *offsets = nullptr, *columns = nullptr;
    PetscBool done = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatGetSize(local, &rows, &cols));
    PetscCheck(rows <= std::numeric_limits<index_t>::max() && cols <= std::numeric_limits<index_t>::max(),
               PETSC_COMM_SELF, PETSC_ERR_SUP, "blockjacobi: %" PetscInt_FMT " rows on a rank exceed 32 bits", rows);
    PetscCall(MatGetRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &size, &offsets, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "blockjacobi: PETSc gives no rows of an AIJ matrix");
    const PetscInt nnz = offsets[rows];
    on_host_ = {static_cast<index_t>(rows),
                static_cast<index_t>(cols),
                nnz,
                offsets,
                narrowed(columns, nnz, same_pattern),
                nullptr,
                IndexBase::zero,
                MemorySpace::host};
    // The arrays stay where they are until the matrix changes.
    PetscCall(MatRestoreRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &size, &offsets, &columns, &done));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// Column numbers as ours, which those of 64 bits are copied for unless the copy is there.
  const index_t* narrowed(const index_t* columns, PetscInt, bool) { return columns; }
  const index_t* narrowed(const PetscInt64* columns, PetscInt count, bool is_copied) {
    if (!is_copied) narrow_columns_.assign(columns, columns + count);
    return narrow_columns_.data();
  }
  static const index_t* if_narrow(const index_t* columns) { return columns; }
  static const index_t* if_narrow(const PetscInt64*) { return nullptr; }

  Mat converted_ = nullptr;
  std::vector<index_t> narrow_columns_;  ///< where PETSc's have 64 bits
  View view_, on_host_;
};

}  // namespace blockjacobi::petsc
