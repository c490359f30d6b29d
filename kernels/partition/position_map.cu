#include "core/shared/block_extent.hpp"
#include "core/shared/fingerprint.hpp"
#include "kernels/apply/block_tasks.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"
#include "kernels/partition/sorted_row.cuh"

#include <algorithm>
#include <limits>

// Position maps of blocks that fit a warp, a lane a row; see precond/position_map.cpp.

namespace blockjacobi::kernels {

namespace {

constexpr int map_threads = striding_policy.threads;

unsigned grid_of(offset_t threads) {
  return persistent_ctas(striding_policy, (threads + map_threads - 1) / map_threads);
}

__device__ void add_from_warp(unsigned long long* total, unsigned long long own) {
  own = Lanes<32>::current().reduce(own, [](auto a, auto b) { return a + b; });
  if (threadIdx.x % 32 == 0 && own != 0) atomicAdd(total, own);
}

/// Parts of the arrays of a pattern that lie about side by side, so that columns are in the cache when rows ask for
/// theirs. Columns go by four that are aligned, from `lead` places before the first.
struct PatternChunks {
  offset_t count, rows, quads;
  int lead;
};

template <class O>
PatternChunks chunks_of(const CsrView<const void, O>& pattern) {
  constexpr offset_t quads_of_chunk = 8 * check_policy.threads;
  const auto lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(pattern.columns) / sizeof(index_t) % 4);
  const offset_t rows = offset_t{pattern.rows} + 1, quads = (pattern.nnz + lead + 3) / 4;
  const auto shares = [](offset_t all, offset_t share) { return (all + share - 1) / share; };
  const offset_t count =
      std::max<offset_t>(shares(quads, quads_of_chunk),
                         persistent_ctas(check_policy, shares(std::max(rows, quads), check_policy.threads)));
  return {count, shares(rows, count), shares(quads, count), lead};
}

constexpr index_t below_all = std::numeric_limits<index_t>::min();

/// What a thread sees of a pattern: sums of integers, so that their order does not matter.
template <class O>
struct Inspection {
  CsrView<const void, O> pattern;
  unsigned long long fingerprint = 0;
  int unsorted = 0;
  bool faulty = false;

  __device__ void look_at_row(offset_t i) {
    const auto base = static_cast<offset_t>(pattern.base);
    const offset_t k = pattern.row_offsets[i] - base;
    const offset_t next = i < pattern.rows ? pattern.row_offsets[i + 1] - base : k;
    fingerprint += detail::mixed_offset(i, k);
    faulty =
        faulty || k > next || k < 0 || k > pattern.nnz || (i == 0 && k != 0) || (i == pattern.rows && k != pattern.nnz);
    // A descent from row to row is none.
    if (k > 0 && k < next && k < pattern.nnz) unsorted -= pattern.columns[k] <= pattern.columns[k - 1] ? 1 : 0;
  }
  /// `before`: the column of the entry before.
  __device__ void look_at_column(offset_t k, index_t own, index_t before) {
    const std::uint32_t column = static_cast<std::uint32_t>(own) - static_cast<std::uint32_t>(pattern.base);
    fingerprint += detail::mixed_column(k, column);
    faulty = faulty || column >= static_cast<std::uint32_t>(pattern.cols);
    unsorted += own <= before ? 1 : 0;
  }
  __device__ void look_at_four(offset_t k) {
    const index_t* const columns = pattern.columns;
    index_t before = k > 0 ? columns[k - 1] : below_all;
    if (k >= 0 && k + 4 <= pattern.nnz) {
      const int4 own = *reinterpret_cast<const int4*>(columns + k);
      look_at_column(k, own.x, before);
      look_at_column(k + 1, own.y, own.x);
      look_at_column(k + 2, own.z, own.y);
      look_at_column(k + 3, own.w, own.z);
      return;
    }
    for (offset_t at = max(k, offset_t{0}); at < min(k + 4, pattern.nnz); ++at) {
      look_at_column(at, columns[at], before);
      before = columns[at];
    }
  }
};

template <class O>
__global__ void __launch_bounds__(check_policy.threads, check_policy.per_multiprocessor)
    check_pattern_kernel(const CsrView<const void, O> pattern, const PatternChunks chunks,
                         PatternCounts* const counts) {
  constexpr int threads = check_policy.threads;
  __shared__ PatternCounts of_cta;
  if (threadIdx.x == 0) of_cta = {};
  __syncthreads();
  const auto thread = static_cast<int>(threadIdx.x);
  Inspection<O> own{pattern};
  for (offset_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const offset_t end_of_rows = min((chunk + 1) * chunks.rows, pattern.rows + offset_t{1});
    const offset_t end_of_quads = min((chunk + 1) * chunks.quads, (pattern.nnz + chunks.lead + 3) / 4);
#pragma unroll 2
    for (offset_t quad = chunk * chunks.quads + thread; quad < end_of_quads; quad += threads)
      own.look_at_four(4 * quad - chunks.lead);
    for (offset_t i = chunk * chunks.rows + thread; i < end_of_rows; i += threads) own.look_at_row(i);
  }
  add_from_warp(&of_cta.fingerprint, own.fingerprint);
  add_from_warp(&of_cta.unsorted, static_cast<unsigned long long>(offset_t{own.unsorted}));
  if (own.faulty) atomicOr(&of_cta.faults, 1u);
  __syncthreads();
  if (thread > 0) return;
  atomicAdd(&counts->fingerprint, of_cta.fingerprint);
  if (of_cta.unsorted != 0) atomicAdd(&counts->unsorted, of_cta.unsorted);
  if (of_cta.faults != 0) counts->faults = 1;
}

/// The part of a sorted row inside of its block: entries first .. last - 1.
struct RowPart {
  offset_t first = 0;
  offset_t last = 0;
  __device__ offset_t count() const { return last - first; }
};
template <class O>
__device__ RowPart part_of(const CsrView<const void, O>& pattern, const OwnRow& own) {
  if (!own.exists) return {};
  const auto base = static_cast<offset_t>(pattern.base);
  const offset_t begin = own.row - own.rank + base, end = begin + own.order;
  const offset_t row_end = pattern.row_offsets[own.row + 1] - base;
  const offset_t first = first_not_below(pattern.columns, pattern.row_offsets[own.row] - base, row_end, begin);
  const offset_t most = min(first + own.order, row_end);
  if (first < most && pattern.columns[most - 1] < end) return {first, most};
  return {first, first_not_below(pattern.columns, first, most, end)};
}

template <class O>
__global__ void __launch_bounds__(map_threads)
    measure_map_kernel(const CsrView<const void, O> pattern, const BlockTasks<double> tasks, const index_t blocks,
                       const PatternCounts* const check, detail::MapSlot* const slots, MapCounts* const counts) {
  if (check != nullptr && (check->faults != 0 || check->unsorted != 0)) return;
  constexpr offset_t none = offset_t{1} << 62;
  const offset_t step = offset_t{gridDim.x} * (map_threads / 32);
  unsigned long long entries = 0, words = 0, wide = 0;
  for (offset_t task = (offset_t{blockIdx.x} * map_threads + threadIdx.x) / 32; task < tasks.warps; task += step) {
    const OwnRow own = own_row(tasks, task);
    const RowPart part = part_of(pattern, own);
    const offset_t first_of_0 = __shfl_sync(~0u, part.first, 0, own.width);
    const offset_t first_of_1 = __shfl_sync(~0u, part.first, 1 % own.width, own.width);
    const offset_t stride = own.order > 1 ? first_of_1 - first_of_0 : 1;
    int regular = !own.exists || (part.count() == own.order && part.first == first_of_0 + own.rank * stride) ? 1 : 0;
    offset_t count = part.count(), first = count > 0 ? part.first : none, last = count > 0 ? part.last - 1 : 0;
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
  const auto base = static_cast<offset_t>(pattern.base);
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
    for (int e = 0; e < count; ++e) {
      const offset_t source = part.first + e;
      const auto column = static_cast<index_t>(pattern.columns[source] - base - (own.row - own.rank));
      word[e] = detail::map_word<Word>({source, own.rank, column}, slot);
    }
  }
}

constexpr index_t stretches_of(index_t slots) { return (slots - 1) / stretch_slots + 1; }

}  // namespace

template <Offset O>
void check_pattern(const CsrView<const void, O>& pattern, PatternCounts* counts, CUstream_st* stream) {
  const PatternChunks chunks = chunks_of(pattern);
  check_pattern_kernel<O>
      <<<persistent_ctas(check_policy, chunks.count), check_policy.threads, 0, stream>>>(pattern, chunks, counts);
  check_launch("check_pattern_kernel");
}

template <Offset O>
void measure_map(const CsrView<const void, O>& pattern, const MappedBlocks& blocks, const PatternCounts* check,
                 detail::MapSlot* slots, MapCounts* counts, CUstream_st* stream) {
  const BlockTasks<double> tasks = tasks_of(blocks);
  measure_map_kernel<O>
      <<<grid_of(32 * tasks.warps), map_threads, 0, stream>>>(pattern, tasks, blocks.blocks, check, slots, counts);
  check_launch("measure_map_kernel");
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
void fill_map(const CsrView<const void, O>& pattern, const MappedBlocks& blocks, const detail::MapSlot* slots,
              Word* words, CUstream_st* stream) {
  const BlockTasks<double> tasks = tasks_of(blocks);
  fill_map_kernel<Word, O><<<grid_of(32 * tasks.warps), map_threads, 0, stream>>>(pattern, tasks, slots, words);
  check_launch("fill_map_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(O)                                                                                   \
  template void check_pattern(const CsrView<const void, O>&, PatternCounts*, CUstream_st*);                          \
  template void measure_map(const CsrView<const void, O>&, const MappedBlocks&, const PatternCounts*,                \
                            detail::MapSlot*, MapCounts*, CUstream_st*);                                             \
  template void fill_map(const CsrView<const void, O>&, const MappedBlocks&, const detail::MapSlot*, std::uint32_t*, \
                         CUstream_st*);                                                                              \
  template void fill_map(const CsrView<const void, O>&, const MappedBlocks&, const detail::MapSlot*, std::uint64_t*, \
                         CUstream_st*)
BLOCKJACOBI_INSTANTIATE(std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
