#include "adapters/petsc_operations.hpp"
#include "adapters/petsc_state.hpp"

namespace blockjacobi::petsc {

namespace {

/// Whether x or y lies on the host.
template <class Arrays>
PetscErrorCode are_on_host(typename Arrays::Vector x, typename Arrays::Vector y, bool* answer) {
  PetscFunctionBegin;
  *answer = true;
  if constexpr (Arrays::on_device) {
    bool on_device = false;
    PetscCall(with_device_arrays<Arrays>(
        x, y, [](const PetscScalar*, PetscScalar*) { return success; }, &on_device));
    *answer = !on_device;
  }
  PetscFunctionReturn(success);
}

/// f(array of x, array of y, space) on the backend, for `columns` vectors, with what PETSc's log counts. `done` is
/// false, and y not written, if the backend computes on a device and x or y lie on the host.
template <class Arrays, class F>
PetscErrorCode with_arrays(State& state, typename Arrays::Vector x, typename Arrays::Vector y, PetscInt columns, F f,
                           bool* done) {
  const MemorySpace space = state.backend->memory_space();
  const auto apply = [&](const PetscScalar* r, PetscScalar* z) {
    return translated([&] { return timed_on(state, [&] { f(r, z, space); }); });
  };
  PetscFunctionBegin;
  *done = space == MemorySpace::host;
  if (space == MemorySpace::host) {
    PetscCall(with_host_arrays<Arrays>(x, y, apply));
  } else if constexpr (Arrays::on_device) {
    PetscCall(with_device_arrays<Arrays>(x, y, apply, done));
  }
  if (*done) PetscCall(log_flops(state, static_cast<PetscLogDouble>(columns) * state.M->flops()));
  PetscFunctionReturn(success);
}

/// Brings the inverses back from the host where x and y and those of applications before lie on the device. Each time
/// it takes twice as many, so that few set-ups follow vectors that come from here and there by turns.
template <class Arrays>
PetscErrorCode follow_to_device(PC pc, typename Arrays::Vector x, typename Arrays::Vector y) {
  State& state = state_of(pc);
  bool on_host = true;
  PetscFunctionBegin;
  if (!state.vectors_on_host || pc->failedreason != PC_NOERROR) PetscFunctionReturn(success);
  PetscCall(are_on_host<Arrays>(x, y, &on_host));
  state.applied_there = on_host ? 0 : state.applied_there + 1;
  // A preconditioner that is kept may be that of older values.
  if (state.applied_there < state.patience || pc->reusepreconditioner) PetscFunctionReturn(success);
  state.patience *= 2;
  PetscCall(move(pc, false));
  PetscFunctionReturn(success);
}

PetscErrorCode require_set_up(PC pc) {
  PetscFunctionBegin;
  PetscCheck(state_of(pc).M, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "blockjacobi: PCSetUp() did not succeed");
  PetscFunctionReturn(success);
}

PetscErrorCode apply_op(PC pc, Vec x, Vec y, Op op) {
  State& state = state_of(pc);
  PetscFunctionBegin;
  PetscCall(require_set_up(pc));
  PetscCall(follow_to_device<VecArrays>(pc, x, y));
  // The next norm or dot product tells the caller.
  if (pc->failedreason != PC_NOERROR || state.failed_by_move) {
    PetscCall(fill_with_infinity(y));
    PetscFunctionReturn(success);
  }
  bool done = false;
  PetscCall(with_arrays<VecArrays>(
      state, x, y, 1, [&](const PetscScalar* r, PetscScalar* z, MemorySpace) { state.M->apply(r, z, op); }, &done));
  if (!done) {
    PetscCall(move(pc, true));
    PetscCall(apply_op(pc, x, y, op));
  }
  PetscFunctionReturn(success);
}

/// Column by column, which serves every memory.
PetscErrorCode apply_to_columns(PC pc, Mat X, Mat Y, PetscInt columns) {
  PetscFunctionBegin;
  for (PetscInt j = 0; j < columns; ++j) {
    Vec x = nullptr, y = nullptr;
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, j, &y));
    const PetscErrorCode code = apply(pc, x, y);
    PetscCall(MatDenseRestoreColumnVecWrite(Y, j, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(code);
  }
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode apply(PC pc, Vec x, Vec y) { return apply_op(pc, x, y, Op::none); }

PetscErrorCode apply_transpose(PC pc, Vec x, Vec y) { return apply_op(pc, x, y, Op::transpose); }

PetscErrorCode apply_to_matrix(PC pc, Mat X, Mat Y) {
  State& state = state_of(pc);
  PetscInt columns = 0, ld_of_x = 0, ld_of_y = 0;
  PetscFunctionBegin;
  PetscCall(require_set_up(pc));
  PetscCall(MatGetSize(X, nullptr, &columns));
  PetscCall(follow_to_device<DenseArrays>(pc, X, Y));
  if (pc->failedreason != PC_NOERROR || state.failed_by_move) {
    PetscCall(apply_to_columns(pc, X, Y, columns));
    PetscFunctionReturn(success);
  }
  PetscCall(MatDenseGetLDA(X, &ld_of_x));
  PetscCall(MatDenseGetLDA(Y, &ld_of_y));
  const index_t rows = state.M->blocks().rows();
  const auto count = static_cast<index_t>(columns);
  bool done = false;
  PetscCall(with_arrays<DenseArrays>(
      state, X, Y, columns,
      [&](const PetscScalar* r, PetscScalar* z, MemorySpace space) {
        state.M->apply(MultiVectorView<const PetscScalar>{r, rows, count, ld_of_x, Layout::column_major, space},
                       MultiVectorView<PetscScalar>{z, rows, count, ld_of_y, Layout::column_major, space});
      },
      &done));
  if (!done) PetscCall(apply_to_columns(pc, X, Y, columns));
  PetscFunctionReturn(success);
}

}  // namespace blockjacobi::petsc
