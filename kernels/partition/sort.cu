#include "kernels/launch/check.hpp"
#include "kernels/partition/launch_sort.hpp"
#include "kernels/partition/list_kernels.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <bit>

namespace blockjacobi::kernels {

namespace {

/// Lanes that go through a row together.
constexpr int row_lanes = 8;

std::size_t sort(offset_t count, SortKey limit, const SortKey* keys, SortKey* sorted, const std::int32_t* numbers,
                 std::int32_t* sorted_numbers, void* scratch, std::size_t bytes, CUstream_st* stream) {
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted, numbers, sorted_numbers, count, 0,
                                        std::bit_width(limit), stream),
        "SortPairs");
  return bytes;
}

__global__ void __launch_bounds__(list_threads)
    invert_order_kernel(const index_t count, const index_t* const order, index_t* const inverse) {
  for (offset_t k = first_index(); k < count; k += index_step()) inverse[order[k]] = static_cast<index_t>(k);
}

template <class O>
__global__ void __launch_bounds__(list_threads)
    key_renumbered_kernel(const CsrView<const void, O> a, const index_t* const order, const index_t* const inverse,
                          SortKey* const keys, std::int32_t* const entries, std::int32_t* const lengths) {
  const auto base = static_cast<index_t>(a.base);
  const auto lane = static_cast<offset_t>(threadIdx.x % row_lanes);
  for (offset_t i = first_index() / row_lanes; i <= a.rows; i += index_step() / row_lanes) {
    if (i == a.rows) {
      lengths[i] = 0;
      continue;
    }
    const index_t old = order[i];
    const offset_t begin = a.row_offsets[old] - base, end = a.row_offsets[old + offset_t{1}] - base;
    if (lane == 0) lengths[i] = static_cast<std::int32_t>(end - begin);
    for (offset_t k = begin + lane; k < end; k += row_lanes) {
      keys[k] =
          static_cast<SortKey>(i) * static_cast<SortKey>(a.cols) + static_cast<SortKey>(inverse[a.columns[k] - base]);
      entries[k] = static_cast<std::int32_t>(k);
    }
  }
}

__global__ void __launch_bounds__(list_threads)
    split_renumbered_kernel(const offset_t count, const index_t cols, const SortKey* const keys,
                            const std::int32_t* const entries, index_t* const columns, offset_t* const source) {
  for (offset_t k = first_index(); k < count; k += index_step()) {
    columns[k] = static_cast<index_t>(keys[k] % static_cast<SortKey>(cols));
    source[k] = entries[k];
  }
}

}  // namespace

std::size_t sort_bytes(offset_t count, SortKey limit) {
  return sort(count, limit, nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr);
}

void sort_keys(offset_t count, SortKey limit, const SortKey* keys, SortKey* sorted, const std::int32_t* numbers,
               std::int32_t* sorted_numbers, void* scratch, CUstream_st* stream) {
  sort(count, limit, keys, sorted, numbers, sorted_numbers, scratch, sort_bytes(count, limit), stream);
}

std::size_t scan_bytes(index_t count) {
  std::size_t to = 0, before = 0;
  std::int32_t* const sums = nullptr;
  check(cub::DeviceScan::InclusiveSum(nullptr, to, sums, sums, count), "InclusiveSum(bytes)");
  check(cub::DeviceScan::ExclusiveSum(nullptr, before, sums, sums, count), "ExclusiveSum(bytes)");
  return std::max(to, before);
}

void sum_up_to(index_t count, const std::int32_t* counts, std::int32_t* sums, void* scratch, CUstream_st* stream) {
  std::size_t bytes = scan_bytes(count);
  check(cub::DeviceScan::InclusiveSum(scratch, bytes, counts, sums, count, stream), "InclusiveSum");
}

void sum_before(index_t count, const std::int32_t* counts, std::int32_t* sums, void* scratch, CUstream_st* stream) {
  std::size_t bytes = scan_bytes(count);
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, counts, sums, count, stream), "ExclusiveSum");
}

void invert_order(index_t count, const index_t* order, index_t* inverse, CUstream_st* stream) {
  invert_order_kernel<<<ctas_for(count, list_threads), list_threads, 0, stream>>>(count, order, inverse);
  check_launch("invert_order_kernel");
}

template <Offset O>
void key_renumbered(const CsrView<const void, O>& pattern, const index_t* order, const index_t* inverse, SortKey* keys,
                    std::int32_t* entries, std::int32_t* lengths, CUstream_st* stream) {
  const offset_t work = (offset_t{pattern.rows} + 1) * row_lanes;
  key_renumbered_kernel<O>
      <<<ctas_for(work, list_threads), list_threads, 0, stream>>>(pattern, order, inverse, keys, entries, lengths);
  check_launch("key_renumbered_kernel");
}
template void key_renumbered(const CsrView<const void, std::int32_t>&, const index_t*, const index_t*, SortKey*,
                             std::int32_t*, std::int32_t*, CUstream_st*);
template void key_renumbered(const CsrView<const void, std::int64_t>&, const index_t*, const index_t*, SortKey*,
                             std::int32_t*, std::int32_t*, CUstream_st*);

void split_renumbered(offset_t count, index_t cols, const SortKey* keys, const std::int32_t* entries, index_t* columns,
                      offset_t* source, CUstream_st* stream) {
  split_renumbered_kernel<<<ctas_for(count, list_threads), list_threads, 0, stream>>>(count, cols, keys, entries,
                                                                                      columns, source);
  check_launch("split_renumbered_kernel");
}

}  // namespace blockjacobi::kernels
