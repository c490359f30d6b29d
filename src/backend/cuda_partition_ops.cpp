#include "backend/cuda_partition_ops.hpp"

#include "backend/cuda_check.hpp"
#include "kernels/launch_partition.hpp"

#include <bit>

namespace blockjacobi::detail {

namespace {

/// The rows of a set of rows, and `rows`.
std::vector<index_t> offsets_of(const std::vector<std::uint32_t>& starts, index_t rows) {
  std::size_t blocks = 0;
  for (const std::uint32_t word : starts) blocks += static_cast<std::size_t>(std::popcount(word));
  std::vector<index_t> offsets;
  offsets.reserve(blocks + 1);
  for (std::size_t word = 0; word < starts.size(); ++word)
    for (std::uint32_t rest = starts[word]; rest != 0; rest &= rest - 1)
      offsets.push_back(static_cast<index_t>(32 * word) + std::countr_zero(rest));
  offsets.push_back(rows);
  return offsets;
}

}  // namespace

template <Offset O>
std::vector<index_t> CudaPartitionOps::detect(const CsrView<const void, O>& pattern, const SupervariableRule& rule) {
  if (pattern.rows == 0) return {0};
  const DeviceGuard guard(context_.device());
  CUstream_st* const stream = context_.stream();
  std::vector<std::uint32_t> found(kernels::row_set_words(pattern.rows));
  const std::size_t bytes = found.size() * sizeof(std::uint32_t);
  const CudaMemory starts(context_, bytes), second(context_, bytes);
  const CudaMemory scratch(context_, kernels::run_scratch_words(pattern.rows) * sizeof(index_t));
  auto* const rows = static_cast<std::uint32_t*>(starts.data());
  auto* result = rows;
  kernels::find_run_starts(pattern, rule.tolerance, rows, static_cast<std::uint32_t*>(second.data()), stream);
  kernels::cut_runs(pattern.rows, rule.max_size, rows, static_cast<index_t*>(scratch.data()), stream);
  CudaMemory merging;
  if (rule.merge_greedily) {
    merging = CudaMemory(context_, kernels::merge_scratch_bytes(pattern.rows, rule.max_size));
    result = static_cast<std::uint32_t*>(second.data());
    kernels::merge_greedily(pattern.rows, rule.max_size, rows, result, merging.data(), stream);
  }
  check(cudaMemcpyAsync(found.data(), result, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync(block starts)");
  context_.synchronize();
  return offsets_of(found, pattern.rows);
}

std::vector<index_t> CudaPartitionOps::block_offsets(const CsrView<const void, std::int32_t>& pattern,
                                                     const SupervariableRule& rule) {
  return detect(pattern, rule);
}

std::vector<index_t> CudaPartitionOps::block_offsets(const CsrView<const void, std::int64_t>& pattern,
                                                     const SupervariableRule& rule) {
  return detect(pattern, rule);
}

}  // namespace blockjacobi::detail
