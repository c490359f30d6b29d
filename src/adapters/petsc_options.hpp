#pragma once

#include <blockjacobi/block_jacobi.hpp>

#include <petsc/private/pcimpl.h>

namespace blockjacobi::petsc {

#if PETSC_VERSION_GE(3, 23, 0)
using OptionItems = PetscOptionItems;
#else
using OptionItems = PetscOptionItems*;
#endif

/// Vectors of the coarse level: one for each unknown of a node, or the matrix's near-nullspace.
enum class CoarseVectors { none, ones, near_nullspace };
inline constexpr const char* coarse_names[] = {"none", "ones", "near_nullspace"};

/// What the options -pc_blockjacobi_... say.
struct Options {
  PetscInt size = 0;  ///< 0 if not given
  PetscBool detect = PETSC_FALSE;
  PetscBool clusters = PETSC_FALSE;
  CoarseVectors coarse = CoarseVectors::none;
  PetscInt max_size = 32;
  SingularPolicy singular = SingularPolicy::fail;
  Storage storage = Storage::full;
  PetscReal accuracy = 0.1;
  PetscBool l1 = PETSC_FALSE;
  PetscInt threads = 1;

  friend bool operator==(const Options&, const Options&) = default;
};

/// Reads and checks the options; on an error `options` stays as it was.
PetscErrorCode read_options(PC pc, OptionItems items, Options* options);

}  // namespace blockjacobi::petsc
