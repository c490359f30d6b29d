#include "core/shared/fingerprint.hpp"
#include "core/shared/l1_sum.hpp"
#include "kernels/launch/check.hpp"
#include "kernels/partition/any_pattern.cuh"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

namespace {

unsigned grid_of(offset_t work) {
  return static_cast<unsigned>(std::clamp<offset_t>((work + pattern_threads - 1) / pattern_threads, 1, pattern_ctas));
}

__device__ offset_t first_index() { return offset_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ offset_t index_step() { return offset_t{gridDim.x} * blockDim.x; }

/// A thread a row: the sum goes in the order of the entries.
template <class C>
__global__ void __launch_bounds__(pattern_threads)
    append_l1_entries_kernel(const C* const values, const offset_t* const row_offsets, const index_t* const columns,
                             const index_t* const block_begin, const index_t* const block_end, const index_t rows,
                             C* const extended) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    const auto row = static_cast<index_t>(i);
    detail::L1Sum<C> sum;
    const offset_t end = row_offsets[row + 1];
    for (offset_t k = row_offsets[row]; k < end; ++k) {
      extended[k + row] = values[k];
      sum.add(values[k], row, columns[k], block_begin[row], block_end[row]);
    }
    extended[end + row] = sum.entry();
  }
}

__global__ void __launch_bounds__(pattern_threads)
    copy_pattern_kernel(const AnyPattern pattern, const index_t rows, const offset_t nnz, offset_t* const row_offsets,
                        index_t* const columns) {
  const auto base = static_cast<index_t>(pattern.base);
  for (offset_t i = first_index(); i <= rows; i += index_step()) row_offsets[i] = pattern.row_offsets[i] - base;
  for (offset_t k = first_index(); k < nnz; k += index_step()) columns[k] = pattern.columns[k] - base;
}

/// A warp a block. `order`: of all blocks, which then have no slots; else 0.
__global__ void __launch_bounds__(pattern_threads)
    list_blocks_of_rows_kernel(const BlockSlot* const slots, const int order, const index_t blocks,
                               index_t* const block_begin, index_t* const block_end) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (offset_t s = first_index() / 32; s < blocks; s += index_step() / 32) {
    const auto begin = static_cast<index_t>(order > 0 ? s * order : slots[s].first_row);
    const index_t end = begin + (order > 0 ? order : slots[s].size);
    for (index_t row = begin + lane; row < end; row += 32) {
      block_begin[row] = begin;
      block_end[row] = end;
    }
  }
}

/// Sums of integers, so that the order of the atomic additions does not matter.
template <class O>
__global__ void __launch_bounds__(pattern_threads)
    fingerprint_kernel(const CsrView<const void, O> pattern, unsigned long long* const sum) {
  const auto base = static_cast<index_t>(pattern.base);
  unsigned long long own = 0;
  for (offset_t i = first_index(); i <= pattern.rows; i += index_step())
    own += detail::mixed_offset(i, pattern.row_offsets[i] - base);
  for (offset_t k = first_index(); k < pattern.nnz; k += index_step())
    own += detail::mixed_column(k, pattern.columns[k] - base);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) own += __shfl_xor_sync(~0u, own, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

}  // namespace

template <class C>
void append_l1_entries(const C* values, const offset_t* row_offsets, const index_t* columns, const index_t* block_begin,
                       const index_t* block_end, index_t rows, C* extended, CUstream_st* stream) {
  append_l1_entries_kernel<<<grid_of(rows), pattern_threads, 0, stream>>>(values, row_offsets, columns, block_begin,
                                                                          block_end, rows, extended);
  check_launch("append_l1_entries_kernel");
}

template <Offset O>
void list_l1_rows(const CsrView<const void, O>& pattern, const MappedBlocks& blocks, offset_t* row_offsets,
                  index_t* columns, index_t* block_begin, index_t* block_end, CUstream_st* stream) {
  copy_pattern_kernel<<<grid_of(std::max<offset_t>(pattern.nnz, pattern.rows)), pattern_threads, 0, stream>>>(
      AnyPattern(pattern), pattern.rows, pattern.nnz, row_offsets, columns);
  check_launch("copy_pattern_kernel");
  const int order = blocks.groups.size() == 1 ? blocks.groups[0].size : 0;
  list_blocks_of_rows_kernel<<<grid_of(offset_t{blocks.blocks} * 32), pattern_threads, 0, stream>>>(
      blocks.slots, order, blocks.blocks, block_begin, block_end);
  check_launch("list_blocks_of_rows_kernel");
}

template <Offset O>
void fingerprint(const CsrView<const void, O>& pattern, unsigned long long* sum, CUstream_st* stream) {
  check(cudaMemsetAsync(sum, 0, sizeof(*sum), stream), "cudaMemsetAsync(fingerprint)");
  fingerprint_kernel<<<grid_of(std::max<offset_t>(pattern.nnz, pattern.rows)), pattern_threads, 0, stream>>>(pattern,
                                                                                                             sum);
  check_launch("fingerprint_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template void append_l1_entries(const C*, const offset_t*, const index_t*, const index_t*, const index_t*, index_t, \
                                  C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
template void list_l1_rows(const CsrView<const void, std::int32_t>&, const MappedBlocks&, offset_t*, index_t*, index_t*,
                           index_t*, CUstream_st*);
template void list_l1_rows(const CsrView<const void, std::int64_t>&, const MappedBlocks&, offset_t*, index_t*, index_t*,
                           index_t*, CUstream_st*);
template void fingerprint(const CsrView<const void, std::int32_t>&, unsigned long long*, CUstream_st*);
template void fingerprint(const CsrView<const void, std::int64_t>&, unsigned long long*, CUstream_st*);

}  // namespace blockjacobi::kernels
