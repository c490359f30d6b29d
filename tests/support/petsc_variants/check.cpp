// Whether PETSc's headers took the petscconf.h of a folder beside this file; VARIANT_<folder> is defined.
#include <petscsys.h>

#include <complex>
#include <type_traits>

#if defined(VARIANT_int64)
static_assert(sizeof(PetscInt) == 8);
#elif defined(VARIANT_complex)
static_assert(std::is_same_v<PetscScalar, std::complex<double>>);
#elif !defined(VARIANT_cuda) || !defined(PETSC_HAVE_CUDA) || !defined(PETSC_HAVE_DEVICE)
#error "not configured with CUDA"
#endif
