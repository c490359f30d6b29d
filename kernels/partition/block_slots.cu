#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <bit>

// From the rows at which blocks begin to their numbers, offsets and places in the storage.

namespace blockjacobi::kernels {

namespace {

constexpr int slot_threads = striding_policy.threads;

unsigned grid_of(offset_t threads) { return static_cast<unsigned>((threads - 1) / slot_threads + 1); }

__device__ offset_t own_index() { return offset_t{blockIdx.x} * slot_threads + threadIdx.x; }

/// Calls visit(row) for each row of a word of a set.
template <class Visit>
__device__ void for_each_start(std::uint32_t bits, offset_t word, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<index_t>(32 * word + __ffs(static_cast<int>(bits)) - 1));
}

/// The first row of the set from `word` on; `rows` if there is none.
__device__ index_t first_from(const std::uint32_t* starts, offset_t word, index_t rows) {
  const offset_t words = (offset_t{rows} + 31) / 32;
  while (word < words && starts[word] == 0) ++word;
  return word < words ? static_cast<index_t>(32 * word + __ffs(static_cast<int>(starts[word])) - 1) : rows;
}

/// In shared memory or in that of the device.
__device__ void add(OrderCount& sum, const OrderCount& own) {
  atomicAdd(&sum.count, own.count);
  atomicMax(&sum.rows_behind, own.rows_behind);
  atomicMax(&sum.last_row, own.last_row);
}

/// Counts and largest numbers, so that the order of the atomics does not matter.
__global__ void __launch_bounds__(slot_threads)
    count_orders_kernel(const index_t rows, const std::uint32_t* const starts, OrderCount* const counts) {
  __shared__ OrderCount of_cta[max_block_size + 1];
  for (int n = static_cast<int>(threadIdx.x); n <= max_block_size; n += slot_threads) of_cta[n] = {};
  __syncthreads();
  const offset_t words = (offset_t{rows} + 31) / 32;
  for (offset_t word = own_index(); word < words; word += offset_t{gridDim.x} * slot_threads) {
    // Neighbours of one order are counted at once.
    index_t block = -1, order = 0;
    OrderCount run{};
    const auto end_block = [&](index_t end) {
      if (block >= 0 && end - block != order) {
        if (run.count > 0) add(of_cta[order], run);
        order = end - block;
        run = {0, rows - block, block};
      }
      if (block >= 0) {
        ++run.count;
        run.last_row = block;
      }
      block = end;
    };
    for_each_start(starts[word], word, end_block);
    if (block < 0) continue;
    end_block(first_from(starts, word + 1, rows));
    add(of_cta[order], run);
  }
  __syncthreads();
  for (int n = static_cast<int>(threadIdx.x); n <= max_block_size; n += slot_threads)
    if (of_cta[n].count > 0) add(counts[n], of_cta[n]);
}

__global__ void __launch_bounds__(slot_threads)
    count_starts_kernel(const offset_t words, const std::uint32_t* const starts, index_t* const counts) {
  const offset_t word = own_index();
  if (word < words) counts[word] = __popc(starts[word]);
}

__global__ void __launch_bounds__(slot_threads)
    list_starts_kernel(const index_t rows, const index_t blocks, const std::uint32_t* const starts,
                       const index_t* const before, index_t* const offsets) {
  const offset_t word = own_index();
  if (word == 0) offsets[blocks] = rows;
  if (word >= (offset_t{rows} + 31) / 32) return;
  index_t* next = offsets + before[word];
  for_each_start(starts[word], word, [&](index_t row) { *next++ = row; });
}

/// A shorter last block has the first slot, for it is of a smaller order.
__global__ void __launch_bounds__(slot_threads)
    place_uniform_kernel(const index_t rows, const index_t order, const index_t blocks, const offset_t start,
                         BlockSlot* const slots) {
  const offset_t slot = own_index();
  if (slot >= blocks) return;
  const index_t rest = rows % order;
  const auto whole = static_cast<index_t>(slot) - (rest > 0 ? 1 : 0);  // blocks of the order before this one
  slots[slot] = whole < 0 ? BlockSlot{0, rows - rest, rest, blocks - 1, 0}
                          : BlockSlot{start + whole * (offset_t{order} * order), whole * order, order, whole, 0};
}

using Order = std::uint16_t;

__global__ void __launch_bounds__(slot_threads) list_orders_kernel(const index_t blocks, const index_t* const offsets,
                                                                   Order* const orders, index_t* const numbers) {
  const offset_t block = own_index();
  if (block >= blocks) return;
  orders[block] = static_cast<Order>(offsets[block + 1] - offsets[block]);
  numbers[block] = static_cast<index_t>(block);
}

__global__ void __launch_bounds__(slot_threads)
    place_sorted_kernel(const index_t blocks, const index_t* const offsets, const Order* const orders,
                        const index_t* const numbers, const FirstPlace* const places, BlockSlot* const slots) {
  const offset_t slot = own_index();
  if (slot >= blocks) return;
  const index_t order = orders[slot], block = numbers[slot];
  const FirstPlace first = places[order];
  slots[slot] = {first.start + (slot - first.slot) * (offset_t{order} * order), offsets[block], order, block, 0};
}

/// Parts of scratch memory, one behind the other; counts bytes where there is none.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <class T>
  T* take(std::size_t count) {
    T* const part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return part;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t alignment = 256;
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

struct OffsetsScratch {
  Parts parts;
  index_t* before;
  std::size_t scan_bytes = 0;
  void* scan;
  OffsetsScratch(index_t rows, void* memory) : parts(memory), before(parts.take<index_t>(row_set_words(rows))) {
    check(cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, before, before, words(rows)), "ExclusiveSum(bytes)");
    scan = parts.take<std::byte>(scan_bytes);
  }
  static int words(index_t rows) { return static_cast<int>(row_set_words(rows)); }
};

struct SortScratch {
  Parts parts;
  Order *orders, *sorted_orders;
  index_t *numbers, *sorted_numbers;
  std::size_t sort_bytes = 0;
  void* sort_memory;
  SortScratch(index_t blocks, void* memory)
      : parts(memory),
        orders(take<Order>(blocks)),
        sorted_orders(take<Order>(blocks)),
        numbers(take<index_t>(blocks)),
        sorted_numbers(take<index_t>(blocks)) {
    sort(nullptr, blocks, nullptr);
    sort_memory = parts.take<std::byte>(sort_bytes);
  }
  /// By order, blocks of one order as they were; without memory it finds how much it takes.
  void sort(void* memory, index_t blocks, CUstream_st* stream) {
    constexpr int bits = std::bit_width(static_cast<unsigned>(max_block_size));
    check(cub::DeviceRadixSort::SortPairs(memory, sort_bytes, orders, sorted_orders, numbers, sorted_numbers, blocks, 0,
                                          bits, stream),
          "SortPairs");
  }

 private:
  template <class T>
  T* take(index_t count) {
    return parts.take<T>(static_cast<std::size_t>(count));
  }
};

}  // namespace

void count_orders(index_t rows, const std::uint32_t* starts, OrderCount* counts, CUstream_st* stream) {
  const auto words = static_cast<offset_t>(row_set_words(rows));
  const unsigned ctas = persistent_ctas(striding_policy, grid_of(words));
  count_orders_kernel<<<ctas, slot_threads, 0, stream>>>(rows, starts, counts);
  check_launch("count_orders_kernel");
}

std::size_t offsets_scratch_bytes(index_t rows) { return OffsetsScratch(rows, nullptr).parts.bytes(); }

void list_offsets(index_t rows, index_t blocks, const std::uint32_t* starts, index_t* offsets, void* scratch,
                  CUstream_st* stream) {
  OffsetsScratch s(rows, scratch);
  const int words = OffsetsScratch::words(rows);
  count_starts_kernel<<<grid_of(words), slot_threads, 0, stream>>>(words, starts, s.before);
  check_launch("count_starts_kernel");
  check(cub::DeviceScan::ExclusiveSum(s.scan, s.scan_bytes, s.before, s.before, words, stream), "ExclusiveSum");
  list_starts_kernel<<<grid_of(words), slot_threads, 0, stream>>>(rows, blocks, starts, s.before, offsets);
  check_launch("list_starts_kernel");
}

void place_uniform(index_t rows, index_t order, offset_t start, BlockSlot* slots, CUstream_st* stream) {
  const index_t blocks = (rows - 1) / order + 1;
  place_uniform_kernel<<<grid_of(blocks), slot_threads, 0, stream>>>(rows, order, blocks, start, slots);
  check_launch("place_uniform_kernel");
}

std::size_t place_scratch_bytes(index_t blocks) { return SortScratch(blocks, nullptr).parts.bytes(); }

void place_sorted(index_t blocks, const index_t* offsets, const FirstPlace* places, BlockSlot* slots, void* scratch,
                  CUstream_st* stream) {
  SortScratch s(blocks, scratch);
  list_orders_kernel<<<grid_of(blocks), slot_threads, 0, stream>>>(blocks, offsets, s.orders, s.numbers);
  check_launch("list_orders_kernel");
  s.sort(s.sort_memory, blocks, stream);
  place_sorted_kernel<<<grid_of(blocks), slot_threads, 0, stream>>>(blocks, offsets, s.sorted_orders, s.sorted_numbers,
                                                                    places, slots);
  check_launch("place_sorted_kernel");
}

}  // namespace blockjacobi::kernels
