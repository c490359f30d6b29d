#pragma once

#include "adapters/petsc_error.hpp"
#include "adapters/petsc_matrix.hpp"
#include "adapters/petsc_options.hpp"
#include "adapters/petsc_rank.hpp"
#include "adapters/petsc_stream.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <vector>

namespace blockjacobi::petsc {

static_assert(Scalar<PetscScalar>, "blockjacobi: PETSc was configured with a precision other than single or double");

inline constexpr auto success = static_cast<PetscErrorCode>(0);

/// What a PC of this type holds on a rank.
struct State {
  Options options;
  LocalMatrix matrix;
  Stream stream;  ///< of a backend on a device
  std::optional<Backend> backend;
  /// The host computes where a device would else. PETSc does not tell before the first application.
  bool vectors_on_host = false;
  PetscInt64 applied_there = 0;  ///< applications in a row, meanwhile, to vectors on the device
  PetscInt64 patience = 2;       ///< as many of them bring the inverses back
  bool failed_by_move = false;   ///< which the other ranks do not know of
  index_t stated_size = 0;       ///< the blocks of M, as they were stated
  std::vector<PetscInt> stated_sizes;
  CoarseLevel coarse = CoarseLevel::none;  ///< what M has
  bool has_near_nullspace = false;         ///< the matrix, of which M has its coarse levels then
  std::optional<RankPreconditioner> M;
  bool agreed = false;  ///< whether the ranks know of the others' failures
  PetscInt analyses = 0;
  PetscInt setups = 0;
};

inline State& state_of(PC pc) { return *static_cast<State*>(pc->data); }

inline MPI_Comm comm_of(PC pc) { return PetscObjectComm(reinterpret_cast<PetscObject>(pc)); }

/// Whatever the matrix, the next PCSetUp() or PCApply() sets up anew.
inline void forget_set_up(PC pc) { pc->setupcalled = static_cast<decltype(pc->setupcalled)>(0); }

/// Operations of the backend, for PETSc's log.
inline PetscErrorCode log_flops(const State& state, PetscLogDouble flops) {
  PetscFunctionBegin;
  if (state.backend->memory_space() == MemorySpace::host)
    PetscCall(PetscLogFlops(flops));
  else
    PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(success);
}

/// The backend goes on with the stream that PETSc's context has now; before anything is enqueued, waited for or freed.
/// Who gives a context another stream orders the two, as for PETSc's own work.
inline PetscErrorCode follow_stream(State& state) {
  CUstream_st* stream = nullptr;
  PetscFunctionBegin;
  if (!state.backend || state.backend->memory_space() == MemorySpace::host) PetscFunctionReturn(success);
  PetscCall(state.stream.handle(&stream));
  if (stream != state.backend->stream())
    PetscCall(translated([&] { return state.backend->set_stream(stream), success; }));
  PetscFunctionReturn(success);
}

inline PetscErrorCode drop_backend(State& state) {
  PetscFunctionBegin;
  PetscCall(follow_stream(state));
  state.M.reset();
  state.backend.reset();
  PetscFunctionReturn(success);
}

/// f(), on a device in the order of PETSc's current context.
template <class F>
PetscErrorCode enqueued_on(State& state, F f) {
  // Here, not by a caller: PETSc's debug builds keep a stack of functions that an exception does not unwind.
  const auto without_exceptions = [&] { return translated([&] { return f(), success; }); };
  PetscFunctionBegin;
  PetscCall(follow_stream(state));
  if (state.backend->memory_space() == MemorySpace::host)
    PetscCall(without_exceptions());
  else
    PetscCall(state.stream.ordered(without_exceptions));
  PetscFunctionReturn(success);
}

/// The same, on a device with the time that PETSc's log asks for: that of kernels, so f() neither allocates nor copies.
template <class F>
PetscErrorCode timed_on(State& state, F f) {
  PetscFunctionBegin;
  if (state.backend->memory_space() == MemorySpace::host) {
    PetscCall(enqueued_on(state, f));
    PetscFunctionReturn(success);
  }
  PetscCall(PetscLogGpuTimeBegin());
  const PetscErrorCode code = enqueued_on(state, f);
  const PetscErrorCode end = PetscLogGpuTimeEnd();  // also after an error: else the next begin would be one
  PetscCall(code);
  PetscCall(end);
  PetscFunctionReturn(success);
}

}  // namespace blockjacobi::petsc
