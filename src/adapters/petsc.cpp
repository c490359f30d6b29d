#include <blockjacobi/adapters/petsc.h>

#include "adapters/petsc_operations.hpp"
#include "adapters/petsc_state.hpp"

namespace blockjacobi::petsc {

namespace {

PetscErrorCode set_from_options(PC pc, OptionItems items) {
  State& state = state_of(pc);
  const Options before = state.options;
  PetscFunctionBegin;
  PetscCall(read_options(pc, items, &state.options));
  if (state.options == before) PetscFunctionReturn(success);
  PetscCall(drop_backend(state));
  // The matrix may be the same as before, but not what is made from it.
  forget_set_up(pc);
  PetscFunctionReturn(success);
}

PetscErrorCode reset(PC pc) {
  State& state = state_of(pc);
  PetscFunctionBegin;
  PetscCall(drop_backend(state));
  state.vectors_on_host = state.failed_by_move = false;
  state.applied_there = 0;
  state.patience = 2;
  PetscCall(state.stream.reset());
  PetscCall(state.matrix.reset());
  PetscFunctionReturn(success);
}

PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  PetscCall(reset(pc));
  delete static_cast<State*>(pc->data);
  pc->data = nullptr;
  PetscFunctionReturn(success);
}

PetscErrorCode create(PC pc) {
  PetscFunctionBegin;
  PetscCall(translated([&] {
    pc->data = new State;
    return success;
  }));
  pc->ops->setup = set_up;
  pc->ops->setuponblocks = set_up_on_blocks;
  pc->ops->apply = apply;
  pc->ops->applytranspose = apply_transpose;
  pc->ops->matapply = apply_to_matrix;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscFunctionReturn(success);
}

}  // namespace

}  // namespace blockjacobi::petsc

PetscErrorCode bj_petsc_register(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister(PCBLOCKJACOBI, blockjacobi::petsc::create));
  PetscFunctionReturn(blockjacobi::petsc::success);
}
