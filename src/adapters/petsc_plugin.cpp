#include <blockjacobi/adapters/petsc.h>

/// PETSc looks for this name in libblockjacobi_petsc_plugin.so when it loads it.
extern "C" __attribute__((visibility("default"))) PetscErrorCode PetscDLLibraryRegister_blockjacobi_petsc_plugin(void) {
  return bj_petsc_register();
}
