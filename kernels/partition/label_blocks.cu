#include "kernels/partition/list_kernels.cuh"

// The numbering in which the rows of a label follow each other. Rows come to their block in any order and are sorted
// there, each by how many of the block stand before it.

namespace blockjacobi::kernels {

namespace {

__global__ void __launch_bounds__(list_threads)
    count_labels_kernel(const index_t rows, const index_t* const labels, const LabelBlocks blocks) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    atomicMin(blocks.first + labels[i], static_cast<index_t>(i));
    atomicAdd(blocks.size + labels[i], 1);
  }
}

__global__ void __launch_bounds__(list_threads) measure_blocks_kernel(const index_t rows, const index_t* const labels,
                                                                      const LabelBlocks blocks, ListSum* const sums) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    const bool is_first = blocks.first[labels[i]] == i;
    sums[i] = {is_first ? blocks.size[labels[i]] : 0, is_first ? 1 : 0};
  }
}

/// Where a block begins in the new numbering.
__device__ index_t begin_of(index_t label, const LabelBlocks& blocks, const ListSum* sums) {
  return static_cast<index_t>(sums[blocks.first[label]].entries - blocks.size[label]);
}

__global__ void __launch_bounds__(list_threads)
    gather_rows_kernel(const index_t rows, const index_t* const labels, const ListSum* const sums,
                       const LabelBlocks blocks, std::uint32_t* const starts) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    const index_t label = labels[i], begin = begin_of(label, blocks, sums);
    blocks.unsorted[begin + atomicAdd(blocks.taken + label, 1)] = static_cast<index_t>(i);
    if (blocks.first[label] == i) atomicOr(starts + begin / 32, 1u << begin % 32);
  }
}

__global__ void __launch_bounds__(list_threads)
    sort_rows_kernel(const index_t rows, const index_t* const labels, const ListSum* const sums,
                     const LabelBlocks blocks, index_t* const order) {
  for (offset_t k = first_index(); k < rows; k += index_step()) {
    const index_t row = blocks.unsorted[k], label = labels[row];
    const index_t begin = begin_of(label, blocks, sums), size = blocks.size[label];
    index_t before = 0;
    for (index_t m = 0; m < size; ++m) before += blocks.unsorted[begin + m] < row ? 1 : 0;
    order[begin + before] = row;
  }
}

}  // namespace

void measure_blocks(index_t rows, const index_t* labels, const LabelBlocks& blocks, ListSum* sums,
                    CUstream_st* stream) {
  count_labels_kernel<<<ctas_for(rows, list_threads), list_threads, 0, stream>>>(rows, labels, blocks);
  check_launch("count_labels_kernel");
  measure_blocks_kernel<<<ctas_for(rows, list_threads), list_threads, 0, stream>>>(rows, labels, blocks, sums);
  check_launch("measure_blocks_kernel");
}

void order_rows(index_t rows, const index_t* labels, const ListSum* sums, const LabelBlocks& blocks, index_t* order,
                std::uint32_t* starts, CUstream_st* stream) {
  gather_rows_kernel<<<ctas_for(rows, list_threads), list_threads, 0, stream>>>(rows, labels, sums, blocks, starts);
  check_launch("gather_rows_kernel");
  sort_rows_kernel<<<ctas_for(rows, list_threads), list_threads, 0, stream>>>(rows, labels, sums, blocks, order);
  check_launch("sort_rows_kernel");
}

}  // namespace blockjacobi::kernels
