#include "core/shared/sparse_rows.hpp"
#include "kernels/coarse/launch_grid.cuh"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/row_lanes.cuh"
#include "kernels/collectives/arithmetic.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

namespace {

using detail::SparseRows;

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
  __device__ RowSums(Memory& memory, const RowLanes& members, const index_t* columns, std::int32_t count, C* values)
      : slots_(memory.slots, members), columns_(columns), values_(values), count_(count) {
    sums_ = memory.sums + product_slots * (static_cast<int>(threadIdx.x) - members.rank);
    if (is_table()) {
      slots_.clear(members);
      members.sync();
      for (std::int32_t k = members.rank; k < count; k += members.lanes) {
        int slot = slots_.first(columns[k]);
        while (atomicCAS(slots_.columns + slot, ColumnSlots::empty, columns[k]) != ColumnSlots::empty)
          slot = slots_.next(slot);
        sums_[slot] = C{};
      }
    } else {
      for (std::int32_t k = members.rank; k < count; k += members.lanes) values[k] = C{};
    }
    members.sync();
  }

  /// a b to the sum of a column, with one rounding of real numbers whatever the lanes are.
  __device__ void add(index_t column, C a, C b) {
    const auto add_to = [a, b](C& sum) { sum = fused_add(sum, a, b); };
    if (is_table())
      add_to(sums_[find(column)]);
    else
      add_to(values_[detail::place_of(column, columns_, count_)]);
  }
  /// After sync().
  __device__ void write(const RowLanes& members) const {
    if (!is_table()) return;
    for (std::int32_t k = members.rank; k < count_; k += members.lanes) values_[k] = sums_[find(columns_[k])];
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
  const RowLanes members(few_product_lanes);
  const offset_t i = members.row();
  if (i >= a.rows) return;
  const std::int32_t first = offsets[i], count = offsets[i + 1] - first;
  constexpr int room = product_columns * few_product_lanes;
  const bool has_room = count <= room;
  C* const sums = has_room ? of_cta + product_columns * (static_cast<int>(threadIdx.x) - members.rank) : values + first;
  for (std::int32_t k = members.rank; k < count; k += few_product_lanes) sums[k] = C{};
  members.sync_width();
  const SparseRows<C, O> rows{a};
  const offset_t end = rows.end(i);
  for (offset_t begin = rows.begin(i); begin < end; begin += few_product_lanes) {
    std::int32_t b_begin = 0, b_end = 0;
    C factor{};
    if (begin + members.rank < end) {
      const index_t j = rows.column(static_cast<O>(begin + members.rank));
      b_begin = b.row_offsets[j];
      b_end = b.row_offsets[j + 1];
      factor = a.values[begin + members.rank];
    }
    for (int source = 0; source < few_product_lanes && begin + source < end; ++source) {
      const std::int32_t last = members.broadcast(b_end, source);
      const C of_row = members.broadcast(factor, source);
      std::int32_t left = last - members.broadcast(b_begin, source) - members.rank;
      for (; left > 0; left -= few_product_lanes) {
        C& sum = sums[detail::place_of(b.columns[last - left], columns + first, count)];
        sum = fused_add(sum, of_row, b.values[last - left]);
      }
      members.sync_width();
    }
  }
  if (!has_room) return;
  for (std::int32_t k = members.rank; k < count; k += few_product_lanes) values[first + k] = sums[k];
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
  const RowLanes members(lanes);
  const offset_t i = members.row();
  if (i >= a.rows) return;
  const std::int32_t first = offsets[i];
  RowSums<C> sums(memory, members, columns + first, offsets[i + 1] - first, values + first);
  const SparseRows<C, std::int32_t> rows{a};
  const offset_t end = rows.end(i);
  for (offset_t begin = rows.begin(i); begin < end; begin += lanes) {
    // The entries of the round, `ahead` to each warp in turn.
    const offset_t own = begin + (members.lane / ahead * members.warps + members.warp) * ahead + members.lane % ahead;
    std::int32_t b_begin = 0, b_end = 0;
    C factor{};
    if (own < end) {
      const index_t j = rows.column(static_cast<std::int32_t>(own));
      b_begin = b.row_offsets[j];
      b_end = b.row_offsets[j + 1];
      factor = a.values[own];
    }
    for (int source = 0; source < members.width && begin + source * members.warps < end; source += ahead) {
      std::int32_t last[ahead], left[ahead];  // from the element of this lane on
      index_t column[ahead];
      C value[ahead];
#pragma unroll
      for (int r = 0; r < ahead; ++r) {
        last[r] = members.broadcast(b_end, source + r);
        left[r] = last[r] - members.broadcast(b_begin, source + r) - members.lane;
        if (left[r] > 0) {
          column[r] = b.columns[last[r] - left[r]];
          value[r] = b.values[last[r] - left[r]];
        }
      }
      for (int turn = 0; turn < members.warps; ++turn) {
        if (turn == members.warp) {
#pragma unroll
          for (int r = 0; r < ahead; ++r) {
            const C of_row = members.broadcast(factor, source + r);
            while (left[r] > 0) {
              sums.add(column[r], of_row, value[r]);
              left[r] -= members.width;
              if (left[r] <= 0) break;
              column[r] = b.columns[last[r] - left[r]];
              value[r] = b.values[last[r] - left[r]];
            }
            members.sync_width();
          }
        }
        if (members.warps > 1) __syncthreads();
      }
    }
  }
  sums.write(members);
}

/// From as many elements of P on, those of a row stand in it while they are summed up.
constexpr std::int32_t long_row_of_p = 4 * row_lanes;

/// Row i of P where it is long: all go through the row of A together, and share the columns of each aggregate.
template <class C, class O>
__device__ void smooth_long_row(const RowLanes& members, const SparseRows<C, O>& rows,
                                const detail::CoarseBasisArrays<C>& z, detail::arithmetic_real_t<C> relaxation,
                                offset_t i, const index_t* columns, std::int32_t count, C* values) {
  using R = detail::arithmetic_real_t<C>;
  for (std::int32_t k = members.lane; k < count; k += row_lanes) values[k] = C{};
  members.sync_width();
  R diagonal{};
  for (O k = rows.begin(i); k < rows.end(i); ++k) {
    const index_t j = rows.column(k), g = z.group[j];
    const C entry = rows.m.values[k];
    if (j == i) diagonal += detail::real_part(entry);
    if (g == detail::no_group) continue;
    C* const sums = values + detail::place_of(z.first_column(g), columns, count);
    for (index_t v = members.lane; v < z.columns(g); v += row_lanes) sums[v] += entry * z.value(j, v);
    members.sync_width();
  }
  const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
  const index_t group = z.group[i];
  for (std::int32_t k = members.lane; k < count; k += row_lanes) {
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
  const RowLanes members(row_lanes);
  const offset_t i = members.row();
  if (i >= a.rows) return;
  const SparseRows<C, O> rows{a};
  const std::int32_t length = offsets[i + 1] - offsets[i];
  if (length >= long_row_of_p)
    return smooth_long_row(members, rows, z, relaxation, i, columns + offsets[i], length, values + offsets[i]);
  const offset_t end = rows.end(i);
  const index_t group = z.group[i];
  for (offset_t element = offsets[i]; element < offsets[i + 1]; element += row_lanes) {
    const bool has = element + members.lane < offsets[i + 1];
    const index_t column = has ? columns[element + members.lane] : 0;
    C sum{};
    R diagonal{};
    for (offset_t begin = rows.begin(i); begin < end; begin += row_lanes) {
      index_t j = 0, first = 0, count = 0;
      C value{};
      if (begin + members.lane < end) {
        j = rows.column(static_cast<O>(begin + members.lane));
        value = a.values[begin + members.lane];
        const index_t g = z.group[j];
        if (g != detail::no_group) {
          first = z.first_column(g);
          count = z.columns(g);
        }
      }
#pragma unroll 1
      for (int source = 0; source < row_lanes && begin + source < end; ++source) {
        const index_t of_a = members.broadcast(j, source), of_group = members.broadcast(count, source);
        const index_t v = column - members.broadcast(first, source);
        const C factor = members.broadcast(value, source);
        if (of_a == i) diagonal += detail::real_part(factor);
        if (has && v >= 0 && v < of_group) sum += factor * z.value(of_a, v);
      }
    }
    if (!has) continue;
    const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
    const index_t v = group != detail::no_group ? column - z.first_column(group) : -1;
    const bool is_own = v >= 0 && v < z.columns(group);
    values[element + members.lane] = (is_own ? z.value(static_cast<index_t>(i), v) : C{}) - factor * sum;
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
  constexpr bool is_wide = std::is_same_v<O, std::int64_t>;
  const unsigned ctas = ctas_of(offset_t{a.rows} * lanes, "sparse_product");
  if (is_wide || lanes == few_product_lanes)
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
