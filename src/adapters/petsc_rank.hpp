#pragma once

#include "adapters/petsc_matrix.hpp"
#include "adapters/petsc_options.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace blockjacobi::petsc {

/// The preconditioner of the rows of a rank, in their numbering in PETSc's matrix, whatever that of its blocks is.
class RankPreconditioner {
 public:
  using View = LocalMatrix::View;
  struct Copies {
    PetscLogDouble to_device = 0, to_host = 0;
  };

  /// Finds blocks where none are stated, and analyses the pattern; take_values() follows. The matrix may lie on the
  /// host where the backend is a device. For the coarse level, which as clusters needs values too, `block_size`, the
  /// unknowns of a node, and `near_kernel`, vectors of the rows back to back; where there are none, ones take their
  /// place.
  RankPreconditioner(const Backend& backend, const LocalMatrix& matrix, const std::optional<BlockPartition>& stated,
                     const Options& options, index_t block_size, std::vector<PetscScalar> near_kernel);

  /// Brings new values to where it computes, and into its order; refresh() follows.
  void take_values(const LocalMatrix& matrix);
  /// The inverses anew.
  void refresh(const LocalMatrix& matrix);

  /// z = op(M^-1) r. Throws Unavailable for a transpose with a coarse level.
  void apply(const PetscScalar* r, PetscScalar* z, Op op);
  /// The same for many columns, without op.
  void apply(const MultiVectorView<const PetscScalar>& R, const MultiVectorView<PetscScalar>& Z);

  const BlockJacobi<PetscScalar>& blocks() const {
    return two_level_ ? two_level_->block_jacobi() : multigrid_ ? multigrid_->block_jacobi() : *blocks_;
  }
  /// Rows are PETSc's.
  BlockJacobiReport report() const;
  /// Of what is above the blocks; empty where nothing is.
  std::string coarse_report() const;
  /// Why a multigrid was refused that was asked for; empty where none was.
  const std::string& refusal() const noexcept { return refusal_; }
  /// A multigrid was asked for, and is not there for these values: another analysis makes it.
  bool lacks_levels() const noexcept { return lacks_levels_; }
  /// Bytes of matrix and vectors that the analysis copied between host and device.
  const Copies& copies() const noexcept { return copies_; }
  /// Of one application to a vector.
  PetscLogDouble flops() const noexcept { return flops_; }
  /// Of one refresh().
  PetscLogDouble refresh_flops() const noexcept { return refresh_flops_; }

 private:
  BlockPartition find_clusters(const Backend& backend, const View& view, const std::optional<BlockPartition>& nodes,
                               index_t max_size);
  void count_copy(const Backend& backend, std::size_t bytes);
  void count_operations(const BlockPartition& partition);
  /// On blocks that analyzed() makes.
  void add_coarse_level(const std::function<BlockJacobi<PetscScalar>()>& analyzed, const Options& asked,
                        index_t block_size, std::vector<PetscScalar> near_kernel);
  void apply_own(VectorView<const PetscScalar> r, VectorView<PetscScalar> z, Op op) const;

  std::optional<Renumbering<PetscScalar>> clusters_;  ///< whose blocks have rows that need not be neighbours
  std::optional<Array<PetscScalar>> renumbered_;      ///< what it has under way
  std::optional<SparseMatrix<PetscScalar>> given_;    ///< a copy, where clusters cannot take PETSc's own arrays
  std::optional<SparseMatrix<PetscScalar>> matrix_;   ///< renumbered, or a copy with which the coarse level multiplies
  std::optional<BlockJacobi<PetscScalar>> blocks_;    ///< without a coarse level
  std::optional<TwoLevel<PetscScalar>> two_level_;
  std::optional<Multigrid<PetscScalar>> multigrid_;
  std::optional<Array<PetscScalar>> values_;  ///< those of a matrix on the host, for a device
  std::string refusal_;
  bool lacks_levels_ = false;
  bool is_fresh_ = false;  ///< the multigrid: made for the values that come first
  Copies copies_;
  PetscLogDouble flops_ = 0, refresh_flops_ = 0;
};

}  // namespace blockjacobi::petsc
