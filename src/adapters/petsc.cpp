#include <blockjacobi/adapters/petsc.h>

#include "adapters/petsc_error.hpp"
#include "adapters/petsc_matrix.hpp"
#include "adapters/petsc_options.hpp"
#include "adapters/petsc_rank.hpp"
#include "adapters/petsc_stream.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockjacobi::petsc {

namespace {

static_assert(Scalar<PetscScalar>, "blockjacobi: PETSc was configured with a precision other than single or double");

constexpr auto success = static_cast<PetscErrorCode>(0);

/// Blocks that options or matrix state: all of `size` rows, or these; neither where they are to be found.
struct StatedBlocks {
  index_t size = 0;
  std::span<const PetscInt> sizes;
};

/// Vectors on a device for those that lie on the host.
struct Staged {
  Array<PetscScalar> r, z;
};

/// What a PC of this type holds on a rank.
struct State {
  Options options;
  LocalMatrix matrix;
  Stream stream;  ///< of a backend on a device
  std::optional<Backend> backend;
  index_t stated_size = 0;  ///< the blocks of M, as they were stated
  std::vector<PetscInt> stated_sizes;
  std::optional<RankPreconditioner> M;
  std::optional<Staged> staged;
  bool agreed = false;  ///< whether the ranks know of the others' failures
  PetscInt analyses = 0;
  PetscInt setups = 0;
};

State& state_of(PC pc) { return *static_cast<State*>(pc->data); }

MPI_Comm comm_of(PC pc) { return PetscObjectComm(reinterpret_cast<PetscObject>(pc)); }

/// Whatever the matrix, the next PCSetUp() or PCApply() sets up anew.
void forget_set_up(PC pc) { pc->setupcalled = static_cast<decltype(pc->setupcalled)>(0); }

/// Whether vectors that PETSc makes for the matrix lie on a device that this library was built for.
PetscErrorCode has_device_vectors([[maybe_unused]] Mat matrix, PetscBool* answer) {
  PetscFunctionBegin;
  *answer = PETSC_FALSE;
#if defined(PETSC_HAVE_CUDA)
  VecType type = nullptr;
  PetscCall(MatGetVecType(matrix, &type));
  const std::string_view name = type != nullptr ? type : "";
  const bool is_cuda = name == VECCUDA || name == VECSEQCUDA || name == VECMPICUDA;
  *answer = is_cuda && Backend::cuda_available() ? PETSC_TRUE : PETSC_FALSE;
#endif
  PetscFunctionReturn(success);
}

/// A backend that computes where the matrix lies, or, if that is the host, where its vectors do.
PetscErrorCode choose_backend(PC pc) {
  State& state = state_of(pc);
  MemorySpace space = state.matrix.view().space;
  PetscFunctionBegin;
  if (space == MemorySpace::host && !state.options.clusters) {
    PetscBool on_device = PETSC_FALSE;
    PetscCall(has_device_vectors(pc->pmat, &on_device));
    if (on_device) space = MemorySpace::device;
  }
  if (state.backend && state.backend->memory_space() == space) PetscFunctionReturn(success);
  state.M.reset();
  state.staged.reset();
  state.backend.reset();
  if (space == MemorySpace::host) {
    state.backend = Backend::host(static_cast<int>(state.options.threads));
  } else {
    PetscInt device = 0;
    CUstream_st* stream = nullptr;
    PetscCall(state.stream.take(&stream, &device));
    PetscCall(translated([&] { return state.backend = Backend::cuda(static_cast<int>(device), stream), success; }));
  }
  PetscFunctionReturn(success);
}

/// f(), on a device in the order of PETSc's current context and with the time that PETSc's log asks for.
template <class F>
PetscErrorCode enqueued_on(State& state, F f) {
  PetscFunctionBegin;
  if (state.backend->memory_space() == MemorySpace::host) {
    // Here, not by a caller: PETSc's debug builds keep a stack of functions that an exception does not unwind.
    PetscCall(translated([&] { return f(), success; }));
    PetscFunctionReturn(success);
  }
  PetscCall(PetscLogGpuTimeBegin());
  const PetscErrorCode code = state.stream.ordered([&] { return translated([&] { return f(), success; }); });
  const PetscErrorCode end = PetscLogGpuTimeEnd();  // also after an error: else the next begin would be one
  PetscCall(code);
  PetscCall(end);
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

/// Analyses the pattern anew unless it is known.
PetscErrorCode analyze(PC pc, bool same_pattern) {
  State& state = state_of(pc);
  StatedBlocks stated;
  PetscInt block_size = 1;
  PetscFunctionBegin;
  PetscCall(choose_backend(pc));
  PetscCall(find_stated(pc, &stated));
  const bool same_blocks =
      stated.size == state.stated_size &&
      std::equal(stated.sizes.begin(), stated.sizes.end(), state.stated_sizes.begin(), state.stated_sizes.end());
  if (state.M && same_pattern && same_blocks) PetscFunctionReturn(success);
  PetscCall(MatGetBlockSize(pc->pmat, &block_size));
  state.M.reset();
  state.stated_size = stated.size;
  state.stated_sizes.assign(stated.sizes.begin(), stated.sizes.end());
  PetscCall(enqueued_on(state, [&] {
    state.M.emplace(*state.backend, state.matrix, partition_of(stated, state.matrix.view().rows), state.options,
                    static_cast<index_t>(block_size));
  }));
  ++state.analyses;
  PetscFunctionReturn(success);
}

/// Inverts the blocks.
PetscErrorCode invert(PC pc) {
  State& state = state_of(pc);
  const LocalMatrix::View& view = state.matrix.view();
  PetscFunctionBegin;
  PetscCall(enqueued_on(state, [&] { state.M->refresh(state.matrix); }));
  if (view.space != state.backend->memory_space())
    PetscCall(PetscLogCpuToGpu(static_cast<PetscLogDouble>(view.nnz) * sizeof(PetscScalar)));
  ++state.setups;
  PetscFunctionReturn(success);
}

/// The reason for which this rank cannot go on, and the block to blame.
PCFailedReason failure_of(const State& state, std::string* message) {
  if (state.options.storage == Storage::packed) {
    const BlockJacobiReport found = state.M->blocks().report();
    if (found.unsuited_blocks > 0) {
      *message = "block " + std::to_string(found.first_unsuited) + " is not Hermitian, as packed storage needs it";
      return PC_FACTOR_OTHER;
    }
  }
  if (state.options.singular != SingularPolicy::fail || state.M->blocks().defects() == 0) return PC_NOERROR;
  const BlockDefect first = state.M->report().defects.front();
  *message = describe(first);
  return first.info > 0 ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_FACTOR_OTHER;
}

/// Of this rank alone: a reduction here would make every set-up wait for the slowest rank.
PetscErrorCode note_failure(PC pc) {
  std::string message;
  const PCFailedReason reason = failure_of(state_of(pc), &message);  // waits, and may throw
  PetscFunctionBegin;
  PetscCheck(reason == PC_NOERROR || !pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "blockjacobi: %s",
             message.c_str());
  if (reason != PC_NOERROR) PetscCall(PetscInfo(pc, "blockjacobi: %s\n", message.c_str()));
  PetscCall(PCSetFailedReason(pc, reason));
  state_of(pc).agreed = false;
  PetscFunctionReturn(success);
}

PetscErrorCode try_to_set_up(PC pc) {
  PetscFunctionBegin;
  bool same_pattern = pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN && state_of(pc).M;
  // Clusters are found, and vectors renumbered for them, on the host.
  PetscCall(translated(
      [&] { return state_of(pc).matrix.take(pc->pmat, state_of(pc).options.clusters == PETSC_TRUE, &same_pattern); }));
  PetscCall(translated([&] { return analyze(pc, same_pattern); }));
  PetscCall(translated([&] { return invert(pc); }));
  PetscCall(translated([&] { return note_failure(pc); }));
  PetscFunctionReturn(success);
}

PetscErrorCode set_up(PC pc) {
  PetscFunctionBegin;
  const PetscErrorCode code = try_to_set_up(pc);
  if (code != success) {
    // Else PETSc would take what an error left for the preconditioner of this matrix.
    state_of(pc).M.reset();
    forget_set_up(pc);
  }
  PetscCall(code);
  PetscFunctionReturn(success);
}

/// Before every solve: all ranks fail where one does, since not every solver stands the failure of some of them.
PetscErrorCode set_up_on_blocks(PC pc) {
  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));  // of new values that PETSc would else hand over within the solve
  if (state_of(pc).agreed) PetscFunctionReturn(success);
  const int own = pc->failedreason;
  int any = own;
  PetscCallMPI(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, comm_of(pc)));
  if (any != own) PetscCall(PetscInfo(pc, "blockjacobi: another rank failed\n"));
  PetscCall(PCSetFailedReason(pc, static_cast<PCFailedReason>(any)));
  state_of(pc).agreed = true;
  PetscFunctionReturn(success);
}

/// f(array of x, array of y, space) on the backend, for `columns` vectors, with what PETSc's log counts. `done` is
/// false, and y not written, if the backend computes on a device and x or y lie on the host.
template <class Arrays, class F>
PetscErrorCode with_arrays(State& state, typename Arrays::Vector x, typename Arrays::Vector y, PetscInt columns, F f,
                           bool* done) {
  const MemorySpace space = state.backend->memory_space();
  const PetscLogDouble flops = static_cast<PetscLogDouble>(columns) * state.M->flops();
  const auto apply = [&](const PetscScalar* r, PetscScalar* z) {
    return translated([&] { return enqueued_on(state, [&] { f(r, z, space); }); });
  };
  PetscFunctionBegin;
  *done = space == MemorySpace::host;
  if (space == MemorySpace::host) {
    PetscCall(with_host_arrays<Arrays>(x, y, apply));
    PetscCall(PetscLogFlops(flops));
  } else if constexpr (Arrays::on_device) {
    PetscCall(with_device_arrays<Arrays>(x, y, apply, done));
    if (*done) PetscCall(PetscLogGpuFlops(flops));
  }
  PetscFunctionReturn(success);
}

/// z = op(M^-1) r on a device for arrays on the host, by copies.
void apply_staged(State& state, const PetscScalar* r, PetscScalar* z, Op op) {
  const auto rows = static_cast<std::size_t>(state.matrix.view().rows);
  if (!state.staged) state.staged.emplace(Staged{{*state.backend, rows}, {*state.backend, rows}});
  state.staged->r.copy_from_host(r);
  state.M->apply(state.staged->r.data(), state.staged->z.data(), op);
  state.staged->z.copy_to_host(z);
}

/// The same for vectors, where they lie with what PETSc's log counts.
PetscErrorCode apply_staged(State& state, Vec x, Vec y, Op op) {
  [[maybe_unused]] const auto bytes =
      static_cast<PetscLogDouble>(state.matrix.view().rows) * sizeof(PetscScalar);  // without devices nobody counts
  PetscFunctionBegin;
  PetscCall(with_host_arrays<VecArrays>(x, y, [&](const PetscScalar* r, PetscScalar* z) {
    return translated([&] { return enqueued_on(state, [&] { apply_staged(state, r, z, op); }); });
  }));
  PetscCall(PetscLogCpuToGpu(bytes));
  PetscCall(PetscLogGpuToCpu(bytes));
  PetscCall(PetscLogGpuFlops(state.M->flops()));
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
  // The next norm or dot product tells the caller.
  if (pc->failedreason != PC_NOERROR) {
    PetscCall(fill_with_infinity(y));
    PetscFunctionReturn(success);
  }
  bool done = false;
  PetscCall(with_arrays<VecArrays>(
      state, x, y, 1, [&](const PetscScalar* r, PetscScalar* z, MemorySpace) { state.M->apply(r, z, op); }, &done));
  if (!done) PetscCall(apply_staged(state, x, y, op));
  PetscFunctionReturn(success);
}

PetscErrorCode apply(PC pc, Vec x, Vec y) { return apply_op(pc, x, y, Op::none); }

PetscErrorCode apply_transpose(PC pc, Vec x, Vec y) { return apply_op(pc, x, y, Op::transpose); }

/// Column by column, which serves every memory.
PetscErrorCode apply_to_columns(PC pc, Mat X, Mat Y, PetscInt columns) {
  PetscFunctionBegin;
  for (PetscInt j = 0; j < columns; ++j) {
    Vec x = nullptr, y = nullptr;
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, j, &y));
    PetscCall(apply(pc, x, y));
    PetscCall(MatDenseRestoreColumnVecWrite(Y, j, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
  }
  PetscFunctionReturn(success);
}

/// To all columns of a dense matrix at once.
PetscErrorCode apply_to_matrix(PC pc, Mat X, Mat Y) {
  State& state = state_of(pc);
  PetscInt columns = 0, ld_of_x = 0, ld_of_y = 0;
  PetscFunctionBegin;
  PetscCall(require_set_up(pc));
  PetscCall(MatGetSize(X, nullptr, &columns));
  if (pc->failedreason != PC_NOERROR) {
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

PetscErrorCode set_from_options(PC pc, OptionItems items) {
  State& state = state_of(pc);
  const Options before = state.options;
  PetscFunctionBegin;
  PetscCall(read_options(pc, items, &state.options));
  if (state.options == before) PetscFunctionReturn(success);
  state.M.reset();
  state.backend.reset();
  // The matrix may be the same as before, but not what is made from it.
  forget_set_up(pc);
  PetscFunctionReturn(success);
}

/// What all ranks together have found.
struct Totals {
  PetscInt64 sums[6];  ///< rows, blocks, bytes, singular, non-finite, unsuited to packed storage
  PetscInt64 most[1];  ///< largest block
  double least[1];     ///< reciprocal condition
};

PetscErrorCode total(PC pc, const BlockJacobiReport& r, Totals* totals) {
  const Totals own{
      {r.rows, r.blocks, static_cast<PetscInt64>(r.bytes), r.singular_blocks, r.non_finite_blocks, r.unsuited_blocks},
      {r.sizes.empty() ? 0 : r.sizes.back().first},
      {r.min_rcond}};
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(own.sums, totals->sums, 6, MPIU_INT64, MPI_SUM, comm_of(pc)));
  PetscCallMPI(MPI_Allreduce(own.most, totals->most, 1, MPIU_INT64, MPI_MAX, comm_of(pc)));
  PetscCallMPI(MPI_Allreduce(own.least, totals->least, 1, MPI_DOUBLE, MPI_MIN, comm_of(pc)));
  PetscFunctionReturn(success);
}

PetscErrorCode view_report(PC pc, PetscViewer viewer) {
  const State& state = state_of(pc);
  const BlockJacobiReport report = state.M->report();
  const std::optional<TwoLevelReport> coarse = state.M->coarse_report();
  Totals t;
  PetscMPIInt ranks = 1, rank = 0;
  PetscViewerFormat format;
  PetscFunctionBegin;
  PetscCall(total(pc, report, &t));
  PetscCallMPI(MPI_Comm_size(comm_of(pc), &ranks));
  PetscCallMPI(MPI_Comm_rank(comm_of(pc), &rank));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt64_FMT " rows in %" PetscInt64_FMT
                                   " blocks of at most %" PetscInt64_FMT " rows, %" PetscInt64_FMT " bytes\n",
                                   t.sums[0], t.sums[1], t.most[0], t.sums[2]));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt64_FMT " singular blocks, %" PetscInt64_FMT
                                   " with NaN or Inf; smallest reciprocal condition %.2e\n",
                                   t.sums[3], t.sums[4], t.least[0]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  pattern analyses %" PetscInt_FMT ", numeric set-ups %" PetscInt_FMT "\n",
                                   state.analyses, state.setups));
  if (t.sums[5] > 0)
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  %" PetscInt64_FMT " blocks not Hermitian, as packed storage needs them\n", t.sums[5]));
  if (ranks > 1 && format != PETSC_VIEWER_ASCII_INFO_DETAIL && t.sums[3] + t.sums[4] + t.sums[5] == 0)
    PetscFunctionReturn(success);
  PetscCall(PetscViewerASCIIPushSynchronized(viewer));
  PetscCall(PetscViewerASCIISynchronizedPrintf(viewer, "  [%d] %s%s", rank, to_text(report).c_str(),
                                               coarse ? ("      " + to_text(*coarse)).c_str() : ""));
  PetscCall(PetscViewerFlush(viewer));
  PetscCall(PetscViewerASCIIPopSynchronized(viewer));
  PetscFunctionReturn(success);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  const State& state = state_of(pc);
  const Options& o = state.options;
  PetscBool is_ascii = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_ascii));
  if (!is_ascii) PetscFunctionReturn(success);
  if (o.clusters)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  clusters of at most %" PetscInt_FMT " rows\n", o.max_size));
  else if (o.size > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks of %" PetscInt_FMT " rows\n", o.size));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks %s, detected ones have at most %" PetscInt_FMT " rows\n",
                                     o.detect ? "from the pattern" : "as the matrix states them, else from the pattern",
                                     o.max_size));
  if (o.coarse)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarse level of ones on the rows of each rank, additive\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  singular blocks: %s, storage: %s, backend: %s\n", to_string(o.singular),
                                   to_string(o.storage),
                                   state.backend ? state.backend->description().c_str() : "none yet"));
  if (state.M && pc->setupcalled) PetscCall(translated([&] { return view_report(pc, viewer); }));
  PetscFunctionReturn(success);
}

PetscErrorCode reset(PC pc) {
  State& state = state_of(pc);
  PetscFunctionBegin;
  state.M.reset();
  state.staged.reset();
  state.backend.reset();
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
