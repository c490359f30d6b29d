#include "core/shared/sparse_rows.hpp"
#include "kernels/coarse/launch_grid.cuh"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/row_lanes.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

namespace {

using detail::SparseRows;

/// The columns of a row.
class ColumnSet {
 public:
  struct Memory {
    index_t slots[product_slots * coarse_threads];
    index_t columns[product_columns * coarse_threads];
    int counts[coarse_threads / few_product_lanes];
  };

  /// Memory that no lane of the row still reads.
  __device__ ColumnSet(Memory& memory, const RowLanes& members) : members_(members), slots_(memory.slots, members) {
    const int before = static_cast<int>(threadIdx.x) - members.rank;
    columns_ = memory.columns + product_columns * before;
    count_ = memory.counts + before / few_product_lanes;
    slots_.clear(members);
    if (members.rank == 0) *count_ = 0;
    members.sync();
  }

  /// All columns of row i of A B; each lane has an entry of A at a time.
  template <class O>
  __device__ void gather(const SparseRows<const void, O>& a, const CsrView<const void, std::int32_t>& b, offset_t i) {
    bool has_room = true;
    for (offset_t k = a.begin(i) + offset_t{members_.rank}; has_room && k < a.end(i); k += members_.lanes) {
      const index_t j = a.column(static_cast<O>(k));
      for (std::int32_t e = b.row_offsets[j]; has_room && e < b.row_offsets[j + 1]; ++e) has_room = add(b.columns[e]);
    }
    members_.sync();
  }
  __device__ int count() const { return *count_; }
  __device__ bool has_room() const { return count() <= slots_.most(); }
  /// Ascending.
  __device__ void write(index_t* to) const {
    for (int k = members_.rank; k < count(); k += members_.lanes) {
      const index_t column = columns_[k];
      int place = 0;
      for (int other = 0; other < count(); ++other) place += columns_[other] < column ? 1 : 0;
      to[place] = column;
    }
  }

 private:
  /// False without room. Each lane may find one column more than there is room for, before it stops.
  __device__ bool add(index_t column) const {
    static_assert(product_columns + 1 < product_slots);
    int slot = slots_.first(column);
    while (true) {
      const index_t found = atomicCAS(slots_.columns + slot, ColumnSlots::empty, column);
      if (found == column) return true;
      if (found == ColumnSlots::empty) break;
      slot = slots_.next(slot);
    }
    const int place = atomicAdd(count_, 1);
    if (place >= slots_.most()) return false;
    columns_[place] = column;
    return true;
  }

  RowLanes members_;
  ColumnSlots slots_;
  index_t* columns_;
  int* count_;
};

/// Rows that have no length yet.
constexpr std::int32_t not_counted = -1;

/// The length of row i if there is room for it; in one of its lanes, or 0.
template <class O>
__device__ int count_row(ColumnSet& set, const RowLanes& members, const CsrView<const void, O>& a,
                         const CsrView<const void, std::int32_t>& b, offset_t i, std::int32_t* lengths,
                         unsigned int* is_left) {
  set.gather(SparseRows<const void, O>{a}, b, i);
  if (members.rank != 0) return 0;
  if (!set.has_room()) *is_left = 1;
  lengths[i] = set.has_room() ? set.count() : not_counted;
  return set.has_room() ? set.count() : 0;
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    count_columns_kernel(const int lanes, const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                         std::int32_t* const lengths, ColumnCounts* const counts) {
  __shared__ ColumnSet::Memory memory;
  __shared__ int of_cta;
  if (threadIdx.x == 0) of_cta = 0;
  __syncthreads();
  const RowLanes members(lanes);
  const offset_t i = members.row();
  if (i < a.rows) {
    ColumnSet set(memory, members);
    const int count = count_row(set, members, a, b, i, lengths, &counts->left);
    if (count > 0) atomicAdd(&of_cta, count);
  } else if (i == a.rows && members.rank == 0) {
    lengths[i] = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0 && of_cta > 0) atomicAdd(&counts->columns, static_cast<unsigned long long>(of_cta));
}

/// body(i) by the whole thread block for those of its 32 rows that are left.
template <class IsLeft, class Body>
__device__ void for_rows_left(index_t rows, IsLeft is_left, Body body) {
  const offset_t first = offset_t{32} * blockIdx.x, own = first + threadIdx.x % 32;
  unsigned left = __ballot_sync(~0u, own < rows && is_left(own));
  for (; left != 0; left &= left - 1) {
    body(first + __ffs(static_cast<int>(left)) - 1);
    __syncthreads();
  }
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    count_left_kernel(const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                      std::int32_t* const lengths, ColumnCounts* const counts) {
  __shared__ ColumnSet::Memory memory;
  const RowLanes members(coarse_threads);
  // Those of all warps know which are left before the first is counted: ColumnSet waits for them.
  for_rows_left(
      a.rows, [&](offset_t i) { return lengths[i] == not_counted; },
      [&](offset_t i) {
        ColumnSet set(memory, members);
        const int count = count_row(set, members, a, b, i, lengths, &counts->too_many);
        if (count > 0) atomicAdd(&counts->columns, static_cast<unsigned long long>(count));
      });
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    list_columns_kernel(const int lanes, const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                        const std::int32_t* const offsets, index_t* const columns) {
  __shared__ ColumnSet::Memory memory;
  const RowLanes members(lanes);
  const offset_t i = members.row();
  if (i >= a.rows || offsets[i + 1] - offsets[i] > product_columns * lanes) return;
  ColumnSet set(memory, members);
  set.gather(SparseRows<const void, O>{a}, b, i);
  set.write(columns + offsets[i]);
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    list_left_kernel(const int lanes, const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                     const std::int32_t* const offsets, index_t* const columns) {
  __shared__ ColumnSet::Memory memory;
  const RowLanes members(coarse_threads);
  for_rows_left(
      a.rows, [&](offset_t i) { return offsets[i + 1] - offsets[i] > product_columns * lanes; },
      [&](offset_t i) {
        ColumnSet set(memory, members);
        set.gather(SparseRows<const void, O>{a}, b, i);
        set.write(columns + offsets[i]);
      });
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    count_terms_kernel(const CsrView<const void, O> a, const std::int32_t* const b_offsets, std::int32_t* const terms,
                       unsigned long long* const all) {
  const offset_t k = thread_index();
  std::int32_t count = 0;
  if (k < a.nnz) {
    const index_t j = SparseRows<const void, O>{a}.column(static_cast<O>(k));
    count = b_offsets[j + 1] - b_offsets[j];
  }
  if (k <= a.nnz) terms[k] = count;
  const auto of_warp = static_cast<unsigned long long>(__reduce_add_sync(~0u, static_cast<unsigned>(count)));
  if (threadIdx.x % 32 == 0 && of_warp > 0) atomicAdd(all, of_warp);
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    key_terms_kernel(const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                     const std::int32_t* const before, SortKey* const keys, std::int32_t* const numbers) {
  const offset_t i = thread_index() / row_lanes;
  if (i >= a.rows) return;
  const SparseRows<const void, O> rows{a};
  for (offset_t k = rows.begin(i) + offset_t{row_lane()}; k < rows.end(i); k += row_lanes) {
    const index_t j = rows.column(static_cast<O>(k));
    std::int32_t t = before[k];
    for (std::int32_t e = b.row_offsets[j]; e < b.row_offsets[j + 1]; ++e, ++t) {
      keys[t] = static_cast<SortKey>(i) * static_cast<SortKey>(b.cols) + static_cast<SortKey>(b.columns[e]);
      numbers[t] = t;
    }
  }
}

__global__ void __launch_bounds__(coarse_threads)
    key_transposed_kernel(const CsrView<const void, std::int32_t> a, SortKey* const keys, std::int32_t* const numbers) {
  const offset_t i = thread_index() / row_lanes;
  if (i >= a.rows) return;
  for (offset_t k = a.row_offsets[i] + offset_t{row_lane()}; k < a.row_offsets[i + 1]; k += row_lanes) {
    keys[k] = static_cast<SortKey>(a.columns[k]) * static_cast<SortKey>(a.rows) + static_cast<SortKey>(i);
    numbers[k] = static_cast<std::int32_t>(k);
  }
}

}  // namespace

int sparse_pattern_lanes(const SparseProductCase& given) { return sparse_pattern_lanes(current_device(), given); }

template <Offset O>
void count_columns(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
                   std::int32_t* lengths, ColumnCounts* counts, CUstream_st* stream) {
  const unsigned ctas = ctas_of((offset_t{a.rows} + 1) * lanes, "count_columns_kernel");
  count_columns_kernel<<<ctas, coarse_threads, 0, stream>>>(lanes, a, b, lengths, counts);
  check_launch("count_columns_kernel");
}

template <Offset O>
void count_left(const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b, std::int32_t* lengths,
                ColumnCounts* counts, CUstream_st* stream) {
  const unsigned ctas = grid_for(std::max(a.rows, 1), 32, "count_left_kernel");
  count_left_kernel<<<ctas, coarse_threads, 0, stream>>>(a, b, lengths, counts);
  check_launch("count_left_kernel");
}

template <Offset O>
void list_columns(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
                  const std::int32_t* offsets, index_t* columns, CUstream_st* stream) {
  const unsigned ctas = ctas_of(offset_t{a.rows} * lanes, "list_columns_kernel");
  list_columns_kernel<<<ctas, coarse_threads, 0, stream>>>(lanes, a, b, offsets, columns);
  check_launch("list_columns_kernel");
}

template <Offset O>
void list_left(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
               const std::int32_t* offsets, index_t* columns, CUstream_st* stream) {
  const unsigned ctas = grid_for(std::max(a.rows, 1), 32, "list_left_kernel");
  list_left_kernel<<<ctas, coarse_threads, 0, stream>>>(lanes, a, b, offsets, columns);
  check_launch("list_left_kernel");
}

template <Offset O>
void count_terms(const CsrView<const void, O>& a, const std::int32_t* b_offsets, std::int32_t* terms,
                 unsigned long long* all, CUstream_st* stream) {
  count_terms_kernel<<<ctas_of(a.nnz + 1, "count_terms_kernel"), coarse_threads, 0, stream>>>(a, b_offsets, terms, all);
  check_launch("count_terms_kernel");
}

template <Offset O>
void key_terms(const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b, const std::int32_t* before,
               SortKey* keys, std::int32_t* numbers, CUstream_st* stream) {
  key_terms_kernel<<<ctas_of(offset_t{a.rows} * row_lanes, "key_terms_kernel"), coarse_threads, 0, stream>>>(
      a, b, before, keys, numbers);
  check_launch("key_terms_kernel");
}

void key_transposed(const CsrView<const void, std::int32_t>& a, SortKey* keys, std::int32_t* numbers,
                    CUstream_st* stream) {
  key_transposed_kernel<<<ctas_of(offset_t{a.rows} * row_lanes, "key_transposed_kernel"), coarse_threads, 0, stream>>>(
      a, keys, numbers);
  check_launch("key_transposed_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(O)                                                                                  \
  template void count_columns(int, const CsrView<const void, O>&, const CsrView<const void, std::int32_t>&,         \
                              std::int32_t*, ColumnCounts*, CUstream_st*);                                          \
  template void count_left(const CsrView<const void, O>&, const CsrView<const void, std::int32_t>&, std::int32_t*,  \
                           ColumnCounts*, CUstream_st*);                                                            \
  template void list_columns(int, const CsrView<const void, O>&, const CsrView<const void, std::int32_t>&,          \
                             const std::int32_t*, index_t*, CUstream_st*);                                          \
  template void list_left(int, const CsrView<const void, O>&, const CsrView<const void, std::int32_t>&,             \
                          const std::int32_t*, index_t*, CUstream_st*);                                             \
  template void count_terms(const CsrView<const void, O>&, const std::int32_t*, std::int32_t*, unsigned long long*, \
                            CUstream_st*);                                                                          \
  template void key_terms(const CsrView<const void, O>&, const CsrView<const void, std::int32_t>&,                  \
                          const std::int32_t*, SortKey*, std::int32_t*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
