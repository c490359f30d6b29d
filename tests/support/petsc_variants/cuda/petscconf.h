// The PETSc that is installed, as if configured with CUDA: enough to compile, not to link.
#pragma once
#include_next <petscconf.h>
#define PETSC_HAVE_CUDA 1
#define PETSC_HAVE_DEVICE 1
