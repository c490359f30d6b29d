#pragma once

#include "adapters/petsc_memory.hpp"

#include <petscmat.h>

#include <limits>
#include <vector>

namespace blockjacobi::petsc {

/// The diagonal part of a matrix on this rank, in compressed rows. AIJ matrices are read in place.
class LocalMatrix {
 public:
  using View = CsrView<PetscScalar, PetscInt>;

  LocalMatrix() = default;
  LocalMatrix(const LocalMatrix&) = delete;
  LocalMatrix& operator=(const LocalMatrix&) = delete;

  /// Collective on `matrix` where PETSc's MatGetDiagonalBlock() is. The view holds until the matrix changes.
  /// `same_pattern`: whether the matrix has the pattern of the call before; becomes false where the view may not.
  PetscErrorCode take(Mat matrix, bool* same_pattern) {
    Mat local = nullptr;
    PetscBool is_aij = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatGetDiagonalBlock(matrix, &local));
    PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(local), MATSEQAIJ, &is_aij));
    if (!is_aij) {
      PetscCall(convert(local, same_pattern));
      local = converted_;
    }
    PetscCall(view_arrays(local));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  const View& view() const { return view_; }

  PetscErrorCode reset() {
    PetscFunctionBegin;
    PetscCall(MatDestroy(&converted_));
    view_ = {};
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

  PetscErrorCode view_arrays(Mat local) {
    PetscInt rows = 0, cols = 0;
    const PetscInt *offsets = nullptr, *columns = nullptr;
    PetscScalar* values = nullptr;
    PetscMemType type = PETSC_MEMTYPE_HOST;
    MatInfo info;
    PetscFunctionBegin;
    PetscCall(MatGetSize(local, &rows, &cols));
    PetscCheck(rows <= std::numeric_limits<index_t>::max() && cols <= std::numeric_limits<index_t>::max(),
               PETSC_COMM_SELF, PETSC_ERR_SUP, "blockjacobi: %" PetscInt_FMT " rows on a rank exceed 32 bits", rows);
    PetscCall(MatSeqAIJGetCSRAndMemType(local, &offsets, &columns, &values, &type));
    MemorySpace space = MemorySpace::host;
    PetscCall(space_of(type, &space));
    offset_t nnz = 0;
    if (space == MemorySpace::host) {
      nnz = offsets[rows];
    } else {
      PetscCall(MatGetInfo(local, MAT_LOCAL, &info));
      nnz = static_cast<offset_t>(info.nz_used);
    }
    view_ = {
        static_cast<index_t>(rows), static_cast<index_t>(cols), nnz, offsets, nullptr, values, IndexBase::zero, space};
    PetscCall(take_columns(columns));
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  PetscErrorCode take_columns(const index_t* columns) {
    PetscFunctionBegin;
    view_.columns = columns;
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// 64-bit column numbers are narrowed, which needs a copy.
  PetscErrorCode take_columns(const PetscInt64* columns) {
    PetscFunctionBegin;
    PetscCheck(view_.space == MemorySpace::host, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "blockjacobi: a matrix on the device with 64-bit indices");
    narrow_columns_.assign(columns, columns + view_.nnz);
    view_.columns = narrow_columns_.data();
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  Mat converted_ = nullptr;
  std::vector<index_t> narrow_columns_;
  View view_;
};

}  // namespace blockjacobi::petsc
