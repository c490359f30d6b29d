#include "adapters/petsc_operations.hpp"
#include "adapters/petsc_state.hpp"

#include <optional>
#include <string>

namespace blockjacobi::petsc {

namespace {

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

/// What this rank has found.
struct Found {
  BlockJacobiReport report;
  std::string coarse;
};

/// Each line.
std::string indented(const std::string& lines) {
  std::string result;
  bool begins = true;
  for (const char c : lines) {
    if (begins) result += "      ";
    result += c;
    begins = c == '\n';
  }
  return result;
}

PetscErrorCode view_found(PC pc, PetscViewer viewer, const Found& found) {
  const State& state = state_of(pc);
  const auto& [report, coarse] = found;
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
                                               indented(coarse).c_str()));
  PetscCall(PetscViewerFlush(viewer));
  PetscCall(PetscViewerASCIIPopSynchronized(viewer));
  PetscFunctionReturn(success);
}

/// Nothing where a rank has no inverses, as after an error of it alone: the totals are of all ranks.
PetscErrorCode view_report(PC pc, PetscViewer viewer) {
  State& state = state_of(pc);
  std::optional<Found> found;
  PetscFunctionBegin;
  PetscErrorCode code = follow_stream(state);
  if (code == success)
    code = translated([&] {
      if (state.M && pc->setupcalled) found = {state.M->report(), state.M->coarse_report()};
      return success;
    });
  const int own = found ? 1 : 0;
  int all = own;
  PetscCallMPI(MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm_of(pc)));
  PetscCall(code);
  if (all != 0) PetscCall(translated([&] { return view_found(pc, viewer, *found); }));
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode view(PC pc, PetscViewer viewer) {
  const State& state = state_of(pc);
  const Options& o = state.options;
  std::string backend = "none yet";
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
  const CoarseLevel coarse = state.M ? state.coarse : o.coarse;
  if (coarse == CoarseLevel::multigrid)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  multigrid on the rows of each rank%s\n",
                                     !state.M                   ? ""
                                     : state.has_near_nullspace ? ", of near_nullspace"
                                                                : ", of ones"));
  else if (coarse != CoarseLevel::none)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarse level of %s on the rows of each rank, additive%s\n",
                                     coarse_names[static_cast<int>(coarse)],
                                     coarse != o.coarse ? "; the matrix has no near-nullspace" : ""));
  PetscCall(translated([&] {
    if (state.backend) backend = state.backend->description();
    return success;
  }));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  singular blocks: %s, storage: %s, backend: %s\n", to_string(o.singular),
                                   to_string(o.storage), backend.c_str()));
  PetscCall(view_report(pc, viewer));
  PetscFunctionReturn(success);
}

}  // namespace blockjacobi::petsc
