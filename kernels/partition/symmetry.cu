#include "core/shared/symmetry_rule.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/list_kernels.cuh"
#include "kernels/partition/sorted_row.cuh"

// Each entry looks for the one that stands opposite of it.

namespace blockjacobi::kernels {

namespace {

/// Lanes that go through a row together.
constexpr int row_lanes = 8;

template <class C, class O>
__global__ void __launch_bounds__(list_threads)
    count_unequal_kernel(const CsrView<const C, O> a, const double tolerance, UnequalCounts* const counts) {
  const auto base = static_cast<index_t>(a.base);
  bool symmetric = true, hermitian = true;
  for (offset_t i = first_index() / row_lanes; i < a.rows; i += index_step() / row_lanes) {
    const offset_t end = a.row_offsets[i + 1] - base;
    for (offset_t k = a.row_offsets[i] - base + threadIdx.x % row_lanes; k < end && (symmetric || hermitian);
         k += row_lanes) {
      const offset_t j = a.columns[k] - base;
      const offset_t row_end = a.row_offsets[j + 1] - base;
      const offset_t back =
          first_not_below(a.columns, offset_t{a.row_offsets[j]} - base, row_end, static_cast<index_t>(i) + base);
      const bool there = back < row_end && a.columns[back] - base == i;
      const C own = a.values[k], opposite = there ? a.values[back] : C{};
      symmetric = symmetric && detail::is_equal_within(own, opposite, tolerance);
      hermitian = hermitian && detail::is_equal_within(own, detail::conj(opposite), tolerance);
    }
  }
  if (!symmetric) counts->symmetric = 1;
  if (!hermitian) counts->hermitian = 1;
}

}  // namespace

template <class C, Offset O>
void count_unequal(const CsrView<const C, O>& matrix, double tolerance, UnequalCounts* counts, CUstream_st* stream) {
  count_unequal_kernel<<<ctas_for(offset_t{matrix.rows} * row_lanes, list_threads), list_threads, 0, stream>>>(
      matrix, tolerance, counts);
  check_launch("count_unequal_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                            \
  template void count_unequal(const CsrView<const C, std::int32_t>&, double, UnequalCounts*, CUstream_st*);  \
  template void count_unequal(const CsrView<const C, std::int64_t>&, double, UnequalCounts*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
