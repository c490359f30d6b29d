#include "kernels/launch/check.hpp"
#include "kernels/partition/launch.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>
#include <bit>

namespace blockjacobi::kernels {

namespace {

/// Rows that a thread block looks at: a stretch, a word a thread.
constexpr int stretch_words = 128;
constexpr int stretch_rows = 32 * stretch_words;
static_assert(stretch_rows >= max_block_size);
/// Words behind a stretch that a block which begins in it may reach.
constexpr int reach_words = max_block_size / 32 + 1;

constexpr index_t stretches_of(index_t rows) {
  return static_cast<index_t>((offset_t{rows} + stretch_rows - 1) / stretch_rows);
}

__device__ std::uint32_t word_or_zero(const std::uint32_t* words, offset_t word, index_t rows) {
  return word < (offset_t{rows} + 31) / 32 ? words[word] : 0u;
}

/// In all threads of the thread block, of their values and, exclusively, of those of the threads before them.
struct LargestOfStretch {
  index_t all;
  index_t before;  ///< -1 in thread 0
};
__device__ LargestOfStretch largest_of_stretch(index_t own) {
  __shared__ index_t values[stretch_words];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  values[thread] = own;
  for (int distance = 1; distance < stretch_words; distance *= 2) {
    __syncthreads();
    const index_t other = thread >= distance ? values[thread - distance] : -1;
    __syncthreads();
    values[thread] = max(values[thread], other);
  }
  __syncthreads();
  return {values[stretch_words - 1], thread > 0 ? values[thread - 1] : -1};
}

__device__ index_t last_row(std::uint32_t word, offset_t index) {
  return word == 0 ? -1 : static_cast<index_t>(index * 32 + 31 - __clz(static_cast<int>(word)));
}

/// Words that a thread asks at a time for the run that reaches into its stretch.
constexpr int asked = 8;

__global__ void __launch_bounds__(stretch_words)
    cut_runs_kernel(const index_t rows, const index_t max_size, const std::uint32_t* const starts,
                    std::uint32_t* const cut) {
  const offset_t first = offset_t{blockIdx.x} * stretch_words, word = first + threadIdx.x;
  const std::uint32_t own = word_or_zero(starts, word, rows);
  index_t run = largest_of_stretch(last_row(own, word)).before;
  // Row 0 begins a run.
  index_t reaching = (starts[first] & 1u) != 0 ? static_cast<index_t>(first * 32) : -1;
  for (offset_t end = first; end > 0 && reaching < 0; end -= offset_t{asked} * stretch_words) {
    index_t found = -1;
#pragma unroll
    for (int k = 0; k < asked; ++k) {
      const offset_t before = end - 1 - k * stretch_words - static_cast<int>(threadIdx.x);
      if (before >= 0) found = max(found, last_row(starts[before], before));
    }
    reaching = largest_of_stretch(found).all;
  }
  if (word * 32 >= rows) return;
  if (run < 0) run = reaching;
  auto length = static_cast<index_t>((word * 32 - run) % max_size);
  std::uint32_t bits = own;
  for (int bit = 0; bit < 32 && word * 32 + bit < rows; ++bit) {
    if ((own >> bit & 1u) != 0) length = 0;
    if (length == 0) bits |= 1u << bit;
    if (++length == max_size) length = 0;
  }
  cut[word] = bits;
}

/// The starts of blocks in a stretch and behind it, with `rows` among them.
struct StretchStarts {
  std::uint32_t words[stretch_words + reach_words];

  __device__ void load(index_t rows, const std::uint32_t* starts) {
    for (int k = static_cast<int>(threadIdx.x); k < stretch_words + reach_words; k += static_cast<int>(blockDim.x)) {
      const offset_t word = offset_t{blockIdx.x} * stretch_words + k;
      words[k] = word_or_zero(starts, word, rows) | (word == rows / 32 ? 1u << rows % 32 : 0u);
    }
    __syncthreads();
  }
  __device__ bool has(int row) const { return (words[row / 32] >> row % 32 & 1u) != 0; }
  /// Where a merged block that begins at `row` ends: the last start that is at most max_size behind.
  __device__ int end_of_block(int row, int max_size) const {
    const int most = row + max_size;
    int word = most / 32;
    std::uint32_t bits = words[word] & ~0u >> (31 - most % 32);
    while (bits == 0) bits = words[--word];
    return word * 32 + 31 - __clz(static_cast<int>(bits));
  }
};

/// The merged blocks are as long as they can be.
struct FittingBlocks {
  index_t max_size;
  __device__ int end(const StretchStarts& stretch, int row) const { return stretch.end_of_block(row, max_size); }
};
/// The merged block that begins at row i has lengths[i] rows, max_size at most.
struct GivenBlocks {
  index_t max_size;
  const std::uint16_t* lengths;
  __device__ int end(const StretchStarts&, int row) const {
    return row + lengths[offset_t{blockIdx.x} * stretch_rows + row];
  }
};

// Where the merged blocks of some rows begin depends on the first of them alone, which lies in the first max_size rows:
// these rows are a map from the first merged start in them to the first one behind them. Maps of parts of a stretch, of
// stretches, and of groups of stretches are composed, each with those before it in the stretch or group.

using Place = std::uint16_t;

constexpr int exits_threads = 256;
/// Parts of a stretch times max_size, at most.
constexpr int most_exits = std::max<int>(exits_threads, max_block_size);

/// Rows of a part of a stretch: whole words, and enough for the entries of all parts to have about a thread each.
constexpr int part_rows(index_t max_size) {
  return std::clamp(static_cast<int>(std::bit_ceil(16u * static_cast<unsigned>(max_size))), 64, stretch_rows);
}
constexpr int parts_of(index_t max_size) { return stretch_rows / part_rows(max_size); }
static_assert(part_rows(max_block_size) >= max_block_size);

/// composed[part][e]: rows from the end of the part to the first merged start behind it, if e is the first in its
/// stretch.
template <class Blocks>
__global__ void __launch_bounds__(exits_threads)
    stretch_exits_kernel(const index_t rows, const Blocks blocks, const int rows_of_part,
                         const std::uint32_t* const starts, Place* const composed) {
  __shared__ StretchStarts stretch;
  __shared__ Place exits[most_exits];
  stretch.load(rows, starts);
  const int entries = blocks.max_size, parts = stretch_rows / rows_of_part, thread = static_cast<int>(threadIdx.x);
  const auto own_rows = static_cast<int>(min(offset_t{stretch_rows}, rows - offset_t{blockIdx.x} * stretch_rows));
  for (int k = thread; k < parts * entries; k += exits_threads) {
    const int first = k / entries * rows_of_part, end = first + rows_of_part;
    int row = first + k % entries;
    if (row < own_rows && stretch.has(row))
      while (row < min(end, own_rows)) row = blocks.end(stretch, row);
    exits[k] = static_cast<Place>(row >= end ? row - end : 0);
  }
  __syncthreads();
  for (int entry = thread; entry < entries; entry += exits_threads) {
    int at = entry;
    for (int part = 0; part < parts; ++part) {
      at = exits[part * entries + at];
      composed[(offset_t{blockIdx.x} * parts + part) * entries + entry] = static_cast<Place>(at);
    }
  }
}

/// Maps of a group, which lie in shared memory meanwhile.
constexpr int staged_places = 8192;
constexpr int compose_threads = 128;
constexpr index_t group_of(index_t max_size) { return std::min(staged_places / max_size, 128); }
static_assert(group_of(max_block_size) > 1);

/// Maps that one thread goes through.
constexpr index_t walked = 16;

/// Maps of equal numbers of stretches, one behind the other.
struct Maps {
  const Place* first;
  offset_t stride;
  index_t count;
  __device__ const Place* operator[](offset_t map) const { return first + map * stride; }
};

/// composed[map] = the maps of its group up to this one.
__global__ void __launch_bounds__(compose_threads)
    compose_kernel(const Maps maps, const int max_size, const index_t group, Place* const composed) {
  __shared__ Place staged[staged_places];
  const offset_t first = offset_t{blockIdx.x} * group;
  const auto own = static_cast<int>(min(offset_t{group}, maps.count - first));
  for (int k = static_cast<int>(threadIdx.x); k < own * max_size; k += compose_threads)
    staged[k] = maps[first + k / max_size][k % max_size];
  __syncthreads();
  for (int entry = static_cast<int>(threadIdx.x); entry < max_size; entry += compose_threads) {
    int at = entry;
    for (int m = 0; m < own; ++m) {
      at = staged[m * max_size + at];
      composed[(first + m) * max_size + entry] = static_cast<Place>(at);
    }
  }
}

/// The maps of all stretches but the last: those of groups of groups that are few enough to be walked, and, from single
/// stretches on, what compose_kernel made for the levels below.
struct StretchMaps {
  static constexpr int most_levels = 5;
  Maps top;
  index_t group;
  int max_size;
  int levels = 0;
  const Place* composed[most_levels] = {};

  /// The first merged start of a stretch, counted from its first row.
  __device__ int entry(index_t stretch) const {
    index_t before[most_levels + 1] = {stretch};
#pragma unroll
    for (int l = 0; l < most_levels; ++l) before[l + 1] = l < levels ? before[l] / group : before[l];
    int at = 0;
    for (index_t map = 0; map < before[most_levels]; ++map) at = top[map][at];
#pragma unroll
    for (int l = most_levels - 1; l >= 0; --l)
      if (l < levels && before[l] % group > 0) at = composed[l][(offset_t{before[l]} - 1) * max_size + at];
    return at;
  }
};

/// A thread walks through each part of a stretch.
template <class Blocks>
__global__ void __launch_bounds__(stretch_words)
    mark_merged_kernel(const index_t rows, const Blocks blocks, const int rows_of_part,
                       const std::uint32_t* const starts, const Place* const composed, const StretchMaps maps,
                       std::uint32_t* const merged) {
  __shared__ StretchStarts stretch;
  __shared__ std::uint32_t marks[stretch_words];
  marks[threadIdx.x] = 0;
  stretch.load(rows, starts);
  const int parts = stretch_rows / rows_of_part, part = static_cast<int>(threadIdx.x);
  if (part < parts) {
    int at = maps.entry(static_cast<index_t>(blockIdx.x));
    if (part > 0) at = composed[(offset_t{blockIdx.x} * parts + part - 1) * blocks.max_size + at];
    const auto own_rows = static_cast<int>(min(offset_t{stretch_rows}, rows - offset_t{blockIdx.x} * stretch_rows));
    const int first = part * rows_of_part, end = min(first + rows_of_part, own_rows);
    for (int row = first + at; row < end; row = blocks.end(stretch, row)) marks[row / 32] |= 1u << row % 32;
  }
  __syncthreads();
  const offset_t word = offset_t{blockIdx.x} * stretch_words + threadIdx.x;
  if (word * 32 < rows) merged[word] = marks[threadIdx.x];
}
static_assert(parts_of(1) <= stretch_words);

template <class Blocks>
void merge(index_t rows, const Blocks& blocks, const std::uint32_t* starts, std::uint32_t* merged, void* scratch,
           CUstream_st* stream) {
  const int max_size = blocks.max_size, rows_of_part = part_rows(max_size), parts = parts_of(max_size);
  const index_t stretches = stretches_of(rows);
  auto* const of_parts = static_cast<Place*>(scratch);
  auto* next = of_parts + offset_t{stretches} * parts * max_size;
  stretch_exits_kernel<<<static_cast<unsigned>(stretches), exits_threads, 0, stream>>>(rows, blocks, rows_of_part,
                                                                                       starts, of_parts);
  check_launch("stretch_exits_kernel");
  const index_t group = group_of(max_size);
  // The last part of a stretch has been composed with all of them.
  StretchMaps maps{{of_parts + (parts - 1) * max_size, offset_t{parts} * max_size, stretches - 1}, group, max_size};
  while (maps.top.count > walked) {
    const auto groups = static_cast<unsigned>((maps.top.count - 1) / group + 1);
    compose_kernel<<<groups, compose_threads, 0, stream>>>(maps.top, max_size, group, next);
    check_launch("compose_kernel");
    maps.composed[maps.levels++] = next;
    const Place* const last_of_group = next + offset_t{group - 1} * max_size;
    next += offset_t{maps.top.count} * max_size;
    maps.top = {last_of_group, offset_t{group} * max_size, maps.top.count / group};
  }
  mark_merged_kernel<<<static_cast<unsigned>(stretches), stretch_words, 0, stream>>>(rows, blocks, rows_of_part, starts,
                                                                                     of_parts, maps, merged);
  check_launch("mark_merged_kernel");
}

}  // namespace

void cut_runs(index_t rows, index_t max_size, const std::uint32_t* starts, std::uint32_t* cut, CUstream_st* stream) {
  cut_runs_kernel<<<static_cast<unsigned>(stretches_of(rows)), stretch_words, 0, stream>>>(rows, max_size, starts, cut);
  check_launch("cut_runs_kernel");
}

std::size_t merge_scratch_bytes(index_t rows, index_t max_size) {
  const index_t stretches = stretches_of(rows);
  auto maps = static_cast<std::size_t>(stretches) * static_cast<std::size_t>(parts_of(max_size));
  for (index_t count = stretches - 1; count > walked; count /= group_of(max_size))
    maps += static_cast<std::size_t>(count);
  return maps * static_cast<std::size_t>(max_size) * sizeof(Place);
}

void merge_greedily(index_t rows, index_t max_size, const std::uint32_t* starts, std::uint32_t* merged, void* scratch,
                    CUstream_st* stream) {
  merge(rows, FittingBlocks{max_size}, starts, merged, scratch, stream);
}

void merge_coupled(index_t rows, index_t max_size, const std::uint32_t* starts, const std::uint16_t* lengths,
                   std::uint32_t* merged, void* scratch, CUstream_st* stream) {
  merge(rows, GivenBlocks{max_size, lengths}, starts, merged, scratch, stream);
}

}  // namespace blockjacobi::kernels
