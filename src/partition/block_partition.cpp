#include <blockjacobi/block_partition.hpp>

#include "backend/backend_impl.hpp"
#include "backend/host_pattern.hpp"
#include "backend/require.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"
#include "core/partition_impl.hpp"
#include "partition/agglomerate.hpp"
#include "partition/coupling.hpp"
#include "partition/supervariables.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>

namespace blockjacobi {

namespace {

void require_block_size(const char* function, index_t size) {
  if (size < 1 || size > max_block_size)
    throw InvalidArgument(detail::message("{}: block size is {}, must be in 1..{}", function, size, max_block_size));
}

void require_options(const DetectOptions& o) {
  require_block_size("BlockPartition::detect", o.max_size);
  if (!(o.tolerance >= 0.0 && o.tolerance < 1.0))
    throw InvalidArgument(detail::message("BlockPartition::detect: tolerance is {}, must be in [0, 1)", o.tolerance));
  detail::require_enumerator("BlockPartition::detect", "merge", o.merge, Merge::coupled);
  if (o.merge == Merge::coupled && !(o.coupling >= 0.0))
    throw InvalidArgument(detail::message("BlockPartition::detect: coupling is {}, must be >= 0", o.coupling));
}

template <Scalar T, Offset O>
void require_matrix(const CsrView<T, O>& matrix, const DetectOptions& o) {
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("BlockPartition::detect: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (o.merge == Merge::coupled && matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message(
        "BlockPartition::detect: the matrix has {} entries but no values, which Merge::coupled looks at", matrix.nnz));
}

/// The matrix lies on the host.
template <Scalar T, Offset O>
std::vector<index_t> merge_coupled(const CsrView<T, O>& matrix, const std::vector<index_t>& offsets,
                                   const DetectOptions& o) {
  const auto last = detail::last_coupled(matrix, offsets, o.max_size, o.coupling);
  return detail::merge_coupled(offsets, last, o.max_size);
}

/// The matrix lies on the host and is valid.
template <Scalar T, Offset O>
std::vector<index_t> offsets_on_host(const CsrView<T, O>& matrix, const DetectOptions& o) {
  auto offsets = detail::supervariables(detail::pattern_of(matrix), o.max_size, o.tolerance);
  if (o.merge == Merge::greedy) return detail::merge_greedily(offsets, o.max_size);
  if (o.merge == Merge::coupled) return merge_coupled(matrix, offsets, o);
  return offsets;
}

/// For a matrix on a device that may be wrong: the host has the words for it.
template <Scalar T, Offset O>
void require_valid_copy(const Backend& backend, const CsrView<T, O>& matrix) {
  const detail::HostPattern<T, O> host("BlockPartition::detect", backend, matrix);
  detail::require_valid("BlockPartition::detect", detail::pattern_of(host.view()));
}

detail::SupervariableRule rule_of(const DetectOptions& o) {
  return {o.max_size, o.tolerance, o.merge == Merge::greedy};
}

/// The matrix lies in the memory of the backend. With Merge::coupled it may be wrong.
template <Scalar T, Offset O>
BlockPartition detect_in_backend(const Backend& backend, const CsrView<T, O>& matrix, const DetectOptions& o) {
  detail::PartitionOps& ops = backend.impl().partition_ops();
  const detail::SupervariableRule rule = rule_of(o);
  if (o.merge != Merge::coupled) return ops.detect(backend, detail::pattern_of(matrix), rule);
  if (auto found = ops.detect_coupled(backend, detail::untyped(matrix), scalar_type<T>, {rule, o.coupling}))
    return std::move(*found);
  require_valid_copy(backend, matrix);
  const CsrMatrix<T> copy = SparseMatrix<T>::adopt(backend, matrix).to_host();
  const BlockPartition supervariables = ops.detect(backend, detail::pattern_of(matrix), rule);
  const auto offsets = supervariables.offsets();
  return BlockPartition::from_offsets(merge_coupled(copy.view(), {offsets.begin(), offsets.end()}, o));
}

}  // namespace

BlockPartition::BlockPartition(std::vector<index_t> offsets) {
  if (offsets.size() > 1) impl_ = std::make_shared<const detail::PartitionImpl>(std::move(offsets));
}

BlockPartition BlockPartition::uniform(index_t rows, index_t block_size) {
  if (rows < 0) throw InvalidArgument(detail::message("BlockPartition::uniform: rows is {}, must be >= 0", rows));
  require_block_size("BlockPartition::uniform", block_size);
  if (rows == 0) return {};
  return BlockPartition(std::make_shared<const detail::PartitionImpl>(rows, block_size));
}

template <Scalar T>
BlockPartition BlockPartition::uniform(const SparseMatrix<T>& matrix) {
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(detail::message("BlockPartition::uniform: the matrix is {} x {}, must be square",
                                          matrix.rows(), matrix.cols()));
  if (!matrix.block_size())
    throw InvalidArgument(
        "BlockPartition::uniform: no block size was stated with the matrix; pass rows and block size");
  return uniform(matrix.rows(), *matrix.block_size());
}

BlockPartition BlockPartition::from_offsets(std::vector<index_t> offsets) {
  if (offsets.empty()) throw InvalidArgument("BlockPartition::from_offsets: no offsets, must hold at least 0");
  if (offsets.front() != 0)
    throw InvalidArgument(
        detail::message("BlockPartition::from_offsets: the first offset is {}, must be 0", offsets.front()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const offset_t size = static_cast<offset_t>(offsets[b + 1]) - offsets[b];
    if (size < 1 || size > max_block_size)
      throw InvalidArgument(
          detail::message("BlockPartition::from_offsets: block {} goes from row {} to row {} (exclusive): {} rows, "
                          "must be 1..{}",
                          b, offsets[b], offsets[b + 1], size, max_block_size));
  }
  return BlockPartition(std::move(offsets));
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const CsrView<T, O>& matrix, const DetectOptions& options) {
  require_options(options);
  if (matrix.space != MemorySpace::host)
    throw InvalidArgument("BlockPartition::detect: the matrix lies on the device; pass its backend as well");
  require_matrix(matrix, options);
  detail::require_valid("BlockPartition::detect", detail::pattern_of(matrix));
  return BlockPartition(offsets_on_host(matrix, options));
}

template <Scalar T>
BlockPartition BlockPartition::detect(const CsrMatrix<T>& matrix, const DetectOptions& options) {
  require_options(options);
  require_matrix(matrix.view(), options);
  return BlockPartition(offsets_on_host(matrix.view(), options));
}

template <Scalar T>
BlockPartition BlockPartition::detect(const SparseMatrix<T>& matrix, const DetectOptions& options) {
  require_options(options);
  return std::visit(
      [&](const auto& view) {
        require_matrix(view, options);
        return view.space == MemorySpace::host ? BlockPartition(offsets_on_host(view, options))
                                               : detect_in_backend(matrix.backend(), view, options);
      },
      matrix.view());
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const Backend& backend, const CsrView<T, O>& matrix,
                                      const DetectOptions& options) {
  if (matrix.space == MemorySpace::host) return detect(matrix, options);
  require_options(options);
  if (backend.memory_space() != matrix.space)
    throw InvalidArgument(detail::message("BlockPartition::detect: the matrix lies on the {}, the backend is {}",
                                          to_string(matrix.space), backend.description()));
  detail::require_arrays("BlockPartition::detect", matrix);
  require_matrix(matrix, options);
  if (options.merge != Merge::coupled) {  // which checks in any case
    auto found = backend.impl().partition_ops().detect_checked(backend, detail::pattern_of(matrix), rule_of(options));
    if (found) return std::move(*found);
    require_valid_copy(backend, matrix);
  }
  return detect_in_backend(backend, matrix, options);
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const CsrView<T, O>& matrix, index_t max_size) {
  return detect(matrix, DetectOptions{.max_size = max_size});
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const Backend& backend, const CsrView<T, O>& matrix, index_t max_size) {
  return detect(backend, matrix, DetectOptions{.max_size = max_size});
}

index_t BlockPartition::rows() const noexcept { return impl_ ? impl_->rows() : 0; }
index_t BlockPartition::blocks() const noexcept { return impl_ ? impl_->blocks() : 0; }
index_t BlockPartition::first_row(index_t block) const { return impl_ ? impl_->first_row(block) : 0; }
index_t BlockPartition::largest_block() const noexcept { return impl_ ? impl_->orders().back().size : 0; }

std::span<const index_t> BlockPartition::offsets() const {
  static constexpr index_t none = 0;
  return impl_ ? impl_->offsets() : std::span<const index_t>(&none, 1);
}

bool BlockPartition::equals(const BlockPartition& other) const {
  if (impl_ == other.impl_) return true;
  if (rows() != other.rows() || blocks() != other.blocks() || largest_block() != other.largest_block()) return false;
  const bool is_known = impl_->uniform_size() > 0 && other.impl_->uniform_size() > 0;
  return is_known || std::ranges::equal(offsets(), other.offsets());
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                        \
  template BlockPartition BlockPartition::detect(const CsrView<T, O>&, index_t);                 \
  template BlockPartition BlockPartition::detect(const Backend&, const CsrView<T, O>&, index_t); \
  template BlockPartition BlockPartition::detect(const CsrView<T, O>&, const DetectOptions&);    \
  template BlockPartition BlockPartition::detect(const Backend&, const CsrView<T, O>&, const DetectOptions&)
#define BLOCKJACOBI_INSTANTIATE(T)                                                              \
  template BlockPartition BlockPartition::uniform(const SparseMatrix<T>&);                      \
  template BlockPartition BlockPartition::detect(const CsrMatrix<T>&, const DetectOptions&);    \
  template BlockPartition BlockPartition::detect(const SparseMatrix<T>&, const DetectOptions&); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t);                                                 \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi
