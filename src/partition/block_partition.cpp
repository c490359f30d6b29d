#include <blockjacobi/block_partition.hpp>

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"
#include "core/message.hpp"
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

template <Scalar T, Offset O>
CsrView<const void, O> pattern_of(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, nullptr, m.base, m.space};
}

/// A matrix on a device, copied to the host.
template <Scalar T, Offset O>
class HostCopy {
 public:
  HostCopy(detail::BackendImpl& backend, const CsrView<T, O>& m)
      : offsets_(static_cast<std::size_t>(m.rows) + 1),
        columns_(static_cast<std::size_t>(m.nnz)),
        values_(static_cast<std::size_t>(m.nnz)),
        view_{m.rows, m.cols, m.nnz, offsets_.data(), columns_.data(), values_.data(), m.base, MemorySpace::host} {
    backend.copy_to_host(offsets_.data(), m.row_offsets, offsets_.size() * sizeof(O));
    if (m.nnz == 0) return;
    backend.copy_to_host(columns_.data(), m.columns, columns_.size() * sizeof(index_t));
    backend.copy_to_host(values_.data(), m.values, values_.size() * sizeof(T));
  }
  const CsrView<T, O>& view() const { return view_; }

 private:
  std::vector<O> offsets_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
  CsrView<T, O> view_;
};

template <Scalar T, Offset O>
CsrView<const void, O> untyped(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, m.values, m.base, m.space};
}

/// The matrix lies on the host.
template <Scalar T, Offset O>
std::vector<index_t> merge_coupled(const CsrView<T, O>& matrix, const std::vector<index_t>& offsets,
                                   const DetectOptions& o) {
  const auto last = detail::last_coupled(matrix, offsets, o.max_size, o.coupling);
  return detail::merge_coupled(offsets, last, o.max_size);
}

/// The matrix lies in the memory of the backend.
template <Scalar T, Offset O>
std::vector<index_t> offsets_in_backend(detail::BackendImpl& backend, const CsrView<T, O>& matrix,
                                        const DetectOptions& o) {
  detail::PartitionOps& ops = backend.partition_ops();
  const detail::SupervariableRule rule{o.max_size, o.tolerance, o.merge == Merge::greedy};
  if (o.merge != Merge::coupled) return ops.block_offsets(pattern_of(matrix), rule);
  auto offsets = ops.coupled_offsets(untyped(matrix), scalar_type<T>, {rule, o.coupling});
  if (offsets) return std::move(*offsets);
  return merge_coupled(HostCopy<T, O>(backend, matrix).view(), ops.block_offsets(pattern_of(matrix), rule), o);
}

}  // namespace

BlockPartition BlockPartition::uniform(index_t rows, index_t block_size) {
  if (rows < 0) throw InvalidArgument(detail::message("BlockPartition::uniform: rows is {}, must be >= 0", rows));
  require_block_size("BlockPartition::uniform", block_size);
  std::vector<index_t> offsets{0};
  offsets.reserve(static_cast<std::size_t>(rows / block_size) + 2);
  while (offsets.back() < rows) offsets.push_back(offsets.back() + std::min(block_size, rows - offsets.back()));
  return BlockPartition(std::move(offsets));
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
  validate(matrix);
  auto offsets = detail::supervariables(pattern_of(matrix), options.max_size, options.tolerance);
  switch (options.merge) {
    case Merge::none: break;
    case Merge::greedy: offsets = detail::merge_greedily(offsets, options.max_size); break;
    case Merge::coupled: offsets = merge_coupled(matrix, offsets, options); break;
  }
  return BlockPartition(std::move(offsets));
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
  return BlockPartition(offsets_in_backend(backend.impl(), matrix, options));
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const CsrView<T, O>& matrix, index_t max_size) {
  return detect(matrix, DetectOptions{.max_size = max_size});
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const Backend& backend, const CsrView<T, O>& matrix, index_t max_size) {
  return detect(backend, matrix, DetectOptions{.max_size = max_size});
}

index_t BlockPartition::largest_block() const noexcept {
  index_t largest = 0;
  for (index_t b = 0; b < blocks(); ++b) largest = std::max(largest, block_size(b));
  return largest;
}

#define BLOCKJACOBI_INSTANTIATE(T, O)                                                            \
  template BlockPartition BlockPartition::detect(const CsrView<T, O>&, index_t);                 \
  template BlockPartition BlockPartition::detect(const Backend&, const CsrView<T, O>&, index_t); \
  template BlockPartition BlockPartition::detect(const CsrView<T, O>&, const DetectOptions&);    \
  template BlockPartition BlockPartition::detect(const Backend&, const CsrView<T, O>&, const DetectOptions&)
BLOCKJACOBI_INSTANTIATE(float, std::int32_t);
BLOCKJACOBI_INSTANTIATE(float, std::int64_t);
BLOCKJACOBI_INSTANTIATE(double, std::int32_t);
BLOCKJACOBI_INSTANTIATE(double, std::int64_t);
BLOCKJACOBI_INSTANTIATE(std::complex<float>, std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::complex<float>, std::int64_t);
BLOCKJACOBI_INSTANTIATE(std::complex<double>, std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::complex<double>, std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
