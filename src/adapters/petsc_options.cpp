#include "adapters/petsc_options.hpp"

namespace blockjacobi::petsc {

namespace {

PetscErrorCode check_range(PC pc, const char* option, PetscInt value, PetscInt largest) {
  PetscFunctionBegin;
  PetscCheck(value >= 1 && value <= largest, PetscObjectComm(reinterpret_cast<PetscObject>(pc)),
             PETSC_ERR_ARG_OUTOFRANGE, "%s is %" PetscInt_FMT ", must be in 1..%" PetscInt_FMT, option, value, largest);
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

}  // namespace

// The macros of PETSc want the name PetscOptionsObject.
PetscErrorCode read_options(PC pc, OptionItems PetscOptionsObject, Options* options) {
  static const char* const policies[] = {to_string(SingularPolicy::fail), to_string(SingularPolicy::identity),
                                         to_string(SingularPolicy::scalar_jacobi), to_string(SingularPolicy::shift),
                                         to_string(SingularPolicy::pseudo_inverse)};
  const char* storages[storage_count];
  for (int k = 0; k < storage_count; ++k) storages[k] = to_string(static_cast<Storage>(k));
  Options o = *options;
  PetscBool size_given = PETSC_FALSE, given = PETSC_FALSE;
  auto policy = static_cast<PetscInt>(o.singular);
  auto storage = static_cast<PetscInt>(o.storage);
  auto coarse = static_cast<PetscInt>(o.coarse);
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Block-Jacobi options");
  PetscCall(PetscOptionsInt("-pc_blockjacobi_size", "Rows of every block", nullptr, o.size, &o.size, &size_given));
  PetscCall(PetscOptionsBool("-pc_blockjacobi_detect", "Find the blocks from the pattern", nullptr, o.detect, &o.detect,
                             &given));
  PetscCall(PetscOptionsBool("-pc_blockjacobi_clusters", "Blocks of strongly coupled rows wherever they stand", nullptr,
                             o.clusters, &o.clusters, &given));
  PetscCall(PetscOptionsInt("-pc_blockjacobi_max_size", "The largest block or cluster that is found", nullptr,
                            o.max_size, &o.max_size, &given));
  PetscCall(PetscOptionsEList("-pc_blockjacobi_coarse", "A coarse level of the rows of each rank", nullptr,
                              coarse_names, 4, coarse_names[coarse], &coarse, &given));
  PetscCall(PetscOptionsEList("-pc_blockjacobi_singular", "What takes the place of a singular block's inverse", nullptr,
                              policies, 5, policies[policy], &policy, &given));
  PetscCall(PetscOptionsEList("-pc_blockjacobi_storage", "How the inverses are stored", nullptr, storages,
                              storage_count, storages[storage], &storage, &given));
  PetscCall(PetscOptionsReal("-pc_blockjacobi_accuracy", "Bound of the residual of every block with adaptive storage",
                             nullptr, o.accuracy, &o.accuracy, &given));
  PetscCall(PetscOptionsBool("-pc_blockjacobi_l1", "Add the row sums outside of the blocks to the diagonal", nullptr,
                             o.l1, &o.l1, &given));
  PetscCall(
      PetscOptionsInt("-pc_blockjacobi_threads", "CPU threads of every rank", nullptr, o.threads, &o.threads, &given));
  PetscOptionsHeadEnd();
  if (size_given) PetscCall(check_range(pc, "-pc_blockjacobi_size", o.size, max_block_size));
  PetscCall(check_range(pc, "-pc_blockjacobi_max_size", o.max_size, max_block_size));
  PetscCall(check_range(pc, "-pc_blockjacobi_threads", o.threads, 1024));
  PetscCheck(o.accuracy > 0, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_OUTOFRANGE,
             "-pc_blockjacobi_accuracy is %g, must be positive", static_cast<double>(o.accuracy));
  PetscCheck(!(o.detect && o.size > 0), PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_INCOMP,
             "-pc_blockjacobi_size and -pc_blockjacobi_detect exclude each other");
  PetscCheck(!(o.detect && o.clusters), PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_INCOMP,
             "-pc_blockjacobi_clusters and -pc_blockjacobi_detect exclude each other");
  o.coarse = static_cast<CoarseLevel>(coarse);
  o.singular = static_cast<SingularPolicy>(policy);
  o.storage = static_cast<Storage>(storage);
  *options = o;
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

}  // namespace blockjacobi::petsc
