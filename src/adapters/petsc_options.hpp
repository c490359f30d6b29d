#pragma once

#include <blockjacobi/block_jacobi.hpp>

#include <petsc/private/pcimpl.h>

namespace blockjacobi::petsc {

#if PETSC_VERSION_GE(3, 23, 0)
using OptionItems = PetscOptionItems;
#else
using OptionItems = PetscOptionItems*;
#endif

/// What is above the blocks: one level of a vector for each unknown of a node, or of the matrix's near-nullspace;
/// levels by smoothed aggregation, of the near-nullspace where there is one.
enum class CoarseLevel { none, ones, near_nullspace, multigrid };
inline constexpr const char* coarse_names[] = {"none", "ones", "near_nullspace", "multigrid"};

/// What the options -pc_blockjacobi_... say.
struct Options {
  PetscInt size = 0;  ///< 0 if not given
  PetscBool detect = PETSC_FALSE;
  PetscBool clusters = PETSC_FALSE;
  CoarseLevel coarse = CoarseLevel::none;
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
