#include "core/shared/symmetry_rule.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/list_kernels.cuh"
#include "kernels/partition/sorted_row.cuh"

// Each entry looks for the one that stands opposite of it: also those of the lower triangle, whose opposite may be
// missing.

namespace blockjacobi::kernels {

namespace {

/// Lanes that go through a row together.
constexpr int row_lanes = 8;

/// What an earlier row has decided is not looked at again. Threads write the same value, and it is enough if some of
/// the later ones see it.
template <class C, class O>
struct CompareRows {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  CsrView<const C, O> matrix;
  double tolerance;
  UnequalCounts* counts;

  __device__ offset_t base() const { return static_cast<offset_t>(matrix.base); }
  __device__ offset_t begin(offset_t row) const { return offset_t{matrix.row_offsets[row]} - base(); }
  __device__ offset_t length(index_t row) const { return begin(row + offset_t{1}) - begin(row); }
  /// a_ij, zero where there is none.
  __device__ C element(offset_t i, offset_t j) const {
    const offset_t end = begin(i + 1), column = j + base();
    const offset_t k = first_not_below(matrix.columns, begin(i), end, column);
    return k < end && matrix.columns[k] == column ? matrix.values[k] : C{};
  }
  template <class Members>
  __device__ void run(const Members& members, index_t i) const {
    detail::PossibleSymmetry<C> possible;
    possible.symmetric = counts->symmetric == 0;
    possible.hermitian = possible.hermitian && counts->hermitian == 0;
    const detail::PossibleSymmetry<C> before = possible;
    const offset_t end = begin(i + offset_t{1});
    for (offset_t k = begin(i) + members.rank(); k < end && !possible.none(); k += members.size()) {
      const offset_t j = matrix.columns[k] - base();
      const auto mean_of_diagonal = [&] { return detail::geometric_mean(element(i, i), element(j, j)); };
      possible.look_at(matrix.values[k], element(j, i), tolerance, mean_of_diagonal);
    }
    if (possible.symmetric != before.symmetric) counts->symmetric = 1;
    if (possible.hermitian != before.hermitian) counts->hermitian = 1;
  }
};

}  // namespace

template <class C, Offset O>
void count_unequal(const CsrView<const C, O>& matrix, double tolerance, UnequalCounts* counts, CUstream_st* stream) {
  const CompareRows<C, O> compare{matrix.rows, matrix, tolerance, counts};
  work_on_short_lists<row_lanes, true>(compare, "compare_rows", stream);
  work_on_long_lists(compare, longest_of_warp, {nullptr, nullptr, 0, list_table_ctas}, "compare_rows", stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                          \
  template void count_unequal(const CsrView<const C, std::int32_t>&, double, UnequalCounts*, CUstream_st*); \
  template void count_unequal(const CsrView<const C, std::int64_t>&, double, UnequalCounts*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
