#pragma once

#include <blockjacobi/views.hpp>

#include <petscmat.h>

#include <algorithm>
#include <limits>

namespace blockjacobi::petsc {

/// Memory of this type is read by the host backend or the CUDA backend; others (HIP, SYCL) by none.
inline PetscErrorCode space_of(PetscMemType type, MemorySpace* space) {
  PetscFunctionBegin;
  *space = PetscMemTypeHost(type) ? MemorySpace::host : MemorySpace::device;
  // The low bits name the kind of device; higher ones, NVSHMEM's, do not matter here.
  PetscCheck(PetscMemTypeHost(type) || (type & 0xF) == (PETSC_MEMTYPE_CUDA & 0xF), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "blockjacobi: memory type 0x%x of PETSc is neither host nor CUDA memory", static_cast<unsigned>(type));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

/// How arrays are taken from vectors; tests put a stand-in in its place.
struct VecArrays {
  using Vector = Vec;
  static constexpr bool on_device = true;
  static PetscErrorCode read(Vec x, const PetscScalar** array, PetscMemType* type) {
    return VecGetArrayReadAndMemType(x, array, type);
  }
  static PetscErrorCode end_read(Vec x, const PetscScalar** array) { return VecRestoreArrayReadAndMemType(x, array); }
  static PetscErrorCode read_on_host(Vec x, const PetscScalar** array) { return VecGetArrayRead(x, array); }
  static PetscErrorCode end_read_on_host(Vec x, const PetscScalar** array) { return VecRestoreArrayRead(x, array); }
  static PetscErrorCode write(Vec y, PetscScalar** array, PetscMemType* type) {
    return VecGetArrayWriteAndMemType(y, array, type);
  }
  static PetscErrorCode end_write(Vec y, PetscScalar** array) { return VecRestoreArrayWriteAndMemType(y, array); }
  static PetscErrorCode write_on_host(Vec y, PetscScalar** array) { return VecGetArrayWrite(y, array); }
  static PetscErrorCode end_write_on_host(Vec y, PetscScalar** array) { return VecRestoreArrayWrite(y, array); }
};

/// The same of dense matrices, columns apart by MatDenseGetLDA().
struct DenseArrays {
  using Vector = Mat;
  static PetscErrorCode read_on_host(Mat X, const PetscScalar** array) { return MatDenseGetArrayRead(X, array); }
  static PetscErrorCode end_read_on_host(Mat X, const PetscScalar** array) {
    return MatDenseRestoreArrayRead(X, array);
  }
  static PetscErrorCode write_on_host(Mat Y, PetscScalar** array) { return MatDenseGetArrayWrite(Y, array); }
  static PetscErrorCode end_write_on_host(Mat Y, PetscScalar** array) { return MatDenseRestoreArrayWrite(Y, array); }
#if PETSC_VERSION_GE(3, 19, 0)
  static constexpr bool on_device = true;
  static PetscErrorCode read(Mat X, const PetscScalar** array, PetscMemType* type) {
    return MatDenseGetArrayReadAndMemType(X, array, type);
  }
  static PetscErrorCode end_read(Mat X, const PetscScalar** array) {
    return MatDenseRestoreArrayReadAndMemType(X, array);
  }
  static PetscErrorCode write(Mat Y, PetscScalar** array, PetscMemType* type) {
    return MatDenseGetArrayWriteAndMemType(Y, array, type);
  }
  static PetscErrorCode end_write(Mat Y, PetscScalar** array) { return MatDenseRestoreArrayWriteAndMemType(Y, array); }
#else
  static constexpr bool on_device = false;
#endif
};

/// f(array of x, array of y) on host memory, wherever PETSc has the newest values. The arrays go back after an error
/// too: else the vectors would stay locked.
template <class Arrays, class F>
PetscErrorCode with_host_arrays(typename Arrays::Vector x, typename Arrays::Vector y, F f) {
  const PetscScalar* r = nullptr;
  PetscScalar* z = nullptr;
  PetscFunctionBegin;
  PetscCall(Arrays::read_on_host(x, &r));
  PetscCall(Arrays::write_on_host(y, &z));
  const PetscErrorCode code = f(r, z);
  PetscCall(Arrays::end_write_on_host(y, &z));
  PetscCall(Arrays::end_read_on_host(x, &r));
  PetscCall(code);
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

/// The same on device memory, without copies, if both lie there.
template <class Arrays, class F>
PetscErrorCode with_device_arrays(typename Arrays::Vector x, typename Arrays::Vector y, F f, bool* lie_there) {
  const PetscScalar* r = nullptr;
  PetscScalar* z = nullptr;
  PetscMemType type_r, type_z;
  MemorySpace space_r, space_z;
  PetscFunctionBegin;
  PetscCall(Arrays::read(x, &r, &type_r));
  PetscCall(Arrays::write(y, &z, &type_z));
  PetscErrorCode code = space_of(type_r, &space_r);
  if (code == 0) code = space_of(type_z, &space_z);
  *lie_there = code == 0 && space_r == MemorySpace::device && space_z == MemorySpace::device;
  if (*lie_there) code = f(r, z);
  PetscCall(Arrays::end_write(y, &z));
  PetscCall(Arrays::end_read(x, &r));
  PetscCall(code);
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

/// Of the elements of this rank alone, by way of host memory, wherever y lies. VecSet() would leave a norm in y that
/// other ranks do not know of, and VecSetInf() is an error where y has one.
inline PetscErrorCode fill_with_infinity(Vec y) {
  PetscInt size = 0;
  PetscScalar* z = nullptr;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &size));
  PetscCall(VecGetArrayWrite(y, &z));
  std::fill_n(z, size, PetscScalar(std::numeric_limits<PetscReal>::infinity()));
  PetscCall(VecRestoreArrayWrite(y, &z));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

}  // namespace blockjacobi::petsc
