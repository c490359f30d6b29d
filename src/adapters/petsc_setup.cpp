#include "adapters/petsc_operations.hpp"
#include "adapters/petsc_state.hpp"

#include <petscdm.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blockjacobi::petsc {

namespace {

/// Blocks that options or matrix state: all of `size` rows, or these; neither where they are to be found.
struct StatedBlocks {
  index_t size = 0;
  std::span<const PetscInt> sizes;
};

#if defined(PETSC_HAVE_CUDA)
/// Of vectors (VECCUDA, VECSEQCUDA) and matrices (MATAIJCUSPARSE, MATDENSECUDA).
bool is_cuda(const char* type) {
  const std::string_view name = type != nullptr ? type : "";
  return name.find("cuda") != name.npos || name.find("cusparse") != name.npos;
}

/// Whether somebody bound the matrix to the CPU, and not PETSc, which does so with each that is not of a device's type:
/// of these only the vectors count, to which it goes on where that was asked for.
PetscErrorCode is_bound_to_cpu(Mat matrix, bool* answer) {
  PetscBool is_bound = PETSC_FALSE, propagates = PETSC_FALSE;
  MatType type = nullptr;
  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(matrix, &is_bound));
  PetscCall(MatGetBindingPropagates(matrix, &propagates));
  PetscCall(MatGetType(matrix, &type));
  *answer = is_bound && (propagates || is_cuda(type));
  PetscFunctionReturn(success);
}
#endif

/// Whether the vectors that PETSc makes for the matrices of the PC, or their DM for it, lie on a device. Matrices and
/// vectors that are bound to the CPU are there whatever their type says.
PetscErrorCode has_device_vectors([[maybe_unused]] PC pc, bool* answer) {
  PetscFunctionBegin;
  *answer = false;
#if defined(PETSC_HAVE_CUDA)
  for (const Mat matrix : {pc->pmat, pc->mat}) {
    bool is_bound = false;
    VecType type = nullptr;
    DM dm = nullptr;
    PetscCall(is_bound_to_cpu(matrix, &is_bound));
    if (is_bound) {
      *answer = false;
      PetscFunctionReturn(success);
    }
    PetscCall(MatGetVecType(matrix, &type));
    *answer = *answer || is_cuda(type);
    PetscCall(MatGetDM(matrix, &dm));
    if (dm == nullptr) continue;
    PetscCall(DMGetVecType(dm, &type));
    *answer = *answer || is_cuda(type);
  }
#endif
  PetscFunctionReturn(success);
}

/// A backend that computes where the matrix lies, or, if that is the host, where its vectors do, and in any case on the
/// host if vectors came from there. An error if that is a device that this library was not built for: on the host every
/// application would copy.
PetscErrorCode choose_backend(PC pc) {
  State& state = state_of(pc);
  MemorySpace space = state.matrix.view().space;
  PetscFunctionBegin;
  if (space == MemorySpace::host && !state.vectors_on_host) {
    bool on_device = false;
    PetscCall(has_device_vectors(pc, &on_device));
    if (on_device) space = MemorySpace::device;
  }
  if (state.backend && state.backend->memory_space() == space) PetscFunctionReturn(success);
  PetscCall(drop_backend(state));
  if (space == MemorySpace::host) {
    state.backend = Backend::host(static_cast<int>(state.options.threads));
  } else {
    PetscInt device = 0;
    CUstream_st* stream = nullptr;
    PetscCall(state.stream.take(&device));
    PetscCall(state.stream.handle(&stream));
    PetscCall(translated([&] { return state.backend = Backend::cuda(static_cast<int>(device), stream), success; }));
  }
  PetscFunctionReturn(success);
}

/// All of the first one's size, the last may be smaller: so that millions of them need not be kept, nor compared with
/// what they were before at each set-up.
bool are_uniform(std::span<const PetscInt> sizes) {
  const std::span whole = sizes.first(sizes.size() - 1);
  return (whole.empty() || std::equal(whole.begin() + 1, whole.end(), whole.begin())) && sizes.back() > 0 &&
         sizes.back() <= sizes.front();
}

PetscErrorCode find_stated(PC pc, StatedBlocks* stated) {
  const Options& options = state_of(pc).options;
  PetscInt count = 0, block_size = 1;
  const PetscInt* sizes = nullptr;
  PetscFunctionBegin;
  *stated = {};
  if (options.detect) PetscFunctionReturn(success);
  stated->size = static_cast<index_t>(options.size);
  if (stated->size > 0) PetscFunctionReturn(success);
  PetscCall(MatGetVariableBlockSizes(pc->pmat, &count, &sizes));
  if (count > 0) {
    const std::span all(sizes, static_cast<std::size_t>(count));
    if (are_uniform(all))
      stated->size = static_cast<index_t>(all.front());
    else
      stated->sizes = all;
    PetscFunctionReturn(success);
  }
  PetscCall(MatGetBlockSize(pc->pmat, &block_size));
  if (block_size > 1) stated->size = static_cast<index_t>(block_size);
  PetscFunctionReturn(success);
}

std::optional<BlockPartition> partition_of(const StatedBlocks& stated, index_t rows) {
  if (stated.size > 0) return BlockPartition::uniform(rows, stated.size);
  if (stated.sizes.empty()) return std::nullopt;
  std::vector<index_t> offsets{0};
  offsets.reserve(stated.sizes.size() + 1);
  for (const PetscInt size : stated.sizes) offsets.push_back(offsets.back() + static_cast<index_t>(size));
  return BlockPartition::from_offsets(std::move(offsets));
}

/// Whether the matrix has vectors for it, and this rank's rows of them, back to back.
PetscErrorCode near_nullspace_of(Mat matrix, bool* has_vectors, std::vector<PetscScalar>* vectors) {
  MatNullSpace space = nullptr;
  PetscBool has_ones = PETSC_FALSE;
  PetscInt rows = 0, count = 0;
  const Vec* given = nullptr;
  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(matrix, &space));
  if (space != nullptr) PetscCall(MatNullSpaceGetVecs(space, &has_ones, &count, &given));
  *has_vectors = has_ones || count > 0;
  PetscCall(MatGetLocalSize(matrix, &rows, nullptr));
  if (has_ones) vectors->assign(static_cast<std::size_t>(rows), PetscScalar(1));
  for (PetscInt k = 0; k < count; ++k) {
    PetscInt size = 0;
    const PetscScalar* values = nullptr;
    PetscCall(VecGetLocalSize(given[k], &size));
    PetscCheck(size == rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "blockjacobi: the near-nullspace has %" PetscInt_FMT " rows on this rank, the matrix %" PetscInt_FMT,
               size, rows);
    PetscCall(VecGetArrayRead(given[k], &values));
    vectors->insert(vectors->end(), values, values + rows);
    PetscCall(VecRestoreArrayRead(given[k], &values));
  }
  PetscFunctionReturn(success);
}

/// Analyses the pattern anew unless it is known.
PetscErrorCode analyze(PC pc, bool same_pattern) {
  State& state = state_of(pc);
  StatedBlocks stated;
  PetscInt block_size = 1;
  std::vector<PetscScalar> near_kernel;
  PetscFunctionBegin;
  PetscCall(choose_backend(pc));
  PetscCall(find_stated(pc, &stated));
  const bool same_blocks =
      stated.size == state.stated_size &&
      std::equal(stated.sizes.begin(), stated.sizes.end(), state.stated_sizes.begin(), state.stated_sizes.end());
  if (state.M && same_pattern && same_blocks) PetscFunctionReturn(success);
  PetscCall(MatGetBlockSize(pc->pmat, &block_size));
  state.M.reset();
  state.coarse = state.options.coarse;
  const bool may_be_vectors = state.coarse == CoarseLevel::near_nullspace || state.coarse == CoarseLevel::multigrid;
  state.has_near_nullspace = false;
  if (may_be_vectors) PetscCall(near_nullspace_of(pc->pmat, &state.has_near_nullspace, &near_kernel));
  if (state.coarse == CoarseLevel::near_nullspace && !state.has_near_nullspace) state.coarse = CoarseLevel::ones;
  state.stated_size = stated.size;
  state.stated_sizes.assign(stated.sizes.begin(), stated.sizes.end());
  PetscCall(enqueued_on(state, [&] {
    state.M.emplace(*state.backend, state.matrix, partition_of(stated, state.matrix.view().rows), state.options,
                    static_cast<index_t>(block_size), std::move(near_kernel));
  }));
  const auto [to_device, to_host] = state.M->copies();
  if (to_device > 0) PetscCall(PetscLogCpuToGpu(to_device));
  if (to_host > 0) PetscCall(PetscLogGpuToCpu(to_host));
  ++state.analyses;
  PetscFunctionReturn(success);
}

/// Inverts the blocks.
PetscErrorCode invert(PC pc) {
  State& state = state_of(pc);
  const LocalMatrix::View& view = state.matrix.view();
  PetscFunctionBegin;
  PetscCall(enqueued_on(state, [&] { state.M->take_values(state.matrix); }));
  PetscCall(timed_on(state, [&] { state.M->refresh(state.matrix); }));
  PetscCall(log_flops(state, state.M->refresh_flops()));
  if (view.space != state.backend->memory_space())
    PetscCall(PetscLogCpuToGpu(static_cast<PetscLogDouble>(view.nnz) * sizeof(PetscScalar)));
  ++state.setups;
  PetscFunctionReturn(success);
}

/// The reason for which this rank cannot go on, and the block to blame.
struct Failure {
  PCFailedReason reason = PC_NOERROR;
  std::string message;
};

/// Waits.
Failure failure_of(const State& state) {
  if (!state.M->refusal().empty()) return {PC_SUBPC_ERROR, state.M->refusal()};
  if (state.options.storage == Storage::packed) {
    const BlockJacobiReport found = state.M->blocks().report();
    if (found.unsuited_blocks > 0)
      return {PC_FACTOR_OTHER,
              "block " + std::to_string(found.first_unsuited) + " is not Hermitian, as packed storage needs it"};
  }
  if (state.options.singular != SingularPolicy::fail || state.M->blocks().defects() == 0) return {};
  const BlockDefect first = state.M->report().defects.front();
  return {first.info > 0 ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_FACTOR_OTHER, describe(first)};
}

/// Of this rank alone: a reduction here would make every set-up wait for the slowest rank.
PetscErrorCode find_failure(PC pc, Failure* found) {
  *found = failure_of(state_of(pc));  // may throw
  PetscFunctionBegin;
  if (found->reason != PC_NOERROR) PetscCall(PetscInfo(pc, "blockjacobi: %s\n", found->message.c_str()));
  PetscFunctionReturn(success);
}

PetscErrorCode try_to_set_up(PC pc, bool same_pattern, Failure* failure) {
  PetscFunctionBegin;
  PetscCall(
      translated([&] { return state_of(pc).matrix.take(pc->pmat, state_of(pc).vectors_on_host, &same_pattern); }));
  PetscCall(translated([&] { return analyze(pc, same_pattern); }));
  PetscCall(translated([&] { return invert(pc); }));
  PetscCall(translated([&] { return find_failure(pc, failure); }));
  PetscFunctionReturn(success);
}

/// Else PETSc would take what an error left for the preconditioner of this matrix.
void forget(PC pc) {
  state_of(pc).M.reset();
  forget_set_up(pc);
}

PetscErrorCode set_up_or_forget(PC pc, bool same_pattern, Failure* failure) {
  PetscFunctionBegin;
  PetscCall(follow_stream(state_of(pc)));
  const PetscErrorCode code = try_to_set_up(pc, same_pattern, failure);
  if (code != success) forget(pc);
  PetscCall(code);
  PetscFunctionReturn(success);
}

/// All ranks fail where one does.
PetscErrorCode agree(PC pc) {
  PetscFunctionBegin;
  const int own = pc->failedreason;
  int any = own;
  PetscCallMPI(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, comm_of(pc)));
  if (any != own) PetscCall(PetscInfo(pc, "blockjacobi: another rank failed\n"));
  PetscCall(PCSetFailedReason(pc, static_cast<PCFailedReason>(any)));
  state_of(pc).agreed = true;
  PetscFunctionReturn(success);
}

/// A failure of any rank is an error of all: one that comes back alone leaves the others waiting for it. `code` is an
/// error of this rank.
PetscErrorCode raise_together(PC pc, const Failure& own, PetscErrorCode code) {
  const bool is_here = own.reason != PC_NOERROR;
  PetscFunctionBegin;
  PetscCall(agree(pc));
  if (pc->failedreason == PC_NOERROR) PetscFunctionReturn(success);
  forget(pc);
  PetscCall(code);
  // PETSc prints an error of a communicator on its first rank; the rank of the block names that in any case.
  SETERRQ(is_here ? PETSC_COMM_SELF : comm_of(pc), PETSC_ERR_MAT_LU_ZRPVT, "blockjacobi: %s",
          is_here ? own.message.c_str() : "another rank failed");
}

}  // namespace

PetscErrorCode set_up(PC pc) {
  State& state = state_of(pc);
  Failure failure;
  PetscFunctionBegin;
  if (state.applied_there > 0) state.vectors_on_host = false;
  state.applied_there = 0;
  state.failed_by_move = state.agreed = false;
  const bool same_pattern = pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN && state.M && !state.M->lacks_levels();
  const PetscErrorCode code = set_up_or_forget(pc, same_pattern, &failure);
  if (!pc->erroriffailure) PetscCall(code);
  if (code != success) failure.reason = PC_SUBPC_ERROR;
  PetscCall(PCSetFailedReason(pc, failure.reason));
  if (pc->erroriffailure) PetscCall(raise_together(pc, failure, code));
  PetscFunctionReturn(success);
}

PetscErrorCode move(PC pc, bool to_host) {
  State& state = state_of(pc);
  Failure failure;
  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "blockjacobi: vectors on the %s, which computes from now on\n", to_host ? "host" : "device"));
  state.vectors_on_host = to_host;
  state.applied_there = 0;
  PetscCall(set_up_or_forget(pc, false, &failure));
  state.failed_by_move = failure.reason != PC_NOERROR;
  PetscFunctionReturn(success);
}

PetscErrorCode set_up_on_blocks(PC pc) {
  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));  // of new values that PETSc would else hand over within the solve
  if (!state_of(pc).agreed) PetscCall(agree(pc));
  PetscFunctionReturn(success);
}

}  // namespace blockjacobi::petsc
