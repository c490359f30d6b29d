#include "core/shared/cluster_rules.hpp"
#include "core/shared/coupling.hpp"
#include "kernels/partition/list_kernels.cuh"
#include "kernels/partition/sorted_row.cuh"

// The strength graph of the rows, by lists that stand where the rows of the matrix do: a row finds a_ji of each of its
// a_ij. Where the pattern is not symmetric, rows lack entries, which are counted first and appended then.

namespace blockjacobi::kernels {

namespace {

template <class C, class O>
struct Rows {
  CsrView<const C, O> matrix;

  __device__ offset_t base() const { return static_cast<offset_t>(matrix.base); }
  __device__ offset_t begin(offset_t row) const { return offset_t{matrix.row_offsets[row]} - base(); }
  __device__ index_t length(offset_t row) const { return static_cast<index_t>(begin(row + 1) - begin(row)); }
  __device__ index_t column(offset_t k) const { return static_cast<index_t>(matrix.columns[k] - base()); }
};

struct Scale {
  double diagonal = 0.0, largest = 0.0;
};

template <class C, class O>
struct ScaleRows {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  Rows<C, O> rows;
  double* roots;

  __device__ offset_t length(index_t row) const { return rows.length(row); }
  template <class Members>
  __device__ void run(const Members& members, index_t row) const {
    const offset_t begin = rows.begin(row), end = rows.begin(row + offset_t{1});
    Scale scale;
    for (offset_t k = begin + members.rank(); k < end; k += members.size()) {
      const double value = detail::magnitude(rows.matrix.values[k]);
      scale.largest = fmax(scale.largest, value);  // skips NaN
      if (rows.column(k) == row) scale.diagonal = fmax(scale.diagonal, value);
    }
    scale = members.reduce(scale, [](const Scale& a, const Scale& b) {
      return Scale{fmax(a.diagonal, b.diagonal), fmax(a.largest, b.largest)};
    });
    if (members.rank() == 0) roots[row] = sqrt(detail::row_scale(scale.diagonal, scale.largest));
  }
};

template <class C, class O>
struct SumRows {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  Rows<C, O> rows;
  const double* roots;
  CouplingSums* sums;

  __device__ offset_t length(index_t row) const { return rows.length(row); }
  template <class Members>
  __device__ void run(const Members& members, index_t row) const {
    const offset_t begin = rows.begin(row), end = rows.begin(row + offset_t{1});
    const double root = roots[row];
    CouplingSums sum{};
    for (offset_t k = begin + members.rank(); k < end; k += members.size()) {
      const index_t j = rows.column(k);
      const C value = rows.matrix.values[k];
      const double size = detail::magnitude(value);
      if (j == row || !(size > 0.0)) continue;
      const double strength = detail::rounded_strength(size, root * roots[j]);
      const double real = detail::real_part(value);
      sum.all += in_units(strength);
      if (real > 0.0) sum.positive += in_units(strength * fmin(1.0, real / size));  // skips the NaN of Inf
    }
    sum = members.reduce(sum, [](const CouplingSums& a, const CouplingSums& b) {
      return CouplingSums{a.all + b.all, a.positive + b.positive};
    });
    if (members.rank() != 0) return;
    CouplingSums& out = sums[row % coupling_sums];
    atomicAdd(&out.all, sum.all);
    if (sum.positive != 0) atomicAdd(&out.positive, sum.positive);
  }
  __device__ static unsigned long long in_units(double strength) {
    return static_cast<unsigned long long>(strength * 0x1p32);
  }
};

/// The list of row i, and, with `appends`, i in the lists of the rows that lack it.
template <class C, class O>
struct TieRows {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  Rows<C, O> rows;
  const double* roots;
  GraphLists graph;
  index_t* taken;
  bool appends;
  ListCounts* counts;

  __device__ offset_t length(index_t row) const { return rows.length(row); }
  template <class Members>
  __device__ void run(const Members& members, index_t i) const {
    const offset_t row_begin = rows.begin(i), begin = graph.begin[i];
    const index_t size = rows.length(i);
    const double root = roots[i];
    for (index_t k = members.rank(); k < size; k += members.size()) {
      const index_t j = rows.column(row_begin + k);
      double weight = 0.0;
      bool is_edge = false;
      if (j != i) {
        const double scale = root * roots[j];
        const double value = detail::magnitude(rows.matrix.values[row_begin + k]);
        if (value > 0.0) {
          weight = detail::rounded_strength(value, scale);
          is_edge = true;
        }
        const offset_t end = rows.begin(j + offset_t{1});
        const offset_t back = first_not_below(rows.matrix.columns, rows.begin(j), end, i + rows.base());
        if (back < end && rows.column(back) == i) {
          const double other = detail::magnitude(rows.matrix.values[back]);
          if (other > 0.0) {
            weight += detail::rounded_strength(other, scale);
            is_edge = true;
          }
        } else if (is_edge) {
          append(i, j, weight);
        }
      }
      graph.neighbours[begin + k] = is_edge ? j : i;
      graph.weights[begin + k] = weight;
    }
  }
  __device__ void append(index_t i, index_t j, double weight) const {
    const index_t place = atomicAdd(taken + j, 1);
    counts->lacking = 1;
    if (!appends) return;
    const offset_t entry = graph.begin[j] + rows.length(j) + place;
    graph.neighbours[entry] = i;
    graph.weights[entry] = weight;
  }
};

template <class O>
__global__ void __launch_bounds__(list_threads)
    measure_rows_kernel(const Rows<void, O> rows, const index_t* const taken, ListSum* const sums,
                        unsigned long long* const longest) {
  offset_t most = 0;
  for (offset_t i = first_index(); i < rows.matrix.rows; i += index_step()) {
    const index_t length = rows.length(i) + taken[i];
    sums[i] = {length, 1};
    most = max(most, offset_t{length});
  }
  raise(longest, most);
}

template <class O>
__global__ void __launch_bounds__(list_threads)
    place_rows_kernel(const Rows<void, O> rows, const ListSum* const sums, index_t* const taken, const GraphLists graph,
                      ListCounts* const counts) {
  offset_t most = 0;
  for (offset_t i = first_index(); i < rows.matrix.rows; i += index_step()) {
    const index_t length = rows.length(i) + (sums != nullptr ? taken[i] : 0);
    graph.begin[i] = sums != nullptr ? sums[i].entries - length : rows.begin(i);
    graph.length[i] = length;
    taken[i] = 0;
    most = max(most, offset_t{length});
  }
  raise(&counts->longest, most);
}

}  // namespace

template <Offset O>
void place_rows(const CsrView<const void, O>& pattern, const ListSum* sums, index_t* taken, const GraphLists& graph,
                ListCounts* counts, CUstream_st* stream) {
  place_rows_kernel<O><<<ctas_for(pattern.rows, list_threads), list_threads, 0, stream>>>(Rows<void, O>{pattern}, sums,
                                                                                          taken, graph, counts);
  check_launch("place_rows_kernel");
}

template <Offset O>
void measure_rows(const CsrView<const void, O>& pattern, const index_t* taken, ListSum* sums,
                  unsigned long long* longest, CUstream_st* stream) {
  measure_rows_kernel<O>
      <<<ctas_for(pattern.rows, list_threads), list_threads, 0, stream>>>(Rows<void, O>{pattern}, taken, sums, longest);
  check_launch("measure_rows_kernel");
}

template <class C, Offset O>
void scale_rows(const CsrView<const C, O>& matrix, offset_t longest, double* roots, CUstream_st* stream) {
  work_by_lanes<8>(ScaleRows<C, O>{matrix.rows, {matrix}, roots}, longest, "scale_rows", stream);
}

template <class C, Offset O>
void sum_couplings(const CsrView<const C, O>& matrix, offset_t longest, const double* roots, CouplingSums* sums,
                   CUstream_st* stream) {
  work_by_lanes<8>(SumRows<C, O>{matrix.rows, {matrix}, roots, sums}, longest, "sum_couplings", stream);
}

template <class C, Offset O>
void tie_rows(const CsrView<const C, O>& matrix, offset_t longest, const double* roots, const GraphLists& graph,
              index_t* taken, bool appends, ListCounts* counts, CUstream_st* stream) {
  work_by_lanes<8>(TieRows<C, O>{matrix.rows, {matrix}, roots, graph, taken, appends, counts}, longest, "tie_rows",
                   stream);
}

#define BLOCKJACOBI_INSTANTIATE_FOR(C, O)                                                                        \
  template void scale_rows(const CsrView<const C, O>&, offset_t, double*, CUstream_st*);                         \
  template void sum_couplings(const CsrView<const C, O>&, offset_t, const double*, CouplingSums*, CUstream_st*); \
  template void tie_rows(const CsrView<const C, O>&, offset_t, const double*, const GraphLists&, index_t*, bool, \
                         ListCounts*, CUstream_st*)
#define BLOCKJACOBI_INSTANTIATE(O)                                                                                  \
  template void place_rows(const CsrView<const void, O>&, const ListSum*, index_t*, const GraphLists&, ListCounts*, \
                           CUstream_st*);                                                                           \
  template void measure_rows(const CsrView<const void, O>&, const index_t*, ListSum*, unsigned long long*,          \
                             CUstream_st*);                                                                         \
  BLOCKJACOBI_INSTANTIATE_FOR(float, O);                                                                            \
  BLOCKJACOBI_INSTANTIATE_FOR(double, O);                                                                           \
  BLOCKJACOBI_INSTANTIATE_FOR(detail::Complex<float>, O);                                                           \
  BLOCKJACOBI_INSTANTIATE_FOR(detail::Complex<double>, O)
BLOCKJACOBI_INSTANTIATE(std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi::kernels
