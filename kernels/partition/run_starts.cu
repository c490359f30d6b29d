#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"

namespace blockjacobi::kernels {

namespace {

constexpr int match_threads = striding_policy.threads;

/// The columns of a row.
struct ColumnList {
  const index_t* columns;
  offset_t size;
};

/// Bit 32 / W g + r of a vote of the groups of W lanes.
template <int W>
__device__ bool vote_of_group(unsigned votes, int group) {
  constexpr unsigned members = W == 32 ? ~0u : (1u << W % 32) - 1u;
  return (votes >> (group * W) & members) != 0;
}

/// A warp makes one word. W lanes have a row and the one before it, entry by entry: rows with equal lists match; other
/// lists that increase strictly do not, if the sets have to be equal; what remains is undecided.
template <int W, class O>
__global__ void __launch_bounds__(match_threads)
    match_lists_kernel(const CsrView<const void, O> pattern, const bool exact, const PatternCounts* const check,
                       std::uint32_t* const starts, std::uint32_t* const undecided) {
  constexpr int groups = 32 / W;
  const int lane = static_cast<int>(threadIdx.x) % 32, rank = lane % W, group = lane / W;
  const index_t rows = pattern.rows;
  const auto* const columns = pattern.columns;
  const auto offset = [&](offset_t row) {
    return offset_t{pattern.row_offsets[max(min(row, offset_t{rows}), offset_t{0})]} -
           static_cast<offset_t>(pattern.base);
  };
  const offset_t words = (offset_t{rows} + 31) / 32;
  const offset_t step = offset_t{gridDim.x} * (match_threads / 32);
  const bool faulty = check != nullptr && check->faults != 0;
  for (offset_t word = (offset_t{blockIdx.x} * match_threads + threadIdx.x) / 32; word < words; word += step) {
    if (faulty) {
      if (lane == 0) {
        starts[word] = ~0u >> max(offset_t{0}, word * 32 + 32 - rows);
        undecided[word] = 0;
      }
      continue;
    }
    const offset_t first = word * 32;
    const offset_t own = offset(first + lane), before = offset(first - 1), after = offset(first + 32);
    bool starts_here = false, is_undecided = false;
    for (int pass = 0; pass < W; ++pass) {
      const int r = pass * groups + group;
      const offset_t left = __shfl_sync(~0u, own, (r + 31) % 32), right = __shfl_sync(~0u, own, (r + 1) % 32);
      const offset_t begin = __shfl_sync(~0u, own, r);
      const ColumnList p{columns + (r == 0 ? before : left), begin - (r == 0 ? before : left)};
      const ColumnList q{columns + begin, (r == 31 ? after : right) - begin};
      bool differs = p.size != q.size, unordered = false;
      for (offset_t t = rank; t < max(p.size, q.size); t += W) {
        if (t < p.size && t < q.size) differs = differs || p.columns[t] != q.columns[t];
        if (t > 0 && t < p.size) unordered = unordered || p.columns[t - 1] >= p.columns[t];
        if (t > 0 && t < q.size) unordered = unordered || q.columns[t - 1] >= q.columns[t];
      }
      const unsigned different = __ballot_sync(~0u, differs), disordered = __ballot_sync(~0u, unordered);
      if (lane / groups == pass) {  // this lane keeps the outcome of row first + lane
        starts_here = vote_of_group<W>(different, lane % groups);
        is_undecided = starts_here && (!exact || vote_of_group<W>(disordered, lane % groups));
      }
    }
    const offset_t row = first + lane;
    const unsigned start_bits = __ballot_sync(~0u, row < rows && (starts_here || row == 0));
    const unsigned undecided_bits = __ballot_sync(~0u, row < rows && row > 0 && is_undecided);
    if (lane == 0) {
      starts[word] = start_bits;
      undecided[word] = undecided_bits;
    }
  }
}

/// A warp looks at one list.
__device__ bool increases_strictly(const ColumnList& list, int lane) {
  bool unordered = false;
  for (offset_t t = lane + 1; t < list.size; t += 32) unordered = unordered || list.columns[t - 1] >= list.columns[t];
  return __any_sync(~0u, unordered) == 0;
}

__device__ bool contains(const ColumnList& list, bool ordered, index_t column) {
  if (!ordered) {
    for (offset_t t = 0; t < list.size; ++t)
      if (list.columns[t] == column) return true;
    return false;
  }
  offset_t low = 0;
  for (offset_t high = list.size; low < high;) {
    const offset_t middle = (low + high) / 2;
    if (list.columns[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low < list.size && list.columns[low] == column;
}

/// Different columns of `list`, and how many of them `other` has.
struct Overlap {
  index_t distinct;
  index_t common;
};
__device__ Overlap overlap_of(const ColumnList& list, bool ordered, const ColumnList& other, bool other_ordered,
                              int lane) {
  int distinct = 0, common = 0;
  for (offset_t t = lane; t < list.size; t += 32) {
    const index_t column = list.columns[t];
    if (!ordered && contains({list.columns, t}, false, column)) continue;  // seen before
    ++distinct;
    common += contains(other, other_ordered, column);
  }
  return {__reduce_add_sync(~0u, distinct), __reduce_add_sync(~0u, common)};
}

/// The undecided rows, as sets; a warp has one word.
template <class O>
__global__ void __launch_bounds__(match_threads)
    match_sets_kernel(const CsrView<const void, O> pattern, const double tolerance,
                      const std::uint32_t* const undecided, std::uint32_t* const starts) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const offset_t words = (offset_t{pattern.rows} + 31) / 32;
  const offset_t step = offset_t{gridDim.x} * (match_threads / 32);
  const auto list = [&](offset_t row) {
    const offset_t begin = pattern.row_offsets[row], end = pattern.row_offsets[row + 1];
    return ColumnList{pattern.columns + (begin - static_cast<offset_t>(pattern.base)), end - begin};
  };
  for (offset_t word = (offset_t{blockIdx.x} * match_threads + threadIdx.x) / 32; word < words; word += step) {
    const unsigned open = undecided[word];
    unsigned matched = 0;
    for (unsigned rest = open; rest != 0; rest &= rest - 1) {
      const int bit = __ffs(static_cast<int>(rest)) - 1;
      const ColumnList p = list(word * 32 + bit - 1), q = list(word * 32 + bit);
      const bool p_ordered = increases_strictly(p, lane), q_ordered = increases_strictly(q, lane);
      const Overlap of_p = overlap_of(p, p_ordered, q, q_ordered, lane);
      const index_t of_q = q_ordered ? static_cast<index_t>(q.size) : overlap_of(q, false, p, p_ordered, lane).distinct;
      const offset_t together = offset_t{of_p.distinct} + of_q - of_p.common;
      if (static_cast<double>(together - of_p.common) <= tolerance * static_cast<double>(together))
        matched |= 1u << bit;
    }
    if (lane == 0 && matched != 0) starts[word] &= ~matched;
  }
}

template <int W, Offset O>
void match_lists(const CsrView<const void, O>& pattern, bool exact, const PatternCounts* check, std::uint32_t* starts,
                 std::uint32_t* undecided, unsigned ctas, CUstream_st* stream) {
  if constexpr (W < 32)
    if (offset_t{W} * pattern.rows < pattern.nnz)
      return match_lists<2 * W>(pattern, exact, check, starts, undecided, ctas, stream);
  match_lists_kernel<W, O><<<ctas, match_threads, 0, stream>>>(pattern, exact, check, starts, undecided);
  check_launch("match_lists_kernel");
}

}  // namespace

template <Offset O>
void find_run_starts(const CsrView<const void, O>& pattern, double tolerance, const PatternCounts* check,
                     std::uint32_t* starts, std::uint32_t* undecided, CUstream_st* stream) {
  const auto words = static_cast<offset_t>(row_set_words(pattern.rows));
  const unsigned ctas = persistent_ctas(striding_policy, (words + match_threads / 32 - 1) / (match_threads / 32));
  // Lanes a row by the mean number of entries.
  match_lists<2>(pattern, tolerance == 0.0, check, starts, undecided, ctas, stream);
  match_sets_kernel<O><<<ctas, match_threads, 0, stream>>>(pattern, tolerance, undecided, starts);
  check_launch("match_sets_kernel");
}

template void find_run_starts(const CsrView<const void, std::int32_t>&, double, const PatternCounts*, std::uint32_t*,
                              std::uint32_t*, CUstream_st*);
template void find_run_starts(const CsrView<const void, std::int64_t>&, double, const PatternCounts*, std::uint32_t*,
                              std::uint32_t*, CUstream_st*);

}  // namespace blockjacobi::kernels
