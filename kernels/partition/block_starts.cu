#include "kernels/launch/check.hpp"
#include "kernels/partition/launch.hpp"

#include <blockjacobi/types.hpp>

#include <vector>

namespace blockjacobi::kernels {

namespace {

/// Rows that a thread block looks at: a tile, a word a thread.
constexpr int tile_words = 128;
constexpr int tile_rows = 32 * tile_words;
static_assert(tile_rows >= max_block_size);
/// Words behind a tile that a block which begins in it may reach.
constexpr int reach_words = max_block_size / 32 + 1;

constexpr index_t tiles_of(index_t rows) { return static_cast<index_t>((offset_t{rows} + tile_rows - 1) / tile_rows); }

__device__ std::uint32_t word_or_zero(const std::uint32_t* words, offset_t word, index_t rows) {
  return word < (offset_t{rows} + 31) / 32 ? words[word] : 0u;
}

/// In all threads of the thread block, of their values and, exclusively, of those of the threads before them.
struct LargestOfTile {
  index_t all;
  index_t before;  ///< -1 in thread 0
};
__device__ LargestOfTile largest_of_tile(index_t own) {
  __shared__ index_t values[tile_words];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  values[thread] = own;
  for (int distance = 1; distance < tile_words; distance *= 2) {
    __syncthreads();
    const index_t other = thread >= distance ? values[thread - distance] : -1;
    __syncthreads();
    values[thread] = max(values[thread], other);
  }
  __syncthreads();
  return {values[tile_words - 1], thread > 0 ? values[thread - 1] : -1};
}

__device__ index_t last_row(std::uint32_t word, offset_t index) {
  return word == 0 ? -1 : static_cast<index_t>(index * 32 + 31 - __clz(static_cast<int>(word)));
}

/// last[tile] = the last row of the set in the tile, -1 if there is none.
__global__ void __launch_bounds__(tile_words)
    last_starts_kernel(const index_t rows, const std::uint32_t* const starts, index_t* const last) {
  const offset_t word = offset_t{blockIdx.x} * tile_words + threadIdx.x;
  const index_t found = largest_of_tile(last_row(word_or_zero(starts, word, rows), word)).all;
  if (threadIdx.x == 0) last[blockIdx.x] = found;
}

__global__ void __launch_bounds__(tile_words) cut_runs_kernel(const index_t rows, const index_t max_size,
                                                              const index_t* const last, std::uint32_t* const starts) {
  const offset_t word = offset_t{blockIdx.x} * tile_words + threadIdx.x;
  const std::uint32_t own = word_or_zero(starts, word, rows);
  index_t run = largest_of_tile(last_row(own, word)).before;
  // The run that reaches into the tile; row 0 begins one.
  index_t reaching = -1;
  for (offset_t tile = offset_t{blockIdx.x} - 1; tile >= 0 && reaching < 0; tile -= tile_words) {
    const offset_t mine = tile - threadIdx.x;
    reaching = largest_of_tile(mine >= 0 ? last[mine] : -1).all;
  }
  if (word * 32 >= rows) return;
  if (run < 0) run = reaching;
  auto length = static_cast<index_t>(run < 0 ? 0 : (word * 32 - run) % max_size);
  std::uint32_t cut = own;
  for (int bit = 0; bit < 32 && word * 32 + bit < rows; ++bit) {
    if ((own >> bit & 1u) != 0) length = 0;
    if (length == 0) cut |= 1u << bit;
    if (++length == max_size) length = 0;
  }
  starts[word] = cut;
}

/// The starts of blocks in a tile and behind it, with `rows` among them.
struct TileStarts {
  std::uint32_t words[tile_words + reach_words];

  __device__ void load(index_t rows, const std::uint32_t* starts) {
    for (int k = static_cast<int>(threadIdx.x); k < tile_words + reach_words; k += static_cast<int>(blockDim.x)) {
      const offset_t word = offset_t{blockIdx.x} * tile_words + k;
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
  __device__ int end(const TileStarts& tile, int row) const { return tile.end_of_block(row, max_size); }
};
/// The merged block that begins at row i has lengths[i] rows, max_size at most.
struct GivenBlocks {
  index_t max_size;
  const std::uint16_t* lengths;
  __device__ int end(const TileStarts&, int row) const { return row + lengths[offset_t{blockIdx.x} * tile_rows + row]; }
};

// Where the merged blocks of a tile begin depends on the first of them alone, which lies in the first max_size rows: a
// tile is a map from the first merged start in it to the first one behind it. These maps are composed as in a scan.

/// exits[tile][e]: rows from the end of the tile to the first merged start behind it, if e is the first in it.
template <class Blocks>
__global__ void __launch_bounds__(max_block_size)
    tile_exits_kernel(const index_t rows, const Blocks blocks, const std::uint32_t* const starts,
                      std::uint16_t* const exits) {
  __shared__ TileStarts tile;
  tile.load(rows, starts);
  const int entry = static_cast<int>(threadIdx.x);
  if (entry >= blocks.max_size) return;
  const offset_t own_rows = min(offset_t{tile_rows}, rows - offset_t{blockIdx.x} * tile_rows);
  int row = entry;
  if (entry < own_rows && tile.has(entry))
    while (row < own_rows) row = blocks.end(tile, row);
  exits[offset_t{blockIdx.x} * blocks.max_size + entry] =
      static_cast<std::uint16_t>(row >= tile_rows ? row - tile_rows : 0);
}

/// Maps that are composed at a time.
constexpr int composed = 32;

__global__ void compose_kernel(const index_t maps, const index_t max_size, const std::uint16_t* const exits,
                               std::uint16_t* const composite) {
  const offset_t first = offset_t{blockIdx.x} * composed;
  for (int entry = static_cast<int>(threadIdx.x); entry < max_size; entry += static_cast<int>(blockDim.x)) {
    int at = entry;
    for (offset_t m = first; m < min(first + composed, offset_t{maps}); ++m) at = exits[m * max_size + at];
    composite[offset_t{blockIdx.x} * max_size + entry] = static_cast<std::uint16_t>(at);
  }
}

/// entries[m]: what goes into map m, from what goes into the composites.
__global__ void distribute_kernel(const index_t maps, const index_t max_size, const std::uint16_t* const exits,
                                  const std::uint16_t* const composite_entries, std::uint16_t* const entries) {
  const offset_t composite = offset_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const offset_t first = composite * composed;
  if (first >= maps) return;
  std::uint16_t at = composite_entries[composite];
  for (offset_t m = first; m < min(first + composed, offset_t{maps}); ++m) {
    entries[m] = at;
    at = exits[m * max_size + at];
  }
}

/// A thread walks through its tile.
template <class Blocks>
__global__ void __launch_bounds__(tile_words)
    mark_merged_kernel(const index_t rows, const Blocks blocks, const std::uint32_t* const starts,
                       const std::uint16_t* const entries, std::uint32_t* const merged) {
  __shared__ TileStarts tile;
  __shared__ std::uint32_t marks[tile_words];
  marks[threadIdx.x] = 0;
  tile.load(rows, starts);
  const offset_t own_rows = min(offset_t{tile_rows}, rows - offset_t{blockIdx.x} * tile_rows);
  if (threadIdx.x == 0)
    for (int row = entries[blockIdx.x]; row < own_rows; row = blocks.end(tile, row)) marks[row / 32] |= 1u << row % 32;
  __syncthreads();
  const offset_t word = offset_t{blockIdx.x} * tile_words + threadIdx.x;
  if (word * 32 < rows) merged[word] = marks[threadIdx.x];
}

/// Numbers of maps: of the tiles, of their composites, and so on to one.
std::vector<index_t> levels_of(index_t rows) {
  std::vector<index_t> levels{tiles_of(rows)};
  while (levels.back() > 1) levels.push_back((levels.back() + composed - 1) / composed);
  return levels;
}

template <class Blocks>
void merge(index_t rows, const Blocks& blocks, const std::uint32_t* starts, std::uint32_t* merged, void* scratch,
           CUstream_st* stream) {
  const index_t max_size = blocks.max_size;
  const std::vector<index_t> levels = levels_of(rows);
  std::vector<std::uint16_t*> exits, entries;
  auto* next = static_cast<std::uint16_t*>(scratch);
  for (const index_t count : levels) {
    exits.push_back(next);
    entries.push_back(next + offset_t{count} * max_size);
    next = entries.back() + count;
  }
  const auto tiles = static_cast<unsigned>(levels[0]);
  const auto threads = static_cast<unsigned>((max_size + 31) / 32 * 32);
  tile_exits_kernel<<<tiles, threads, 0, stream>>>(rows, blocks, starts, exits[0]);
  check_launch("tile_exits_kernel");
  const std::size_t top = levels.size() - 1;
  for (std::size_t l = 0; l < top; ++l) {
    compose_kernel<<<static_cast<unsigned>(levels[l + 1]), threads, 0, stream>>>(levels[l], max_size, exits[l],
                                                                                 exits[l + 1]);
    check_launch("compose_kernel");
  }
  check(cudaMemsetAsync(entries[top], 0, sizeof(std::uint16_t), stream), "cudaMemsetAsync(entries)");
  for (std::size_t l = top; l-- > 0;) {
    const auto groups = static_cast<unsigned>((levels[l + 1] + 127) / 128);
    distribute_kernel<<<groups, 128, 0, stream>>>(levels[l], max_size, exits[l], entries[l + 1], entries[l]);
    check_launch("distribute_kernel");
  }
  mark_merged_kernel<<<tiles, tile_words, 0, stream>>>(rows, blocks, starts, entries[0], merged);
  check_launch("mark_merged_kernel");
}

}  // namespace

std::size_t run_scratch_words(index_t rows) { return static_cast<std::size_t>(tiles_of(rows)); }

void cut_runs(index_t rows, index_t max_size, std::uint32_t* starts, index_t* scratch, CUstream_st* stream) {
  const auto tiles = static_cast<unsigned>(tiles_of(rows));
  last_starts_kernel<<<tiles, tile_words, 0, stream>>>(rows, starts, scratch);
  check_launch("last_starts_kernel");
  cut_runs_kernel<<<tiles, tile_words, 0, stream>>>(rows, max_size, scratch, starts);
  check_launch("cut_runs_kernel");
}

std::size_t merge_scratch_bytes(index_t rows, index_t max_size) {
  std::size_t maps = 0;
  for (const index_t count : levels_of(rows)) maps += static_cast<std::size_t>(count);
  // A map and what goes into it.
  return maps * (static_cast<std::size_t>(max_size) + 1) * sizeof(std::uint16_t);
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
