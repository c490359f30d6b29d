#include <blockjacobi/block_partition.hpp>

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"
#include "partition/supervariables.hpp"

#include <blockjacobi/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace blockjacobi {

namespace {

void require_block_size(const char* function, index_t size) {
  if (size < 1 || size > max_block_size)
    throw InvalidArgument(fmt::format("{}: block size is {}, must be in 1..{}", function, size, max_block_size));
}

template <Scalar T, Offset O>
void require_square(const CsrView<T, O>& matrix) {
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        fmt::format("BlockPartition::detect: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
}

template <Scalar T, Offset O>
CsrView<const void, O> pattern_of(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, nullptr, m.base, m.space};
}

}  // namespace

BlockPartition BlockPartition::uniform(index_t rows, index_t block_size) {
  if (rows < 0) throw InvalidArgument(fmt::format("BlockPartition::uniform: rows is {}, must be >= 0", rows));
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
        fmt::format("BlockPartition::from_offsets: the first offset is {}, must be 0", offsets.front()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const offset_t size = static_cast<offset_t>(offsets[b + 1]) - offsets[b];
    if (size < 1 || size > max_block_size)
      throw InvalidArgument(
          fmt::format("BlockPartition::from_offsets: block {} goes from row {} to row {} (exclusive): {} rows, "
                      "must be 1..{}",
                      b, offsets[b], offsets[b + 1], size, max_block_size));
  }
  return BlockPartition(std::move(offsets));
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const CsrView<T, O>& matrix, index_t max_size) {
  require_block_size("BlockPartition::detect", max_size);
  if (matrix.space != MemorySpace::host)
    throw InvalidArgument("BlockPartition::detect: the matrix lies on the device; pass its backend as well");
  require_square(matrix);
  validate(matrix);
  return BlockPartition(detail::supervariables(pattern_of(matrix), max_size));
}

template <Scalar T, Offset O>
BlockPartition BlockPartition::detect(const Backend& backend, const CsrView<T, O>& matrix, index_t max_size) {
  if (matrix.space == MemorySpace::host) return detect(matrix, max_size);
  require_block_size("BlockPartition::detect", max_size);
  if (backend.memory_space() != matrix.space)
    throw InvalidArgument(fmt::format("BlockPartition::detect: the matrix lies on the {}, the backend is {}",
                                      to_string(matrix.space), backend.description()));
  detail::require_arrays("BlockPartition::detect", matrix);
  require_square(matrix);
  return BlockPartition(backend.impl().partition_ops().supervariables(pattern_of(matrix), max_size));
}

index_t BlockPartition::largest_block() const noexcept {
  index_t largest = 0;
  for (index_t b = 0; b < blocks(); ++b) largest = std::max(largest, block_size(b));
  return largest;
}

#define BLOCKJACOBI_INSTANTIATE(T, O)                                            \
  template BlockPartition BlockPartition::detect(const CsrView<T, O>&, index_t); \
  template BlockPartition BlockPartition::detect(const Backend&, const CsrView<T, O>&, index_t)
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
