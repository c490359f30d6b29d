#include "core/shared/sparse_rows.hpp"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/launch/grid.hpp"

#include <algorithm>
#include <type_traits>

namespace blockjacobi::kernels {

namespace {

using detail::SparseRows;

/// Lanes that go through a row together: rows of stencils and of prolongators have about as many entries.
constexpr int row_lanes = 8;

unsigned ctas_of(offset_t items, const char* kernel) {
  return grid_for(std::max<offset_t>(items, 1), coarse_threads, kernel);
}

__device__ offset_t thread_index() { return static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x; }
__device__ int row_lane() { return static_cast<int>(threadIdx.x % row_lanes); }

/// Lanes that have a row together: a power of two of a warp, or all of a thread block, each of whose warps then has
/// entries of its own.
struct RowTeam {
  int lanes, rank;
  int width, lane;  ///< of the lanes that share an entry, and which of them this one is
  int warps, warp;
  unsigned mask;

  __device__ explicit RowTeam(int count)
      : lanes(count),
        rank(static_cast<int>(threadIdx.x) & (count - 1)),
        width(count < 32 ? count : 32),
        lane(rank & (width - 1)),
        warps((count + 31) / 32),
        warp(rank / 32),
        mask((width == 32 ? ~0u : (1u << width) - 1) << (threadIdx.x % 32 & ~(width - 1u))) {}
  __device__ offset_t row() const { return thread_index() >> (31 - __clz(lanes)); }
  /// Orders accesses to memory of all lanes.
  __device__ void sync() const {
    if (warps > 1)
      __syncthreads();
    else
      __syncwarp(mask);
  }
  /// Of those that share an entry.
  __device__ void sync_width() const { __syncwarp(mask); }
  template <class V>
  __device__ V broadcast(V v, int source) const {
    return __shfl_sync(mask, v, source, width);
  }
  template <class R>
  __device__ detail::Complex<R> broadcast(detail::Complex<R> v, int source) const {
    return {broadcast(v.re, source), broadcast(v.im, source)};
  }
};

/// A hash table of columns in shared memory, of the lanes of a team.
struct ColumnSlots {
  static constexpr index_t empty = -1;

  index_t* columns;
  int last;

  __device__ ColumnSlots(index_t* of_cta, const RowTeam& team)
      : columns(of_cta + product_slots * (static_cast<int>(threadIdx.x) - team.rank)),
        last(product_slots * team.lanes - 1) {}
  __device__ void clear(const RowTeam& team) const {
#pragma unroll
    for (int s = 0; s < product_slots; ++s) columns[s * team.lanes + team.rank] = empty;
  }
  __device__ int most() const { return (last + 1) / product_slots * product_columns; }
  __device__ int first(index_t column) const {
    return static_cast<int>(static_cast<unsigned>(column) * 0x9e3779b1u >> 16) & last;
  }
  __device__ int next(int slot) const { return (slot + 1) & last; }
};

/// The columns of a row.
class ColumnSet {
 public:
  struct Memory {
    index_t slots[product_slots * coarse_threads];
    index_t columns[product_columns * coarse_threads];
    int counts[coarse_threads / few_product_lanes];
  };

  /// Memory that no lane of the team still reads.
  __device__ ColumnSet(Memory& memory, const RowTeam& team) : team_(team), slots_(memory.slots, team) {
    const int before = static_cast<int>(threadIdx.x) - team.rank;
    columns_ = memory.columns + product_columns * before;
    count_ = memory.counts + before / few_product_lanes;
    slots_.clear(team);
    if (team.rank == 0) *count_ = 0;
    team.sync();
  }

  /// All columns of row i of A B; each lane has an entry of A at a time.
  template <class O>
  __device__ void gather(const SparseRows<const void, O>& a, const CsrView<const void, std::int32_t>& b, offset_t i) {
    bool has_room = true;
    for (offset_t k = a.begin(i) + offset_t{team_.rank}; has_room && k < a.end(i); k += team_.lanes) {
      const index_t j = a.column(static_cast<O>(k));
      for (std::int32_t e = b.row_offsets[j]; has_room && e < b.row_offsets[j + 1]; ++e) has_room = add(b.columns[e]);
    }
    team_.sync();
  }
  __device__ int count() const { return *count_; }
  __device__ bool has_room() const { return count() <= slots_.most(); }
  /// Ascending.
  __device__ void write(index_t* to) const {
    for (int k = team_.rank; k < count(); k += team_.lanes) {
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

  RowTeam team_;
  ColumnSlots slots_;
  index_t* columns_;
  int* count_;
};

/// Rows that have no length yet.
constexpr std::int32_t not_counted = -1;

/// The length of row i if there is room for it; in one lane of the team, or 0.
template <class O>
__device__ int count_row(ColumnSet& set, const RowTeam& team, const CsrView<const void, O>& a,
                         const CsrView<const void, std::int32_t>& b, offset_t i, std::int32_t* lengths,
                         unsigned int* is_left) {
  set.gather(SparseRows<const void, O>{a}, b, i);
  if (team.rank != 0) return 0;
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
  const RowTeam team(lanes);
  const offset_t i = team.row();
  if (i < a.rows) {
    ColumnSet set(memory, team);
    const int count = count_row(set, team, a, b, i, lengths, &counts->left);
    if (count > 0) atomicAdd(&of_cta, count);
  } else if (i == a.rows && team.rank == 0) {
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
  const RowTeam team(coarse_threads);
  // Those of all warps know which are left before the first is counted: ColumnSet waits for them.
  for_rows_left(
      a.rows, [&](offset_t i) { return lengths[i] == not_counted; },
      [&](offset_t i) {
        ColumnSet set(memory, team);
        const int count = count_row(set, team, a, b, i, lengths, &counts->too_many);
        if (count > 0) atomicAdd(&counts->columns, static_cast<unsigned long long>(count));
      });
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    list_columns_kernel(const int lanes, const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                        const std::int32_t* const offsets, index_t* const columns) {
  __shared__ ColumnSet::Memory memory;
  const RowTeam team(lanes);
  const offset_t i = team.row();
  if (i >= a.rows || offsets[i + 1] - offsets[i] > product_columns * lanes) return;
  ColumnSet set(memory, team);
  set.gather(SparseRows<const void, O>{a}, b, i);
  set.write(columns + offsets[i]);
}

template <class O>
__global__ void __launch_bounds__(coarse_threads)
    list_left_kernel(const int lanes, const CsrView<const void, O> a, const CsrView<const void, std::int32_t> b,
                     const std::int32_t* const offsets, index_t* const columns) {
  __shared__ ColumnSet::Memory memory;
  const RowTeam team(coarse_threads);
  for_rows_left(
      a.rows, [&](offset_t i) { return offsets[i + 1] - offsets[i] > product_columns * lanes; },
      [&](offset_t i) {
        ColumnSet set(memory, team);
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

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    count_basis_kernel(const detail::CoarseBasisArrays<C> z, std::int32_t* const lengths) {
  const offset_t i = thread_index();
  if (i > z.rows) return;
  const index_t g = i < z.rows ? z.group[i] : detail::no_group;
  lengths[i] = g == detail::no_group ? 0 : z.columns(g);
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    fill_basis_kernel(const detail::CoarseBasisArrays<C> z, const std::int32_t* const offsets, index_t* const columns,
                      C* const values) {
  const offset_t i = thread_index();
  if (i >= z.rows) return;
  const std::int32_t first = offsets[i], count = offsets[i + 1] - first;
  for (std::int32_t v = 0; v < count; ++v) {
    columns[first + v] = z.first_column(z.group[i]) + v;
    values[first + v] = z.value(static_cast<index_t>(i), v);
  }
}

/// Where the columns of a row have their sums: in a hash table in shared memory or, if that has no room for them, in
/// the product itself.
template <class C>
class RowSums {
 public:
  struct Memory {
    C sums[product_slots * coarse_threads];
    index_t slots[product_slots * coarse_threads];
  };

  /// All of them zero.
  __device__ RowSums(Memory& memory, const RowTeam& team, const index_t* columns, std::int32_t count, C* values)
      : slots_(memory.slots, team), columns_(columns), values_(values), count_(count) {
    sums_ = memory.sums + product_slots * (static_cast<int>(threadIdx.x) - team.rank);
    if (is_table()) {
      slots_.clear(team);
      team.sync();
      for (std::int32_t k = team.rank; k < count; k += team.lanes) {
        int slot = slots_.first(columns[k]);
        while (atomicCAS(slots_.columns + slot, ColumnSlots::empty, columns[k]) != ColumnSlots::empty)
          slot = slots_.next(slot);
        sums_[slot] = C{};
      }
    } else {
      for (std::int32_t k = team.rank; k < count; k += team.lanes) values[k] = C{};
    }
    team.sync();
  }

  __device__ void add(index_t column, C term) {
    if (is_table())
      sums_[find(column)] += term;
    else
      values_[detail::place_of(column, columns_, count_)] += term;
  }
  /// After sync().
  __device__ void write(const RowTeam& team) const {
    if (!is_table()) return;
    for (std::int32_t k = team.rank; k < count_; k += team.lanes) values_[k] = sums_[find(columns_[k])];
  }

 private:
  __device__ bool is_table() const { return count_ <= slots_.most(); }
  /// Ends for any column.
  __device__ int find(index_t column) const {
    int slot = slots_.first(column);
    for (index_t found = slots_.columns[slot]; found != column && found != ColumnSlots::empty;
         found = slots_.columns[slot])
      slot = slots_.next(slot);
    return slot;
  }

  ColumnSlots slots_;
  const index_t* columns_;
  C *values_, *sums_;
  std::int32_t count_;
};

/// Few lanes have a row, of not many columns: all share each row of B, of which no two elements go to the same sum.
/// They find it by bisection. Each lane looks where the row of B of an entry of its own is.
template <class C, class O>
__global__ void __launch_bounds__(coarse_threads)
    short_rows_product_kernel(const CsrView<C, O> a, const CsrView<C, std::int32_t> b,
                              const std::int32_t* const offsets, const index_t* const columns, C* const values) {
  __shared__ C of_cta[product_columns * coarse_threads];
  const RowTeam team(few_product_lanes);
  const offset_t i = team.row();
  if (i >= a.rows) return;
  const std::int32_t first = offsets[i], count = offsets[i + 1] - first;
  constexpr int room = product_columns * few_product_lanes;
  const bool has_room = count <= room;
  C* const sums = has_room ? of_cta + product_columns * (static_cast<int>(threadIdx.x) - team.rank) : values + first;
  for (std::int32_t k = team.rank; k < count; k += few_product_lanes) sums[k] = C{};
  team.sync_width();
  const SparseRows<C, O> rows{a};
  const offset_t end = rows.end(i);
  for (offset_t begin = rows.begin(i); begin < end; begin += few_product_lanes) {
    std::int32_t b_begin = 0, b_end = 0;
    C factor{};
    if (begin + team.rank < end) {
      const index_t j = rows.column(static_cast<O>(begin + team.rank));
      b_begin = b.row_offsets[j];
      b_end = b.row_offsets[j + 1];
      factor = a.values[begin + team.rank];
    }
    for (int source = 0; source < few_product_lanes && begin + source < end; ++source) {
      const std::int32_t last = team.broadcast(b_end, source);
      const C of_row = team.broadcast(factor, source);
      std::int32_t left = last - team.broadcast(b_begin, source) - team.rank;
      for (; left > 0; left -= few_product_lanes)
        sums[detail::place_of(b.columns[last - left], columns + first, count)] += of_row * b.values[last - left];
      team.sync_width();
    }
  }
  if (!has_room) return;
  for (std::int32_t k = team.rank; k < count; k += few_product_lanes) values[first + k] = sums[k];
}

/// `lanes` go through a row of A together. Each lane looks where the row of B of an entry of its own is, then they
/// share the rows of B one after the other, of which no two elements go to the same sum: a few of those are loaded
/// before the first is added. Warps of a thread block load theirs at the same time and add them in turn.
template <class C>
__global__ void __launch_bounds__(coarse_threads, 4)
    long_rows_product_kernel(const int lanes, const CsrView<C, std::int32_t> a, const CsrView<C, std::int32_t> b,
                             const std::int32_t* const offsets, const index_t* const columns, C* const values) {
  constexpr int ahead = 4;  // rows of B
  static_assert(32 % ahead == 0);
  __shared__ typename RowSums<C>::Memory memory;
  const RowTeam team(lanes);
  const offset_t i = team.row();
  if (i >= a.rows) return;
  const std::int32_t first = offsets[i];
  RowSums<C> sums(memory, team, columns + first, offsets[i + 1] - first, values + first);
  const SparseRows<C, std::int32_t> rows{a};
  const offset_t end = rows.end(i);
  for (offset_t begin = rows.begin(i); begin < end; begin += lanes) {
    // The entries of the round, `ahead` to each warp in turn.
    const offset_t own = begin + (team.lane / ahead * team.warps + team.warp) * ahead + team.lane % ahead;
    std::int32_t b_begin = 0, b_end = 0;
    C factor{};
    if (own < end) {
      const index_t j = rows.column(static_cast<std::int32_t>(own));
      b_begin = b.row_offsets[j];
      b_end = b.row_offsets[j + 1];
      factor = a.values[own];
    }
    for (int source = 0; source < team.width && begin + source * team.warps < end; source += ahead) {
      std::int32_t last[ahead], left[ahead];  // from the element of this lane on
      index_t column[ahead];
      C value[ahead];
#pragma unroll
      for (int r = 0; r < ahead; ++r) {
        last[r] = team.broadcast(b_end, source + r);
        left[r] = last[r] - team.broadcast(b_begin, source + r) - team.lane;
        if (left[r] > 0) {
          column[r] = b.columns[last[r] - left[r]];
          value[r] = b.values[last[r] - left[r]];
        }
      }
      for (int turn = 0; turn < team.warps; ++turn) {
        if (turn == team.warp) {
#pragma unroll
          for (int r = 0; r < ahead; ++r) {
            const C of_row = team.broadcast(factor, source + r);
            while (left[r] > 0) {
              sums.add(column[r], of_row * value[r]);
              left[r] -= team.width;
              if (left[r] <= 0) break;
              column[r] = b.columns[last[r] - left[r]];
              value[r] = b.values[last[r] - left[r]];
            }
            team.sync_width();
          }
        }
        if (team.warps > 1) __syncthreads();
      }
    }
  }
  sums.write(team);
}

/// From as many elements of P on, those of a row stand in it while they are summed up.
constexpr std::int32_t long_row_of_p = 4 * row_lanes;

/// Row i of P where it is long: all go through the row of A together, and share the columns of each aggregate.
template <class C, class O>
__device__ void smooth_long_row(const RowTeam& team, const SparseRows<C, O>& rows,
                                const detail::CoarseBasisArrays<C>& z, detail::arithmetic_real_t<C> relaxation,
                                offset_t i, const index_t* columns, std::int32_t count, C* values) {
  using R = detail::arithmetic_real_t<C>;
  for (std::int32_t k = team.lane; k < count; k += row_lanes) values[k] = C{};
  team.sync_width();
  R diagonal{};
  for (O k = rows.begin(i); k < rows.end(i); ++k) {
    const index_t j = rows.column(k), g = z.group[j];
    const C entry = rows.m.values[k];
    if (j == i) diagonal += detail::real_part(entry);
    if (g == detail::no_group) continue;
    C* const sums = values + detail::place_of(z.first_column(g), columns, count);
    for (index_t v = team.lane; v < z.columns(g); v += row_lanes) sums[v] += entry * z.value(j, v);
    team.sync_width();
  }
  const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
  const index_t group = z.group[i];
  for (std::int32_t k = team.lane; k < count; k += row_lanes) {
    const index_t v = group != detail::no_group ? columns[k] - z.first_column(group) : -1;
    const bool is_own = v >= 0 && v < z.columns(group);
    values[k] = (is_own ? z.value(static_cast<index_t>(i), v) : C{}) - factor * values[k];
  }
}

/// row_lanes have a row of P, each an element of it. Each loads an entry of A, then all go through these in order and
/// take those whose column of A Z is theirs: rows of P are short, and their sums need no memory.
template <class C, class O>
__global__ void __launch_bounds__(coarse_threads)
    smooth_basis_kernel(const CsrView<C, O> a, const detail::CoarseBasisArrays<C> z,
                        const detail::arithmetic_real_t<C> relaxation, const std::int32_t* const offsets,
                        const index_t* const columns, C* const values) {
  using R = detail::arithmetic_real_t<C>;
  const RowTeam team(row_lanes);
  const offset_t i = team.row();
  if (i >= a.rows) return;
  const SparseRows<C, O> rows{a};
  const std::int32_t length = offsets[i + 1] - offsets[i];
  if (length >= long_row_of_p)
    return smooth_long_row(team, rows, z, relaxation, i, columns + offsets[i], length, values + offsets[i]);
  const offset_t end = rows.end(i);
  const index_t group = z.group[i];
  for (offset_t element = offsets[i]; element < offsets[i + 1]; element += row_lanes) {
    const bool has = element + team.lane < offsets[i + 1];
    const index_t column = has ? columns[element + team.lane] : 0;
    C sum{};
    R diagonal{};
    for (offset_t begin = rows.begin(i); begin < end; begin += row_lanes) {
      index_t j = 0, first = 0, count = 0;
      C value{};
      if (begin + team.lane < end) {
        j = rows.column(static_cast<O>(begin + team.lane));
        value = a.values[begin + team.lane];
        const index_t g = z.group[j];
        if (g != detail::no_group) {
          first = z.first_column(g);
          count = z.columns(g);
        }
      }
#pragma unroll 1
      for (int source = 0; source < row_lanes && begin + source < end; ++source) {
        const index_t of_a = team.broadcast(j, source), of_group = team.broadcast(count, source);
        const index_t v = column - team.broadcast(first, source);
        const C factor = team.broadcast(value, source);
        if (of_a == i) diagonal += detail::real_part(factor);
        if (has && v >= 0 && v < of_group) sum += factor * z.value(of_a, v);
      }
    }
    if (!has) continue;
    const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
    const index_t v = group != detail::no_group ? column - z.first_column(group) : -1;
    const bool is_own = v >= 0 && v < z.columns(group);
    values[element + team.lane] = (is_own ? z.value(static_cast<index_t>(i), v) : C{}) - factor * sum;
  }
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    conjugate_kernel(const std::int32_t count, const std::int32_t* const order, const C* const from, C* const to) {
  const offset_t k = thread_index();
  if (k < count) to[k] = detail::conj(from[order[k]]);
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    add_product_kernel(const CsrView<C, std::int32_t> a, const C* const c, C* const x) {
  const offset_t i = thread_index();
  if (i < a.rows) x[i] += detail::row_product(a, i, c);
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

template <class C>
void count_basis(const detail::CoarseBasisArrays<C>& z, std::int32_t* lengths, CUstream_st* stream) {
  count_basis_kernel<<<ctas_of(offset_t{z.rows} + 1, "count_basis_kernel"), coarse_threads, 0, stream>>>(z, lengths);
  check_launch("count_basis_kernel");
}

template <class C>
void fill_basis(const detail::CoarseBasisArrays<C>& z, const std::int32_t* offsets, index_t* columns, C* values,
                CUstream_st* stream) {
  fill_basis_kernel<<<ctas_of(z.rows, "fill_basis_kernel"), coarse_threads, 0, stream>>>(z, offsets, columns, values);
  check_launch("fill_basis_kernel");
}

int sparse_product_lanes(const SparseProductCase& given) { return sparse_product_lanes(current_device(), given); }

template <class C, Offset O>
void sparse_product(int lanes, const CsrView<C, O>& a, const CsrView<C, std::int32_t>& b, const std::int32_t* offsets,
                    const index_t* columns, C* values, CUstream_st* stream) {
  // Long rows are those of coarser levels.
  constexpr bool is_wide = std::is_same_v<O, std::int64_t>;
  if (is_wide) lanes = few_product_lanes;
  const unsigned ctas = ctas_of(offset_t{a.rows} * lanes, "sparse_product");
  if (lanes == few_product_lanes)
    short_rows_product_kernel<<<ctas, coarse_threads, 0, stream>>>(a, b, offsets, columns, values);
  else if constexpr (!is_wide)
    long_rows_product_kernel<<<ctas, coarse_threads, 0, stream>>>(lanes, a, b, offsets, columns, values);
  check_launch("sparse_product");
}

template <class C, Offset O>
void smooth_basis(const CsrView<C, O>& a, const detail::CoarseBasisArrays<C>& z,
                  detail::arithmetic_real_t<C> relaxation, const std::int32_t* offsets, const index_t* columns,
                  C* values, CUstream_st* stream) {
  const unsigned ctas = ctas_of(offset_t{a.rows} * row_lanes, "smooth_basis_kernel");
  smooth_basis_kernel<<<ctas, coarse_threads, 0, stream>>>(a, z, relaxation, offsets, columns, values);
  check_launch("smooth_basis_kernel");
}

template <class C>
void conjugate(std::int32_t count, const std::int32_t* order, const C* from, C* to, CUstream_st* stream) {
  conjugate_kernel<<<ctas_of(count, "conjugate_kernel"), coarse_threads, 0, stream>>>(count, order, from, to);
  check_launch("conjugate_kernel");
}

template <class C>
void add_product(const CsrView<C, std::int32_t>& a, const C* c, C* x, CUstream_st* stream) {
  add_product_kernel<<<ctas_of(a.rows, "add_product_kernel"), coarse_threads, 0, stream>>>(a, c, x);
  check_launch("add_product_kernel");
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

#define BLOCKJACOBI_INSTANTIATE_BY_ROWS(C, O)                                                                         \
  template void sparse_product(int, const CsrView<C, O>&, const CsrView<C, std::int32_t>&, const std::int32_t*,       \
                               const index_t*, C*, CUstream_st*);                                                     \
  template void smooth_basis(const CsrView<C, O>&, const detail::CoarseBasisArrays<C>&, detail::arithmetic_real_t<C>, \
                             const std::int32_t*, const index_t*, C*, CUstream_st*)
#define BLOCKJACOBI_INSTANTIATE(C)                                                                                \
  template void count_basis(const detail::CoarseBasisArrays<C>&, std::int32_t*, CUstream_st*);                    \
  template void fill_basis(const detail::CoarseBasisArrays<C>&, const std::int32_t*, index_t*, C*, CUstream_st*); \
  template void conjugate(std::int32_t, const std::int32_t*, const C*, C*, CUstream_st*);                         \
  template void add_product(const CsrView<C, std::int32_t>&, const C*, C*, CUstream_st*);                         \
  BLOCKJACOBI_INSTANTIATE_BY_ROWS(C, std::int32_t);                                                               \
  BLOCKJACOBI_INSTANTIATE_BY_ROWS(C, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_BY_ROWS

}  // namespace blockjacobi::kernels
