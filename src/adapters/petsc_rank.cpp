#include "adapters/petsc_rank.hpp"

#include <span>
#include <utility>
#include <vector>

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

/// Of the offsets, and of what each entry has.
PetscLogDouble bytes_of(const LocalMatrix::View& view, std::size_t of_an_entry) {
  return static_cast<PetscLogDouble>(static_cast<std::size_t>(view.rows + 1) * sizeof(PetscInt) +
                                     static_cast<std::size_t>(view.nnz) * of_an_entry);
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

/// A vector for each unknown of a node.
std::vector<T> ones_of(std::size_t rows, index_t block_size) {
  const auto count = static_cast<std::size_t>(block_size);
  std::vector<T> ones(rows * count, T(0));
  for (std::size_t i = 0; i < rows; ++i) ones[i + i % count * rows] = T(1);
  return ones;
}

/// The rows of vectors that stand back to back, as clusters have them.
std::vector<T> in_order(std::span<const index_t> order, const std::vector<T>& vectors) {
  std::vector<T> result;
  result.reserve(vectors.size());
  for (std::size_t start = 0; start < vectors.size(); start += order.size())
    for (const index_t row : order) result.push_back(vectors[start + static_cast<std::size_t>(row)]);
  return result;
}

}  // namespace

RankPreconditioner::RankPreconditioner(const Backend& backend, const LocalMatrix& matrix,
                                       const std::optional<BlockPartition>& stated, const Options& asked,
                                       index_t block_size, std::vector<T> near_kernel) {
  const BlockJacobiOptions options = options_of(asked);
  const auto max_size = static_cast<index_t>(asked.max_size);
  const View& there = matrix.view();
  const bool is_readable_there = there.columns != nullptr && there.space == backend.memory_space();
  const bool has_clusters = asked.clusters && there.rows > 0;
  const bool has_coarse_level = asked.coarse != CoarseLevel::none && there.rows > 0;
  std::optional<Array<index_t>> columns;
  const BlockPartition partition =
      has_clusters        ? find_clusters(backend, with_columns(backend, matrix, &columns), stated, max_size)
      : stated            ? *stated
      : is_readable_there ? BlockPartition::detect(backend, there, max_size)
                          : BlockPartition::detect(matrix.on_host(), max_size);
  if (has_coarse_level && !has_clusters) {
    matrix_.emplace(backend, with_columns(backend, matrix, &columns), SparseMatrixOptions{.block_size = block_size});
    if (there.space == MemorySpace::host) count_copy(backend, matrix_->bytes());
  }
  if (columns) count_copy(backend, columns->bytes());
  const auto analyzed = [&] {
    if (has_clusters) return BlockJacobi<T>::analyze(*matrix_, partition, options);
    return BlockJacobi<T>::analyze(backend, is_readable_there ? there : matrix.on_host(), partition, options);
  };
  if (has_coarse_level)
    add_coarse_level(analyzed, asked, block_size, std::move(near_kernel));
  else
    blocks_.emplace(analyzed());
  if (!has_clusters && there.space != backend.memory_space())
    values_.emplace(backend, static_cast<std::size_t>(there.nnz));
  count_operations(partition);
}

/// From the host to the backend.
void RankPreconditioner::count_copy(const Backend& backend, std::size_t bytes) {
  if (backend.memory_space() == MemorySpace::device) copies_.to_device += static_cast<PetscLogDouble>(bytes);
}

void RankPreconditioner::count_operations(const BlockPartition& partition) {
  const auto add = [&](PetscLogDouble order, PetscLogDouble count) {
    flops_ += count * 2 * order * order;
    refresh_flops_ += count * 2 * order * order * order;
  };
  const BlockLayout layout(partition, sizeof(T));
  for (const BlockGroup& group : layout.groups()) add(group.size, group.count);
  if (two_level_) {
    add(two_level_->report().size, 1);
    flops_ += 4.0 * two_level_->rows();  // to the coarse level and back
  }
  if (multigrid_) {
    flops_ *= 2;  // before and behind the coarser levels, of which the residuals count
    for (const MultigridLevel& level : multigrid_->report().levels) flops_ += 4.0 * static_cast<double>(level.nnz);
  }
}

/// Blocks of the renumbered matrix, which keep the nodes that were stated whole. Found where the backend computes, with
/// nodes that are not all of one size on the host.
BlockPartition RankPreconditioner::find_clusters(const Backend& backend, const View& view,
                                                 const std::optional<BlockPartition>& nodes, index_t max_size) {
  SparseMatrixOptions known;
  if (nodes && offset_t{nodes->blocks()} * nodes->largest_block() == view.rows)
    known.block_size = nodes->largest_block();
  const auto given = SparseMatrix<T>::adopt(backend, view, known);
  if (view.space == MemorySpace::host) count_copy(backend, given.bytes());
  const bool comes_to_host = nodes && !known.block_size && view.space == MemorySpace::device;
  if (comes_to_host) copies_.to_host += bytes_of(view, sizeof(index_t) + sizeof(T));
  auto [permutation, blocks] = comes_to_host ? BlockPartition::clusters(given.to_host(), *nodes, max_size)
                               : nodes && !known.block_size ? BlockPartition::clusters(view, *nodes, max_size)
                                                            : BlockPartition::clusters(given, max_size);
  matrix_ = given.renumbered(permutation);
  renumbered_.emplace(backend, 2 * static_cast<std::size_t>(view.rows));
  clusters_.emplace(backend, std::move(permutation));
  if (!given.is_adopted()) given_ = given;
  return blocks;
}

void RankPreconditioner::add_coarse_level(const std::function<BlockJacobi<T>()>& analyzed, const Options& asked,
                                          index_t block_size, std::vector<T> near_kernel) {
  BlockJacobi<T> M = analyzed();
  if (asked.coarse == CoarseLevel::multigrid) {
    M.refresh(matrix_->values(), matrix_->nnz(), M.backend().memory_space());  // levels are made for these values
    if (asked.singular == SingularPolicy::fail && M.defects() > 0) {
      lacks_levels_ = true;
      blocks_.emplace(std::move(M));
      return;
    }
  }
  const auto put_on = [&](const auto&... vectors) {
    // Additive: definite where the matrix is, whatever the other ranks do.
    if (asked.coarse != CoarseLevel::multigrid)
      two_level_.emplace(*matrix_, std::move(M), vectors..., TwoLevelOptions{CoarseMode::additive, 0});
    else
      try {
        multigrid_.emplace(*matrix_, std::move(M), vectors...);
        is_fresh_ = true;
      } catch (const InvalidArgument& e) {  // an error of this rank alone would leave the others waiting
        refusal_ = e.what();
        lacks_levels_ = true;
        blocks_.emplace(analyzed());
      }
  };
  const index_t rows = matrix_->rows();
  const auto size = static_cast<std::size_t>(rows);
  // The library makes them itself where the nodes that the matrix states, which clusters keep whole, are these.
  if (near_kernel.empty() && matrix_->block_size().value_or(1) != block_size) near_kernel = ones_of(size, block_size);
  if (near_kernel.empty()) {
    put_on();
  } else {
    count_copy(matrix_->backend(), near_kernel.size() * sizeof(T));
    if (clusters_) near_kernel = in_order(clusters_->permutation().order(), near_kernel);
    const auto count = static_cast<index_t>(near_kernel.size() / size);
    put_on(MultiVectorView<const T>{near_kernel.data(), rows, count, rows, Layout::column_major, MemorySpace::host});
  }
}

void RankPreconditioner::take_values(const LocalMatrix& matrix) {
  const View& view = matrix.view();
  const MemorySpace own = blocks().backend().memory_space();
  const T* values = view.values;
  offset_t nnz = view.nnz;
  MemorySpace space = view.space;
  if (given_) {
    given_->update_values(values, nnz, space);
    values = given_->values();
    nnz = given_->nnz();
    space = own;
  } else if (values_) {
    values_->copy_from_host(values);
    values = values_->data();
    space = own;
  }
  if (matrix_) matrix_->update_values(values, nnz, space);
}

void RankPreconditioner::refresh(const LocalMatrix& matrix) {
  const View& view = matrix.view();
  const MemorySpace own = blocks().backend().memory_space();
  if (two_level_)
    two_level_->refresh();
  else if (multigrid_ && is_fresh_)
    is_fresh_ = false;
  else if (multigrid_)
    multigrid_->refresh();
  else if (matrix_)
    blocks_->refresh(matrix_->values(), matrix_->nnz(), own);
  else
    blocks_->refresh(values_ ? values_->data() : view.values, view.nnz, own);
}

void RankPreconditioner::apply_own(VectorView<const T> r, VectorView<T> z, Op op) const {
  if (blocks_) return blocks_->apply(r, z, op);
  if (op != Op::none) throw Unavailable("blockjacobi: -pc_blockjacobi_coarse has no transposed application");
  two_level_ ? two_level_->apply(r, z) : multigrid_->apply(r, z);
}

void RankPreconditioner::apply(const T* r, T* z, Op op) {
  const index_t rows = blocks().rows();
  const MemorySpace space = blocks().backend().memory_space();
  if (!clusters_) return apply_own({r, rows, space}, {z, rows, space}, op);
  clusters_->around(VectorView<const T>{r, rows, space}, VectorView<T>{z, rows, space}, *renumbered_,
                    [&](const auto& in, const auto& out) { apply_own(in, out, op); });
}

void RankPreconditioner::apply(const MultiVectorView<const T>& R, const MultiVectorView<T>& Z) {
  if (!blocks_) {
    for (index_t j = 0; j < R.cols; ++j) apply(R.data + j * R.ld, Z.data + j * Z.ld, Op::none);
  } else if (clusters_) {
    const auto needed = 2 * static_cast<std::size_t>(R.rows) * static_cast<std::size_t>(R.cols);
    if (renumbered_->size() < needed) renumbered_ = Array<T>(renumbered_->backend(), needed);
    clusters_->around(R, Z, *renumbered_, [&](const auto& in, const auto& out) { blocks_->apply(in, out); });
  } else {
    blocks_->apply(R, Z);
  }
}

BlockJacobiReport RankPreconditioner::report() const {
  BlockJacobiReport report = blocks().report();
  return clusters_ ? in_original_rows(std::move(report), clusters_->permutation()) : report;
}

std::string RankPreconditioner::coarse_report() const {
  if (multigrid_) return to_text(multigrid_->report());
  return two_level_ ? to_text(two_level_->report()) : "";
}

}  // namespace blockjacobi::petsc
