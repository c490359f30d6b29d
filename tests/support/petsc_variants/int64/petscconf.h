// The PETSc that is installed, as if configured with 64-bit indices: enough to compile, not to link.
#pragma once
#include_next <petscconf.h>
#define PETSC_USE_64BIT_INDICES 1
