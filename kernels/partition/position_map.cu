#include "core/shared/block_extent.hpp"
#include "kernels/apply/block_tasks.cuh"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/add_from_warp.cuh"
#include "kernels/partition/any_pattern.cuh"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"
#include "kernels/partition/sorted_row.cuh"

#include <climits>

// Position maps: of blocks that fit a warp by a lane a row, of larger ones, and of all with l1, by a thread block each;
// see precond/position_map.cpp.

namespace blockjacobi::kernels {

namespace {

constexpr int map_threads = striding_policy.threads;

unsigned grid_of(offset_t threads) {
  return persistent_ctas(striding_policy, (threads + map_threads - 1) / map_threads);
}

/// The part of a sorted row inside of its block: entries first .. last - 1. With l1 the row has one more, on the
/// diagonal behind its own, and sources count those of the rows before, too.
struct RowPart {
  offset_t first = 0;
  offset_t last = 0;
  offset_t of_l1 = -1;  ///< its source, if there is one
  offset_t shift = 0;   ///< from an entry to its source

  __device__ offset_t count() const { return last - first + (of_l1 >= 0 ? 1 : 0); }
  /// If there are any.
  __device__ offset_t first_source() const { return first < last ? first + shift : of_l1; }
  __device__ offset_t last_source() const { return of_l1 >= 0 ? of_l1 : last - 1; }

  /// Of its entries, which go by columns, the one of l1 stands behind that of the matrix.
  template <class Pattern>
  __device__ int place_of_l1(const Pattern& pattern, offset_t first_row, int rank) const {
    if (of_l1 < 0) return INT_MAX;
    const offset_t behind = first_row + rank + static_cast<offset_t>(pattern.base) + 1;
    return static_cast<int>(first_not_below(pattern.columns, first, last, behind) - first);
  }
  template <class Pattern>
  __device__ detail::MapEntry entry(const Pattern& pattern, offset_t first_row, int rank, int e, int place) const {
    if (e == place) return {of_l1, rank, rank};
    const offset_t k = first + e - (e > place ? 1 : 0);
    const auto column = static_cast<index_t>(pattern.columns[k] - static_cast<offset_t>(pattern.base) - first_row);
    return {k + shift, rank, column};
  }
};
/// Of row `rank` of a block of `order` rows; nothing of rows that it has not.
template <class Pattern>
__device__ RowPart part_of(const Pattern& pattern, offset_t first_row, int rank, int order, bool l1) {
  if (rank >= order) return {};
  const auto base = static_cast<offset_t>(pattern.base);
  const offset_t row = first_row + rank, begin = first_row + base, end = begin + order;
  const offset_t row_end = pattern.row_offsets[row + 1] - base;
  const offset_t first = first_not_below(pattern.columns, pattern.row_offsets[row] - base, row_end, begin);
  const offset_t most = min(first + order, row_end);
  const bool is_full = first < most && pattern.columns[most - 1] < end;
  const offset_t last = is_full ? most : first_not_below(pattern.columns, first, most, end);
  return {first, last, l1 ? row_end + row : -1, l1 ? row : 0};
}
template <class O>
__device__ RowPart part_of(const CsrView<const void, O>& pattern, const OwnRow& own) {
  return part_of(pattern, own.row - own.rank, own.rank, own.exists ? own.order : 0, false);
}

constexpr offset_t no_entry = offset_t{1} << 62;

template <class O>
__global__ void __launch_bounds__(map_threads)
    measure_map_kernel(const CsrView<const void, O> pattern, const BlockTasks<double> tasks, const index_t blocks,
                       const PatternCounts* const check, detail::MapSlot* const slots, MapCounts* const counts) {
  if (check != nullptr && (check->faults != 0 || check->unsorted != 0)) return;
  const offset_t step = offset_t{gridDim.x} * (map_threads / 32);
  unsigned long long entries = 0, words = 0, wide = 0;
  for (offset_t task = (offset_t{blockIdx.x} * map_threads + threadIdx.x) / 32; task < tasks.warps; task += step) {
    const OwnRow own = own_row(tasks, task);
    const RowPart part = part_of(pattern, own);
    const offset_t first_of_0 = __shfl_sync(~0u, part.first, 0, own.width);
    const offset_t first_of_1 = __shfl_sync(~0u, part.first, 1 % own.width, own.width);
    const offset_t stride = own.order > 1 ? first_of_1 - first_of_0 : 1;
    int regular = !own.exists || (part.count() == own.order && part.first == first_of_0 + own.rank * stride) ? 1 : 0;
    offset_t count = part.count(), first = count > 0 ? part.first : no_entry, last = count > 0 ? part.last - 1 : 0;
    for (int distance = own.width / 2; distance > 0; distance /= 2) {
      regular &= __shfl_xor_sync(~0u, regular, distance);
      count += __shfl_xor_sync(~0u, count, distance);
      first = min(first, __shfl_xor_sync(~0u, first, distance));
      last = max(last, __shfl_xor_sync(~0u, last, distance));
    }
    if (!own.exists || own.rank != 0) continue;
    detail::BlockExtent extent{count, count > 0 ? first : 0};
    extent.finish(own.order, last, regular != 0, stride);
    slots[own.slot] = {extent.words(), extent.first_source, extent.row_stride};
    entries += static_cast<unsigned long long>(count);
    words += static_cast<unsigned long long>(extent.words());
    wide += extent.narrow ? 0 : 1;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) slots[blocks] = {0, 0, 0};
  __syncwarp();
  add_from_warp(&counts->entries, entries);
  add_from_warp(&counts->words, words);
  if (wide != 0) counts->wide = 1;
}

/// Blocks that a thread block has each, in the slots from `first_slot` on: those above largest_tiny_order, and with l1
/// all, since its maps have words for about every entry and are seldom asked for.
struct LargeBlocks {
  const BlockSlot* slots;
  int order;  ///< of all blocks of the map, which then need no slots; 0 if they differ
  index_t first_slot;
  index_t count;
  bool l1;

  struct Rows {
    offset_t first;
    int order;
  };
  __device__ Rows rows(offset_t member) const {
    if (order != 0) return {member * order, order};
    const BlockSlot& slot = slots[first_slot + member];
    return {slot.first_row, slot.size};
  }
};
constexpr int rows_per_thread = max_block_size / map_threads;
static_assert(rows_per_thread * map_threads == max_block_size);

/// A thread block a block; see measure_map_kernel.
__global__ void __launch_bounds__(map_threads)
    measure_large_map_kernel(const AnyPattern pattern, const LargeBlocks blocks, const PatternCounts* const check,
                             detail::MapSlot* const slots, MapCounts* const counts) {
  if (check != nullptr && (check->faults != 0 || check->unsorted != 0)) return;
  __shared__ offset_t first_of[2];
  __shared__ ReduceScratch<1, offset_t> of_sum;
  __shared__ ReduceScratch<3, offset_t> of_largest;
  const auto thread = static_cast<int>(threadIdx.x);
  unsigned long long entries = 0, words = 0, wide = 0;
  for (offset_t member = blockIdx.x; member < blocks.count; member += gridDim.x) {
    const auto [first_row, order] = blocks.rows(member);
    RowPart parts[rows_per_thread];
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k)
      parts[k] = part_of(pattern, first_row, thread + k * map_threads, order, blocks.l1);
    if (thread < 2) first_of[thread] = parts[0].first;
    __syncthreads();
    const offset_t stride = order > 1 ? first_of[1] - first_of[0] : 1;
    offset_t count = 0;
    // What stands first, negative; what stands last; whether a row stands apart.
    offset_t largest[] = {-no_entry, 0, 0};
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      const int rank = thread + k * map_threads;
      const RowPart& part = parts[k];
      // why: what l1 adds stands behind a row, in its place only where that is all there is
      const bool in_place = blocks.l1 ? order == 1 : part.first == first_of[0] + rank * stride;
      if (rank < order && (part.count() != order || !in_place)) largest[2] = 1;
      if (part.count() == 0) continue;
      count += part.count();
      largest[0] = max(largest[0], -part.first_source());
      largest[1] = max(largest[1], part.last_source());
    }
    count = cta_reduce(count, of_sum, [](offset_t a, offset_t b) { return a + b; });
    cta_reduce(largest, of_largest, [](offset_t a, offset_t b) { return max(a, b); });
    if (thread > 0) continue;
    detail::BlockExtent extent{count, count > 0 ? -largest[0] : 0};
    extent.finish(order, largest[1], largest[2] == 0, stride);
    slots[blocks.first_slot + member] = {extent.words(), extent.first_source, extent.row_stride};
    entries += static_cast<unsigned long long>(count);
    words += static_cast<unsigned long long>(extent.words());
    wide += extent.narrow ? 0 : 1;
  }
  if (thread > 0) return;
  if (entries != 0) atomicAdd(&counts->entries, entries);
  if (words != 0) atomicAdd(&counts->words, words);
  if (wide != 0) counts->wide = 1;
}

/// Slots of a thread block of the sums.
constexpr int stretch_slots = 1024;
constexpr int per_thread = stretch_slots / map_threads;

/// The sum over the threads before this one; `total` over all of them. Called by whole thread blocks of map_threads.
__device__ offset_t sum_before(offset_t own, offset_t& total) {
  __shared__ offset_t of_warp[map_threads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  offset_t sum = own;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const offset_t left = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += left;
  }
  __syncthreads();  // who still reads the sums of the call before
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  offset_t before = sum - own;
  total = 0;
  for (int w = 0; w < map_threads / 32; ++w) {
    if (w < warp) before += of_warp[w];
    total += of_warp[w];
  }
  return before;
}

/// The words of the slots of a thread.
struct OwnWords {
  offset_t first;
  offset_t words[per_thread];
  offset_t sum = 0;
  __device__ OwnWords(index_t stretch, const detail::MapSlot* slots, index_t count)
      : first(offset_t{stretch} * stretch_slots + static_cast<int>(threadIdx.x) * per_thread) {
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      words[k] = first + k < count ? slots[first + k].begin : 0;
      sum += words[k];
    }
  }
  __device__ void begin_slots(offset_t begin, index_t count, bool narrow, detail::MapSlot* slots) const {
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      if (first + k >= count) break;
      slots[first + k].begin = begin;
      if (!narrow && slots[first + k].row_stride == 0) slots[first + k].first_source = 0;
      begin += words[k];
    }
  }
};

__global__ void __launch_bounds__(map_threads)
    sum_stretches_kernel(const detail::MapSlot* const slots, const index_t count, offset_t* const stretches) {
  offset_t total = 0;
  sum_before(OwnWords(static_cast<index_t>(blockIdx.x), slots, count).sum, total);
  if (threadIdx.x == 0) stretches[blockIdx.x] = total;
}

/// One thread block.
__global__ void __launch_bounds__(map_threads) scan_stretches_kernel(const index_t count, offset_t* const stretches) {
  offset_t before = 0;
  for (index_t base = 0; base < count; base += map_threads) {
    const index_t stretch = base + static_cast<int>(threadIdx.x);
    const offset_t own = stretch < count ? stretches[stretch] : 0;
    offset_t total = 0;
    const offset_t within = sum_before(own, total);
    if (stretch < count) stretches[stretch] = before + within;
    before += total;
  }
}

__global__ void __launch_bounds__(map_threads)
    begin_slots_kernel(const index_t count, const bool narrow, const offset_t* const stretches,
                       detail::MapSlot* const slots) {
  const OwnWords own(static_cast<index_t>(blockIdx.x), slots, count);
  offset_t total = 0;
  own.begin_slots(stretches[blockIdx.x] + sum_before(own.sum, total), count, narrow, slots);
}

/// One thread block has all slots, stretch by stretch.
constexpr index_t few_stretches = 4;
__global__ void __launch_bounds__(map_threads) begin_few_slots_kernel(const index_t count, const index_t stretches,
                                                                      const bool narrow, detail::MapSlot* const slots) {
  offset_t before = 0;
  for (index_t stretch = 0; stretch < stretches; ++stretch) {
    const OwnWords own(stretch, slots, count);
    offset_t total = 0;
    own.begin_slots(before + sum_before(own.sum, total), count, narrow, slots);
    before += total;
  }
}

template <class Word, class O>
__global__ void __launch_bounds__(map_threads)
    fill_map_kernel(const CsrView<const void, O> pattern, const BlockTasks<double> tasks,
                    const detail::MapSlot* const slots, Word* const words) {
  const offset_t step = offset_t{gridDim.x} * (map_threads / 32);
  for (offset_t task = (offset_t{blockIdx.x} * map_threads + threadIdx.x) / 32; task < tasks.warps; task += step) {
    const OwnRow own = own_row(tasks, task);
    const detail::MapSlot slot = own.exists ? slots[own.slot] : detail::MapSlot{0, 0, 1};
    const RowPart part = slot.row_stride == 0 ? part_of(pattern, own) : RowPart{};
    const auto count = static_cast<int>(part.count());
    int through = count;
    for (int distance = 1; distance < own.width; distance *= 2) {
      const int left = __shfl_up_sync(~0u, through, distance, own.width);
      if (own.rank >= distance) through += left;
    }
    Word* const word = words + slot.begin + (through - count);
    for (int e = 0; e < count; ++e)
      word[e] = detail::map_word<Word>(part.entry(pattern, own.row - own.rank, own.rank, e, INT_MAX), slot);
  }
}

/// A thread block a block, a warp a row.
template <class Word>
__global__ void __launch_bounds__(map_threads)
    fill_large_map_kernel(const AnyPattern pattern, const LargeBlocks blocks, const detail::MapSlot* const slots,
                          Word* const words) {
  __shared__ RowPart part_of_row[max_block_size];
  __shared__ int begin[max_block_size + 1];  // of the words of the rows
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  for (offset_t member = blockIdx.x; member < blocks.count; member += gridDim.x) {
    const detail::MapSlot slot = slots[blocks.first_slot + member];
    if (slot.row_stride != 0) continue;
    const auto [first_row, order] = blocks.rows(member);
    RowPart parts[rows_per_thread];
    offset_t own = 0, total = 0;
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      parts[k] = part_of(pattern, first_row, thread * rows_per_thread + k, order, blocks.l1);
      own += parts[k].count();
    }
    auto before = static_cast<int>(sum_before(own, total));  // all threads have left the words of the block before
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      part_of_row[thread * rows_per_thread + k] = parts[k];
      begin[thread * rows_per_thread + k] = before;
      before += static_cast<int>(parts[k].count());
    }
    if (thread == map_threads - 1) begin[max_block_size] = before;
    __syncthreads();
    for (int row = thread / 32; row < order; row += map_threads / 32) {
      Word* const word = words + slot.begin + begin[row];
      const RowPart part = part_of_row[row];
      const int place = part.place_of_l1(pattern, first_row, row);
      for (int e = lane; e < begin[row + 1] - begin[row]; e += 32)
        word[e] = detail::map_word<Word>(part.entry(pattern, first_row, row, e, place), slot);
    }
  }
}

/// Calls launch(blocks, thread blocks) if there are any.
template <class Launch>
void for_large_blocks(const MappedBlocks& blocks, bool l1, Launch launch) {
  const SlotRange range = slots_of_orders(blocks.groups, l1 ? 0 : largest_tiny_order, max_block_size);
  if (range.count == 0) return;
  const int order = blocks.groups.size() == 1 ? blocks.groups[0].size : 0;
  launch(LargeBlocks{blocks.slots, order, range.first, range.count, l1}, persistent_ctas(striding_policy, range.count));
}

BlockTasks<double> tiny_tasks_of(const MappedBlocks& blocks, bool l1) {
  return l1 ? BlockTasks<double>{} : tasks_of(blocks);
}

constexpr index_t stretches_of(index_t slots) { return (slots - 1) / stretch_slots + 1; }

}  // namespace

template <Offset O>
void measure_map(const CsrView<const void, O>& pattern, bool l1, const MappedBlocks& blocks, const PatternCounts* check,
                 detail::MapSlot* slots, MapCounts* counts, CUstream_st* stream) {
  const BlockTasks<double> tasks = tiny_tasks_of(blocks, l1);
  measure_map_kernel<O>
      <<<grid_of(32 * tasks.warps), map_threads, 0, stream>>>(pattern, tasks, blocks.blocks, check, slots, counts);
  check_launch("measure_map_kernel");
  for_large_blocks(blocks, l1, [&](const LargeBlocks& large, unsigned ctas) {
    measure_large_map_kernel<<<ctas, map_threads, 0, stream>>>(AnyPattern(pattern), large, check, slots, counts);
    check_launch("measure_large_map_kernel");
  });
}

std::size_t map_scratch_bytes(index_t blocks) {
  const index_t stretches = stretches_of(blocks + 1);
  return stretches <= few_stretches ? 0 : static_cast<std::size_t>(stretches) * sizeof(offset_t);
}

void sum_map_words(index_t blocks, bool narrow, detail::MapSlot* slots, offset_t* scratch, CUstream_st* stream) {
  const index_t count = blocks + 1;  // what follows the last slot holds no words, and where its words end
  const auto stretches = static_cast<unsigned>(stretches_of(count));
  if (stretches_of(count) <= few_stretches) {
    begin_few_slots_kernel<<<1, map_threads, 0, stream>>>(count, stretches_of(count), narrow, slots);
    return check_launch("begin_few_slots_kernel");
  }
  sum_stretches_kernel<<<stretches, map_threads, 0, stream>>>(slots, count, scratch);
  check_launch("sum_stretches_kernel");
  scan_stretches_kernel<<<1, map_threads, 0, stream>>>(stretches_of(count), scratch);
  check_launch("scan_stretches_kernel");
  begin_slots_kernel<<<stretches, map_threads, 0, stream>>>(count, narrow, scratch, slots);
  check_launch("begin_slots_kernel");
}

template <class Word, Offset O>
void fill_map(const CsrView<const void, O>& pattern, bool l1, const MappedBlocks& blocks, const detail::MapSlot* slots,
              Word* words, CUstream_st* stream) {
  if (const BlockTasks<double> tasks = tiny_tasks_of(blocks, l1); tasks.warps > 0) {
    fill_map_kernel<Word, O><<<grid_of(32 * tasks.warps), map_threads, 0, stream>>>(pattern, tasks, slots, words);
    check_launch("fill_map_kernel");
  }
  for_large_blocks(blocks, l1, [&](const LargeBlocks& large, unsigned ctas) {
    fill_large_map_kernel<<<ctas, map_threads, 0, stream>>>(AnyPattern(pattern), large, slots, words);
    check_launch("fill_large_map_kernel");
  });
}

#define BLOCKJACOBI_INSTANTIATE(O)                                                                          \
  template void measure_map(const CsrView<const void, O>&, bool, const MappedBlocks&, const PatternCounts*, \
                            detail::MapSlot*, MapCounts*, CUstream_st*);                                    \
  template void fill_map(const CsrView<const void, O>&, bool, const MappedBlocks&, const detail::MapSlot*,  \
                         std::uint32_t*, CUstream_st*);                                                     \
  template void fill_map(const CsrView<const void, O>&, bool, const MappedBlocks&, const detail::MapSlot*,  \
                         std::uint64_t*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
