#pragma once

#include <petscpc.h>

namespace blockjacobi::petsc {

// What PETSc calls for a PC of this type; petsc.cpp has the rest of it.

// In petsc_setup.cpp:
PetscErrorCode set_up(PC pc);
/// The inverses anew where the vectors of an application lie. Of this rank alone, whose vectors may be bound to the CPU
/// where those of others are not (-dm_bind_below): no PCSetUp(), and nothing that the ranks have agreed on changes.
PetscErrorCode move(PC pc, bool to_host);
/// Before every solve: all ranks fail where one does, since not every solver stands the failure of some of them.
PetscErrorCode set_up_on_blocks(PC pc);

// In petsc_apply.cpp:
PetscErrorCode apply(PC pc, Vec x, Vec y);
PetscErrorCode apply_transpose(PC pc, Vec x, Vec y);
/// To all columns of a dense matrix at once.
PetscErrorCode apply_to_matrix(PC pc, Mat X, Mat Y);

// In petsc_view.cpp:
PetscErrorCode view(PC pc, PetscViewer viewer);

}  // namespace blockjacobi::petsc
