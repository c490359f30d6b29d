#pragma once

#include <blockjacobi/error.hpp>

#include <petscsys.h>

#include <new>

namespace blockjacobi::petsc {

/// Runs f(), which returns an error code of PETSc; exceptions become such codes, with their message. A function of
/// PETSc's stack, since an error takes the one in which it is raised from there.
template <class F>
PetscErrorCode translated(F&& f) {
  PetscFunctionBegin;
  try {
    const PetscErrorCode code = f();
    PetscFunctionReturn(code);
  } catch (const InvalidArgument& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s", e.what());
  } catch (const BackendUnavailable& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s", e.what());
  } catch (const Unavailable& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s", e.what());
  } catch (const CudaError& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", e.what());
  } catch (const std::bad_alloc&) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "blockjacobi: out of memory");
  } catch (const std::exception& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", e.what());
  }
}

}  // namespace blockjacobi::petsc
