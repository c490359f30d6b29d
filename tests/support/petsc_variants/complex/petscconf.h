// The PETSc that is installed, as if configured with complex numbers: enough to compile, not to link.
#pragma once
#include_next <petscconf.h>
#define PETSC_USE_COMPLEX 1
