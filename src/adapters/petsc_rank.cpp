#include "adapters/petsc_rank.hpp"

#include <utility>

namespace blockjacobi::petsc {

namespace {

using T = PetscScalar;

BlockJacobiOptions options_of(const Options& asked) {
  BlockJacobiOptions options;
  options.singular = asked.singular;
  options.storage = asked.storage;
  options.accuracy = static_cast<double>(asked.accuracy);
  options.l1 = asked.l1 == PETSC_TRUE;
  options.check_pattern = false;  // PETSc says when it changes
  return options;
}

/// The matrix as it lies; where PETSc's column numbers have 64 bits, with `uploaded` ones of 32.
LocalMatrix::View with_columns(const Backend& backend, const LocalMatrix& matrix,
                               std::optional<Array<index_t>>* uploaded) {
  LocalMatrix::View view = matrix.view();
  if (view.columns == nullptr) {
    uploaded->emplace(backend, static_cast<std::size_t>(view.nnz)).copy_from_host(matrix.on_host().columns);
    view.columns = (*uploaded)->data();
  }
  return view;
}

}  // namespace

RankPreconditioner::RankPreconditioner(const Backend& backend, const LocalMatrix& matrix,
                                       const std::optional<BlockPartition>& stated, const Options& asked,
                                       index_t block_size) {
  const BlockJacobiOptions options = options_of(asked);
  const auto max_size = static_cast<index_t>(asked.max_size);
  const View& there = matrix.view();
  const bool is_readable_there = there.columns != nullptr && there.space == backend.memory_space();
  const BlockPartition partition = asked.clusters      ? find_clusters(there, stated, max_size)
                                   : stated            ? *stated
                                   : is_readable_there ? BlockPartition::detect(backend, there, max_size)
                                                       : BlockPartition::detect(matrix.on_host(), max_size);
  if (asked.coarse && there.rows > 0) {
    std::optional<Array<index_t>> columns;
    if (clusters_)
      add_coarse_level(backend, clusters_->matrix.view(), partition, options, block_size);
    else
      add_coarse_level(backend, with_columns(backend, matrix, &columns), partition, options, block_size);
  } else if (clusters_) {
    blocks_.emplace(BlockJacobi<T>::analyze(backend, clusters_->matrix.view(), partition, options));
  } else {
    // Of these the library would fetch the pattern from the device.
    const bool is_analyzed_on_host = options.l1 || partition.largest_block() > 32;
    blocks_.emplace(BlockJacobi<T>::analyze(
        backend, is_readable_there && !is_analyzed_on_host ? there : matrix.on_host(), partition, options));
  }
  if (there.space != backend.memory_space()) values_.emplace(backend, static_cast<std::size_t>(there.nnz));
  // A multiplication and an addition for each number of the inverses.
  flops_ += 2.0 * static_cast<PetscLogDouble>(BlockJacobi<T>::storage_bytes(partition) / sizeof(T));
}

/// Blocks of the renumbered matrix, which lies on the host and keeps the nodes that were stated whole.
BlockPartition RankPreconditioner::find_clusters(const View& view, const std::optional<BlockPartition>& stated,
                                                 index_t max_size) {
  auto [permutation, blocks] =
      stated ? BlockPartition::clusters(view, *stated, max_size) : BlockPartition::clusters(view, max_size);
  PermutedMatrix<T> matrix(view, permutation);
  const auto rows = static_cast<std::size_t>(view.rows);
  clusters_.emplace(Clusters{std::move(permutation), std::move(matrix), std::vector<T>(rows), std::vector<T>(rows)});
  return blocks;
}

/// Of ones, a vector for each unknown of a node.
template <class MatrixView>
void RankPreconditioner::add_coarse_level(const Backend& backend, const MatrixView& view,
                                          const BlockPartition& partition, const BlockJacobiOptions& options,
                                          index_t block_size) {
  // Additive: definite where the matrix is, whatever the other ranks do.
  const TwoLevelOptions additive{CoarseMode::additive, 0};
  matrix_.emplace(backend, view, SparseMatrixOptions{.block_size = clusters_ ? 1 : block_size});
  BlockJacobi<T> M = BlockJacobi<T>::analyze(*matrix_, partition, options);
  if (!clusters_ || block_size == 1) {
    two_level_.emplace(*matrix_, std::move(M), additive);
  } else {
    const auto rows = static_cast<std::size_t>(view.rows);
    const auto order = clusters_->permutation.order();
    std::vector<T> ones(rows * static_cast<std::size_t>(block_size), T(0));
    for (std::size_t k = 0; k < rows; ++k) ones[k + static_cast<std::size_t>(order[k] % block_size) * rows] = T(1);
    two_level_.emplace(*matrix_, std::move(M),
                       MultiVectorView<const T>{ones.data(), view.rows, block_size, view.rows, Layout::column_major,
                                                MemorySpace::host},
                       additive);
  }
  const auto size = static_cast<PetscLogDouble>(two_level_->report().size);
  flops_ += 2.0 * size * size + 4.0 * static_cast<PetscLogDouble>(view.rows);
}

void RankPreconditioner::refresh(const LocalMatrix& matrix) {
  const View& view = matrix.view();
  const T* values = view.values;
  MemorySpace space = view.space;
  if (clusters_) {
    clusters_->matrix.update({values, static_cast<std::size_t>(view.nnz)});
    values = clusters_->matrix.view().values;
  } else if (values_) {
    values_->copy_from_host(values);
    values = values_->data();
    space = values_->backend().memory_space();
  }
  if (two_level_) {
    matrix_->update_values(values, view.nnz, space);
    two_level_->refresh();
  } else {
    blocks_->refresh(values, view.nnz, space);
  }
}

void RankPreconditioner::apply_own(VectorView<const T> r, VectorView<T> z, Op op) const {
  if (!two_level_) return blocks_->apply(r, z, op);
  if (op != Op::none) throw Unavailable("blockjacobi: -pc_blockjacobi_coarse has no transposed application");
  two_level_->apply(r, z);
}

void RankPreconditioner::apply(const T* r, T* z, Op op) {
  const index_t rows = blocks().rows();
  const MemorySpace space = blocks().backend().memory_space();
  if (!clusters_) return apply_own({r, rows, space}, {z, rows, space}, op);
  const auto order = clusters_->permutation.order();
  for (std::size_t k = 0; k < order.size(); ++k) clusters_->r[k] = r[order[k]];
  apply_own(clusters_->r, clusters_->z, op);
  for (std::size_t k = 0; k < order.size(); ++k) z[order[k]] = clusters_->z[k];
}

void RankPreconditioner::apply(const MultiVectorView<const T>& R, const MultiVectorView<T>& Z) {
  if (!clusters_ && !two_level_) return blocks_->apply(R, Z);
  for (index_t j = 0; j < R.cols; ++j) apply(R.data + j * R.ld, Z.data + j * Z.ld, Op::none);
}

BlockJacobiReport RankPreconditioner::report() const {
  BlockJacobiReport report = blocks().report();
  return clusters_ ? in_original_rows(std::move(report), clusters_->permutation) : report;
}

std::optional<TwoLevelReport> RankPreconditioner::coarse_report() const {
  return two_level_ ? std::optional(two_level_->report()) : std::nullopt;
}

}  // namespace blockjacobi::petsc
