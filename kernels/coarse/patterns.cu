#include "kernels/coarse/launch_patterns.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/launch/grid.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include <algorithm>

// Keys say which entries of A meet in an element of a product: sorting brings them together, and where a key differs
// from the one before it an element begins.

namespace blockjacobi::kernels {

namespace {

using detail::no_group;

/// Lanes that go through a row of A together.
constexpr int row_lanes = 8;

unsigned ctas_of(offset_t items, const char* kernel) {
  return grid_for(std::max<offset_t>(items, 1), coarse_threads, kernel);
}

__device__ offset_t thread_index() { return static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x; }

__device__ index_t columns_of(const index_t* first, index_t g) {
  return first != nullptr ? first[g + 1] - first[g] : 1;
}
__device__ index_t first_column_of(const index_t* first, index_t g) { return first != nullptr ? first[g] : g; }

__global__ void mark_columns_kernel(const index_t rows, const index_t* const aggregate, const index_t components,
                                    std::int32_t* const taken) {
  const offset_t i = thread_index();
  if (i >= rows || aggregate[i] == no_group) return;
  taken[aggregate[i] * components + static_cast<index_t>(i % components)] = 1;
}

__global__ void number_columns_kernel(const index_t rows, const index_t* const aggregate, const index_t components,
                                      const std::int32_t* const numbers, index_t* const group) {
  const offset_t i = thread_index();
  if (i >= rows) return;
  const index_t a = aggregate[i];
  group[i] = a == no_group ? no_group : numbers[a * components + static_cast<index_t>(i % components)] - 1;
}

template <class O>
__global__ void key_entries_kernel(const CsrView<const void, O> a, const CoarseSide side, const index_t groups,
                                   const index_t* const group, SortKey* const keys, std::int32_t* const entries,
                                   index_t* const rows) {
  const offset_t i = thread_index() / row_lanes;
  if (i >= a.rows) return;
  const auto base = static_cast<index_t>(a.base);
  const index_t own = group[i];
  const bool left = side == CoarseSide::left;
  const SortKey limit = static_cast<SortKey>(groups) * static_cast<SortKey>(left ? a.cols : a.rows);
  for (offset_t k = a.row_offsets[i] - base + static_cast<offset_t>(threadIdx.x % row_lanes);
       k < a.row_offsets[i + 1] - base; k += row_lanes) {
    const index_t j = a.columns[k] - base;
    const index_t met = left ? own : group[j];
    keys[k] = met == no_group ? limit
              : left          ? static_cast<SortKey>(met) * static_cast<SortKey>(a.cols) + static_cast<SortKey>(j)
                              : static_cast<SortKey>(i) * static_cast<SortKey>(groups) + static_cast<SortKey>(met);
    entries[k] = static_cast<std::int32_t>(k);
    if (rows != nullptr) rows[k] = left ? static_cast<index_t>(i) : j;
  }
}

__global__ void key_rows_kernel(const index_t rows, const index_t groups, const index_t* const group,
                                SortKey* const keys, std::int32_t* const numbers) {
  const offset_t i = thread_index();
  if (i >= rows) return;
  keys[i] = static_cast<SortKey>(group[i] == no_group ? groups : group[i]);
  numbers[i] = static_cast<std::int32_t>(i);
}

__global__ void key_segments_kernel(const index_t segments, const CoarseSide side, const index_t groups,
                                    const index_t* const group, const index_t* const of_segment,
                                    const index_t* const other, SortKey* const keys, index_t* const numbers) {
  const offset_t s = thread_index();
  if (s >= segments) return;
  const index_t own = of_segment[s], met = group[other[s]];
  const index_t row = side == CoarseSide::left ? own : met, column = side == CoarseSide::left ? met : own;
  const auto count = static_cast<SortKey>(groups);
  keys[s] = met == no_group ? count * count : static_cast<SortKey>(row) * count + static_cast<SortKey>(column);
  numbers[s] = static_cast<index_t>(s);
}

/// Where a run of equal keys begins.
struct BeginsRun {
  const SortKey* keys;

  __device__ bool operator()(std::int32_t k) const { return k == 0 || keys[k] != keys[k - 1]; }
};

/// *found has the number of runs, among them that of the limit.
__global__ void end_runs_kernel(const std::int32_t count, const SortKey limit, const SortKey* const keys,
                                std::int32_t* const begin, KeyRuns* const found) {
  const bool drops = count > 0 && keys[count - 1] >= limit;
  if (drops)
    --found->runs;
  else
    begin[found->runs] = count;
  found->end = begin[found->runs];
}

__global__ void split_keys_kernel(const std::int32_t runs, const std::int32_t* const begin, const SortKey* const keys,
                                  const SortKey divisor, index_t* const high, index_t* const low) {
  const offset_t r = thread_index();
  if (r >= runs) return;
  const SortKey key = keys[begin[r]];
  high[r] = static_cast<index_t>(key / divisor);
  low[r] = static_cast<index_t>(key % divisor);
}

__global__ void gather_kernel(const std::int32_t count, const std::int32_t* const places, const index_t* const values,
                              index_t* const gathered) {
  const offset_t k = thread_index();
  if (k < count) gathered[k] = values[places[k]];
}

template <class N>
__device__ std::int32_t first_not_below(const N* numbers, std::int32_t count, offset_t bound) {
  std::int32_t begin = 0, end = count;
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (static_cast<offset_t>(numbers[middle]) < bound)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

template <class N>
__global__ void find_bounds_kernel(const std::int32_t count, const N* const numbers, const index_t groups,
                                   std::int32_t* const bounds) {
  const offset_t g = thread_index();
  if (g <= groups) bounds[g] = first_not_below(numbers, count, g);
}

/// One thread block: there are no more groups than coarse vectors.
__global__ void __launch_bounds__(coarse_threads)
    lay_out_rows_kernel(const index_t groups, const index_t* const first, const std::int32_t* const bounds,
                        const std::int32_t* const before, std::int32_t* const stride, std::int32_t* const begin,
                        std::int32_t* const offsets, offset_t* const total) {
  __shared__ offset_t sums[coarse_threads];
  const auto thread = static_cast<int>(threadIdx.x);
  const auto position = [&](index_t g) { return before != nullptr ? before[bounds[g]] : bounds[g]; };
  const auto length = [&](index_t g) { return offset_t{position(g + 1)} - position(g); };
  const index_t share = (groups + coarse_threads - 1) / coarse_threads;
  const index_t from = min(thread * share, groups), to = min(from + share, groups);
  offset_t own = 0;
  for (index_t g = from; g < to; ++g) own += length(g) * columns_of(first, g);
  sums[thread] = own;
  for (int distance = 1; distance < coarse_threads; distance *= 2) {
    __syncthreads();
    const offset_t other = thread >= distance ? sums[thread - distance] : 0;
    __syncthreads();
    sums[thread] += other;
  }
  __syncthreads();
  offset_t sum = sums[thread] - own;
  for (index_t g = from; g < to; ++g) {
    stride[g] = static_cast<std::int32_t>(length(g));
    begin[g] = static_cast<std::int32_t>(sum);
    for (index_t v = 0; v < columns_of(first, g); ++v, sum += length(g))
      offsets[first_column_of(first, g) + v] = static_cast<std::int32_t>(sum);
  }
  if (thread != 0) return;
  *total = sums[coarse_threads - 1];
  offsets[first_column_of(first, groups)] = static_cast<std::int32_t>(*total);
}

__global__ void count_columns_kernel(const std::int32_t count, const index_t* const number, const index_t* const first,
                                     std::int32_t* const columns) {
  const offset_t k = thread_index();
  if (k <= count) columns[k] = k < count ? columns_of(first, number[k]) : 0;
}

template <class G>
__global__ void place_items_kernel(const std::int32_t items, const G* const group, const index_t* const other,
                                   const index_t* const first, const std::int32_t* const bounds,
                                   const std::int32_t* const begin, const std::int32_t* const stride,
                                   std::int32_t* const place, index_t* const columns) {
  const offset_t k = thread_index();
  if (k >= items) return;
  const auto g = static_cast<index_t>(group[k]);
  const auto own = static_cast<std::int32_t>(begin[g] + k - bounds[g]);
  if (place != nullptr) place[k] = own;
  for (index_t v = 0; v < columns_of(first, g); ++v) columns[own + offset_t{v} * stride[g]] = other[k];
}

__global__ void begin_rows_kernel(const index_t rows, const std::int32_t segments, const index_t* const row,
                                  const std::int32_t* const place, std::int32_t* const offsets) {
  const offset_t i = thread_index();
  if (i <= rows) offsets[i] = place[first_not_below(row, segments, i)];
}

__global__ void place_segments_kernel(const std::int32_t segments, const index_t* const group,
                                      const index_t* const first, const std::int32_t* const place,
                                      index_t* const columns) {
  const offset_t s = thread_index();
  if (s >= segments) return;
  for (index_t v = 0; v < columns_of(first, group[s]); ++v)
    columns[place[s] + v] = first_column_of(first, group[s]) + v;
}

__global__ void place_pairs_kernel(const std::int32_t pairs, const index_t* const row, const index_t* const column,
                                   const index_t* const first, const std::int32_t* const bounds,
                                   const std::int32_t* const before, const std::int32_t* const begin,
                                   const std::int32_t* const stride, std::int32_t* const place,
                                   index_t* const columns) {
  const offset_t p = thread_index();
  if (p >= pairs) return;
  const index_t a = row[p], b = column[p];
  const std::int32_t own = begin[a] + before[p] - before[bounds[a]];
  place[p] = own;
  for (index_t v = 0; v < columns_of(first, a); ++v)
    for (index_t u = 0; u < columns_of(first, b); ++u)
      columns[own + offset_t{v} * stride[a] + u] = first_column_of(first, b) + u;
}

template <class G>
void place(std::int32_t items, const G* group, const index_t* other, const index_t* first, const std::int32_t* bounds,
           const std::int32_t* begin, const std::int32_t* stride, std::int32_t* place, index_t* columns,
           CUstream_st* stream) {
  place_items_kernel<<<ctas_of(items, "place_items_kernel"), coarse_threads, 0, stream>>>(
      items, group, other, first, bounds, begin, stride, place, columns);
  check_launch("place_items_kernel");
}

}  // namespace

void mark_columns(index_t rows, const index_t* aggregate, index_t components, std::int32_t* taken,
                  CUstream_st* stream) {
  mark_columns_kernel<<<ctas_of(rows, "mark_columns_kernel"), coarse_threads, 0, stream>>>(rows, aggregate, components,
                                                                                           taken);
  check_launch("mark_columns_kernel");
}

void number_columns(index_t rows, const index_t* aggregate, index_t components, const std::int32_t* numbers,
                    index_t* group, CUstream_st* stream) {
  number_columns_kernel<<<ctas_of(rows, "number_columns_kernel"), coarse_threads, 0, stream>>>(
      rows, aggregate, components, numbers, group);
  check_launch("number_columns_kernel");
}

template <Offset O>
void key_entries(const CsrView<const void, O>& pattern, CoarseSide side, index_t groups, const index_t* group,
                 SortKey* keys, std::int32_t* entries, index_t* rows, CUstream_st* stream) {
  key_entries_kernel<O>
      <<<ctas_of(offset_t{pattern.rows} * row_lanes, "key_entries_kernel"), coarse_threads, 0, stream>>>(
          pattern, side, groups, group, keys, entries, rows);
  check_launch("key_entries_kernel");
}
template void key_entries(const CsrView<const void, std::int32_t>&, CoarseSide, index_t, const index_t*, SortKey*,
                          std::int32_t*, index_t*, CUstream_st*);
template void key_entries(const CsrView<const void, std::int64_t>&, CoarseSide, index_t, const index_t*, SortKey*,
                          std::int32_t*, index_t*, CUstream_st*);

void key_rows(index_t rows, index_t groups, const index_t* group, SortKey* keys, std::int32_t* numbers,
              CUstream_st* stream) {
  key_rows_kernel<<<ctas_of(rows, "key_rows_kernel"), coarse_threads, 0, stream>>>(rows, groups, group, keys, numbers);
  check_launch("key_rows_kernel");
}

void key_segments(index_t segments, CoarseSide side, index_t groups, const index_t* group, const index_t* of_segment,
                  const index_t* other, SortKey* keys, index_t* numbers, CUstream_st* stream) {
  key_segments_kernel<<<ctas_of(segments, "key_segments_kernel"), coarse_threads, 0, stream>>>(
      segments, side, groups, group, of_segment, other, keys, numbers);
  check_launch("key_segments_kernel");
}

std::size_t coarse_run_bytes(offset_t count) {
  std::size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, thrust::counting_iterator<std::int32_t>(0),
                              static_cast<std::int32_t*>(nullptr), static_cast<std::int32_t*>(nullptr), count,
                              BeginsRun{nullptr}),
        "Select(bytes)");
  return bytes;
}

void find_runs(offset_t count, SortKey limit, const SortKey* keys, std::int32_t* begin, KeyRuns* found, void* scratch,
               CUstream_st* stream) {
  std::size_t bytes = coarse_run_bytes(count);
  check(cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<std::int32_t>(0), begin, &found->runs, count,
                              BeginsRun{keys}, stream),
        "Select");
  end_runs_kernel<<<1, 1, 0, stream>>>(static_cast<std::int32_t>(count), limit, keys, begin, found);
  check_launch("end_runs_kernel");
}

void split_keys(std::int32_t runs, const std::int32_t* begin, const SortKey* keys, SortKey divisor, index_t* high,
                index_t* low, CUstream_st* stream) {
  split_keys_kernel<<<ctas_of(runs, "split_keys_kernel"), coarse_threads, 0, stream>>>(runs, begin, keys, divisor, high,
                                                                                       low);
  check_launch("split_keys_kernel");
}

void gather(std::int32_t count, const std::int32_t* places, const index_t* values, index_t* gathered,
            CUstream_st* stream) {
  gather_kernel<<<ctas_of(count, "gather_kernel"), coarse_threads, 0, stream>>>(count, places, values, gathered);
  check_launch("gather_kernel");
}

namespace {

template <class N>
void bounds_of(std::int32_t count, const N* numbers, index_t groups, std::int32_t* bounds, CUstream_st* stream) {
  find_bounds_kernel<<<ctas_of(offset_t{groups} + 1, "find_bounds_kernel"), coarse_threads, 0, stream>>>(
      count, numbers, groups, bounds);
  check_launch("find_bounds_kernel");
}

}  // namespace

void find_bounds(std::int32_t count, const index_t* numbers, index_t groups, std::int32_t* bounds,
                 CUstream_st* stream) {
  bounds_of(count, numbers, groups, bounds, stream);
}
void find_bounds(std::int32_t count, const SortKey* numbers, index_t groups, std::int32_t* bounds,
                 CUstream_st* stream) {
  bounds_of(count, numbers, groups, bounds, stream);
}

void lay_out_rows(index_t groups, const index_t* first, const std::int32_t* bounds, const std::int32_t* before,
                  std::int32_t* stride, std::int32_t* begin, std::int32_t* offsets, offset_t* total,
                  CUstream_st* stream) {
  lay_out_rows_kernel<<<1, coarse_threads, 0, stream>>>(groups, first, bounds, before, stride, begin, offsets, total);
  check_launch("lay_out_rows_kernel");
}

void count_columns(std::int32_t count, const index_t* number, const index_t* first, std::int32_t* columns,
                   CUstream_st* stream) {
  count_columns_kernel<<<ctas_of(offset_t{count} + 1, "count_columns_kernel"), coarse_threads, 0, stream>>>(
      count, number, first, columns);
  check_launch("count_columns_kernel");
}

void place_items(std::int32_t items, const index_t* group, const index_t* other, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* begin, const std::int32_t* stride,
                 std::int32_t* places, index_t* columns, CUstream_st* stream) {
  place(items, group, other, first, bounds, begin, stride, places, columns, stream);
}
void place_items(std::int32_t items, const SortKey* group, const index_t* other, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* begin, const std::int32_t* stride, index_t* columns,
                 CUstream_st* stream) {
  place(items, group, other, first, bounds, begin, stride, nullptr, columns, stream);
}

void place_by_rows(index_t rows, std::int32_t segments, const index_t* row, const index_t* group, const index_t* first,
                   const std::int32_t* place, std::int32_t* offsets, index_t* columns, CUstream_st* stream) {
  begin_rows_kernel<<<ctas_of(offset_t{rows} + 1, "begin_rows_kernel"), coarse_threads, 0, stream>>>(
      rows, segments, row, place, offsets);
  check_launch("begin_rows_kernel");
  place_segments_kernel<<<ctas_of(segments, "place_segments_kernel"), coarse_threads, 0, stream>>>(
      segments, group, first, place, columns);
  check_launch("place_segments_kernel");
}

void place_pairs(std::int32_t pairs, const index_t* row, const index_t* column, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* before, const std::int32_t* begin,
                 const std::int32_t* stride, std::int32_t* place, index_t* columns, CUstream_st* stream) {
  place_pairs_kernel<<<ctas_of(pairs, "place_pairs_kernel"), coarse_threads, 0, stream>>>(
      pairs, row, column, first, bounds, before, begin, stride, place, columns);
  check_launch("place_pairs_kernel");
}

}  // namespace blockjacobi::kernels
