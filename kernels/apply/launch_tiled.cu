#include "kernels/apply/lanes_kernels.cuh"
#include "kernels/collectives/copy_barrier.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/grid.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

namespace {

using detail::ApplyTile;
using detail::StoredSlot;

constexpr int most_blocks = 32;  // a lane fetches a block
constexpr int warps = tiled_apply_threads / 32;
constexpr int words_of_rows = tiled_apply_rows / 32;
static_assert(words_of_rows * 32 == tiled_apply_rows);

/// The blocks of a batch, dealt out to tiles, and how far memory can be read.
struct TiledBlocks {
  const std::byte* data;
  const std::byte* end;
  detail::ApplyTilesView tiles;
  index_t rows;
};

/// Where a block of a tile begins.
struct alignas(8) TileEntry {
  int byte;
  unsigned order : 8;
  int row : 24;
};

/// A tile in shared memory.
template <class C>
struct alignas(16) TileArea {
  std::byte blocks[tiled_apply_bytes(sizeof(C))];
  std::byte r[detail::tile_bytes(tiled_apply_rows * sizeof(C))];
  ApplyTile tile;
  unsigned begins[words_of_rows];  ///< a bit for every row, set where a block begins
  TileEntry entries[most_blocks];
};

/// In lane w the rows 32 w .. 32 w + 31, one bit each, among those that the lanes name.
__device__ unsigned rows_as_bits(int row, int lane) {
  unsigned own = 0;
#pragma unroll
  for (int w = 0; w < words_of_rows; ++w) {
    const unsigned bits = __reduce_or_sync(~0u, row / 32 == w ? 1u << row % 32 : 0u);
    if (lane == w) own = bits;
  }
  return own;
}

/// Sends for a tile, of which every lane has a block, if there are as many.
template <class C>
__device__ void fetch(const TiledBlocks& x, const C* r, const ApplyTile& tile, const StoredSlot& block, int lane,
                      TileArea<C>& area, CopyBarrier& arrived) {
  const bool exists = lane < tile.blocks;
  const int bytes = exists ? block.size * block.size * static_cast<int>(sizeof(C)) : 0;
  const int room = exists ? detail::tile_bytes(bytes) : 0;
  int end = room;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(~0u, end, distance);
    if (lane >= distance) end += before;
  }
  std::byte* const place = area.blocks + (end - room);
  const CopyUnits from(x.data + block.start, bytes, x.end);
  const CopyUnits vector(r + tile.first_row, tile.rows * sizeof(C), r + x.rows);
  const unsigned all = __reduce_add_sync(~0u, exists ? from.whole() : 0u) + vector.whole();
  const int row = exists ? block.first_row - tile.first_row : tiled_apply_rows;
  const unsigned begins = rows_as_bits(row, lane);
  if (lane < words_of_rows) area.begins[lane] = begins;
  area.entries[lane] = {end - room + static_cast<int>(from.shift()), static_cast<unsigned>(block.size), row};
  if (exists) from.store_rest<C>(place);
  if (lane == 0) {
    area.tile = tile;
    vector.store_rest<C>(area.r);
    arrived.expect(all);
    arrived.arrive();
    arrived.copy(vector.source(), vector.whole(), area.r);
  }
  __syncwarp();
  if (exists) arrived.copy(from.source(), from.whole(), place);
}

/// A lane a row of the tile, from the first column to the last.
template <class C>
__device__ void multiply(const TileArea<C>& area, int lane, const ApplyColumns<C>& arguments) {
  const ApplyTile tile = area.tile;
  const auto shift = reinterpret_cast<std::uintptr_t>(arguments.r.data + tile.first_row) % 16;
  const C* const r = reinterpret_cast<const C*>(area.r + shift);
  C* const z = arguments.z.data + tile.first_row * arguments.z.row_stride;
  const unsigned rows_so_far = ~0u >> (31 - lane);
  int last = -1;  // block of the rows before
  for (int first = 0; first < tile.rows; first += 32) {
    const unsigned begins = area.begins[first / 32];
    const int row = first + lane;
    if (row < tile.rows) {
      const TileEntry block = area.entries[last + __popc(begins & rows_so_far)];
      const int order = static_cast<int>(block.order);
      const C* x = reinterpret_cast<const C*>(area.blocks + block.byte) + (row - block.row);
      const C* v = r + block.row;
      C sum{};
#pragma unroll 4
      for (int j = 0; j < order; ++j, x += order, ++v) sum += *x * *v;
      store_product(arguments, sum, z[row * arguments.z.row_stride]);
    }
    last += __popc(begins);
  }
}

/// z = alpha X r + beta z, the rows of r one after the other. Every warp has a ring of tiles of its own, the copies of
/// which are under way while it computes; nothing waits for other warps.
template <class C>
__global__ void __launch_bounds__(tiled_apply_threads)
    apply_tiled_kernel(const TiledBlocks x, const ApplyColumns<C> arguments) {
  constexpr int stages = tiled_apply_stages;
  extern __shared__ __align__(16) std::byte shared[];
  __shared__ CopyBarrier barriers[warps][stages];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  TileArea<C>* const areas = reinterpret_cast<TileArea<C>*>(shared) + warp * stages;
  CopyBarrier* const arrived = barriers[warp];
  const int step = static_cast<int>(gridDim.x) * warps, first = static_cast<int>(blockIdx.x) * warps + warp;
  const int count = x.tiles.count;
  const auto tile_of = [&](int t) { return x.tiles.tiles[min(t, count - 1)]; };
  const auto block_of = [&](const ApplyTile& tile) {
    return x.tiles.blocks[tile.first_block + min(lane, tile.blocks - 1)];
  };
  const C* const r = arguments.r.data;

  if (lane == 0)
    for (int stage = 0; stage < stages; ++stage) arrived[stage].initialize();
  __syncwarp();
  for (int stage = 0; stage < stages; ++stage) {
    if (first + stage * step >= count) break;
    const ApplyTile tile = tile_of(first + stage * step);
    fetch(x, r, tile, block_of(tile), lane, areas[stage], arrived[stage]);
  }
  int stage = 0;
  unsigned parity = 0;
  ApplyTile next = tile_of(first + stages * step);
  for (int t = first; t < count; t += step) {
    // Asked for a turn ahead, both are there when the product is done.
    const StoredSlot block = block_of(next);
    const ApplyTile after = tile_of(t + (stages + 1) * step);
    arrived[stage].wait(parity);
    multiply(areas[stage], lane, arguments);
    order_before_copies();
    __syncwarp();
    if (t + stages * step < count) fetch(x, r, next, block, lane, areas[stage], arrived[stage]);
    next = after;
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
}

}  // namespace

template <class C>
std::optional<detail::TileLimits> tile_limits(std::span<const BlockGroup> groups) {
  MixedBlocks blocks;
  for (const BlockGroup& group : groups) {
    const offset_t bytes = offset_t{group.count} * group.size * group.size * static_cast<offset_t>(sizeof(C));
    blocks.largest = group.size;
    blocks.count += group.count;
    blocks.bytes += bytes;
    if (group.first_row >= 0) blocks.bytes_in_sequence += bytes;
  }
  // Whichever device is in use: tiles are made and counted without one.
  if (mixed_apply_policy(compiled_device, scalar_of<C>, blocks).design != ApplyDesign::tiled) return std::nullopt;
  return detail::TileLimits{tiled_apply_bytes(sizeof(C)), most_blocks, tiled_apply_rows};
}

template <class C>
void apply_tiled(const BlockBatchView<const C>& inverse, const detail::ApplyTilesView& tiles,
                 const ApplyColumns<C>& arguments, CUstream_st* stream) {
  if constexpr (constexpr int bytes = tiled_apply_bytes(sizeof(C)); bytes > 0) {
    static_assert(detail::tile_bytes(tiled_apply_largest * tiled_apply_largest * sizeof(C)) <= bytes);
    if (tiles.count == 0) return;
    const BlockGroup& last = inverse.groups.back();
    const C* const end = inverse.data + last.start + offset_t{last.count} * last.size * last.size;
    const TiledBlocks x{reinterpret_cast<const std::byte*>(inverse.data), reinterpret_cast<const std::byte*>(end),
                        tiles, inverse.rows};
    constexpr unsigned shared = warps * tiled_apply_stages * sizeof(TileArea<C>);
    const auto kernel = apply_tiled_kernel<C>;
    allow_shared_memory(kernel, shared);
    // From shared memory, since asking for the occupancy would cost every application; any number is right.
    const int own = static_cast<int>(shared + sizeof(CopyBarrier) * warps * tiled_apply_stages) +
                    device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    const int per_multiprocessor = std::max(1, device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / own);
    const int most = per_multiprocessor * device_attribute(cudaDevAttrMultiProcessorCount);
    kernel<<<std::min((tiles.count - 1) / warps + 1, most), tiled_apply_threads, shared, stream>>>(x, arguments);
    check_launch("apply_tiled_kernel");
  }
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                 \
  template std::optional<detail::TileLimits> tile_limits<C>(std::span<const BlockGroup>);                          \
  template void apply_tiled(const BlockBatchView<const C>&, const detail::ApplyTilesView&, const ApplyColumns<C>&, \
                            CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
