#include "core/shared/coupling.hpp"
#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"
#include "kernels/partition/sorted_row.cuh"

// Merge::coupled. A supervariable goes by its first row, so that nothing needs the numbers of blocks. Maxima are taken
// by atomic operations on integers, whose order does not matter.

namespace blockjacobi::kernels {

namespace {

constexpr int coupling_threads = striding_policy.threads;

/// A row for each thread.
__device__ offset_t first_index() { return offset_t{blockIdx.x} * coupling_threads + threadIdx.x; }
__device__ offset_t index_step() { return offset_t{gridDim.x} * coupling_threads; }

/// The first row of the supervariable of a row.
__device__ index_t first_row_of(const std::uint32_t* starts, index_t row) {
  index_t word = row / 32;
  std::uint32_t bits = starts[word] & ~0u >> (31 - row % 32);
  while (bits == 0) bits = starts[--word];  // row 0 is a start
  return word * 32 + 31 - __clz(static_cast<int>(bits));
}

/// The first row of the next supervariable; `rows` behind the last.
__device__ index_t next_row_of(const std::uint32_t* starts, index_t row, index_t rows) {
  const index_t words = (rows - 1) / 32 + 1;
  const index_t next = row + 1;
  if (next == rows) return rows;
  index_t word = next / 32;
  std::uint32_t bits = starts[word] & ~0u << next % 32;
  while (bits == 0) {
    if (++word == words) return rows;
    bits = starts[word];
  }
  return word * 32 + __ffs(static_cast<int>(bits)) - 1;
}

/// visit(column, |a|) for the entries of a sorted row in the columns first .. last - 1.
template <class C, class O, class Visit>
__device__ void for_each_entry(const CsrView<const C, O>& matrix, offset_t row, offset_t first, offset_t last,
                               Visit visit) {
  const auto base = static_cast<offset_t>(matrix.base);
  const offset_t end = matrix.row_offsets[row + 1] - base;
  offset_t k = first_not_below(matrix.columns, matrix.row_offsets[row] - base, end, first + base);
  for (; k < end && matrix.columns[k] < last + base; ++k)
    visit(static_cast<index_t>(matrix.columns[k] - base), detail::magnitude(matrix.values[k]));
}

/// largest[I] = |A_II|, which is 0 before. The bits of doubles that are not negative are ordered as the doubles are.
template <class C, class O>
__global__ void __launch_bounds__(coupling_threads)
    largest_of_blocks_kernel(const CsrView<const C, O> matrix, const std::uint32_t* const starts,
                             double* const largest) {
  for (offset_t i = first_index(); i < matrix.rows; i += index_step()) {
    const auto row = static_cast<index_t>(i);
    const index_t own = first_row_of(starts, row);
    double most = 0.0;
    for_each_entry(matrix, row, own, next_row_of(starts, row, matrix.rows),
                   [&](index_t, double value) { most = fmax(most, value); });  // skips NaN
    if (most > 0.0)
      atomicMax(reinterpret_cast<unsigned long long*>(largest + own),
                static_cast<unsigned long long>(__double_as_longlong(most)));
  }
}

/// last[J] = the last supervariable before J that is strongly coupled to it; -1 before. Entries further than max_size
/// from the diagonal decide nothing: what they couple does not fit into a block.
template <class C, class O>
__global__ void __launch_bounds__(coupling_threads)
    last_coupled_kernel(const CsrView<const C, O> matrix, const index_t max_size, const double threshold,
                        const std::uint32_t* const starts, const double* const largest, index_t* const last) {
  for (offset_t row = first_index(); row < matrix.rows; row += index_step()) {
    const index_t own = first_row_of(starts, static_cast<index_t>(row));
    const double own_root = sqrt(largest[own]);
    index_t last_before = -1;
    for_each_entry(matrix, row, row - max_size + 1, row + max_size, [&](index_t column, double value) {
      const index_t other = first_row_of(starts, column);
      if (other == own) return;
      const double other_root = sqrt(largest[other]);
      if (other < own) {
        if (detail::couples(value, other_root, own_root, threshold)) last_before = max(last_before, other);
      } else {
        if (detail::couples(value, own_root, other_root, threshold)) atomicMax(last + other, own);
      }
    });
    if (last_before >= 0) atomicMax(last + own, last_before);
  }
}

/// A thread walks from the first row of a supervariable over those that join it.
__global__ void __launch_bounds__(coupling_threads)
    coupled_lengths_kernel(const index_t rows, const index_t max_size, const std::uint32_t* const starts,
                           const index_t* const last, std::uint16_t* const lengths) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    const auto row = static_cast<index_t>(i);
    if ((starts[row / 32] >> row % 32 & 1u) == 0) continue;
    index_t end = next_row_of(starts, row, rows);
    while (end < rows && last[end] >= row) {
      const index_t next = next_row_of(starts, end, rows);
      if (next - row > max_size) break;
      end = next;
    }
    lengths[row] = static_cast<std::uint16_t>(end - row);
  }
}

}  // namespace

std::size_t coupling_scratch_bytes(index_t rows) {
  return static_cast<std::size_t>(rows) * (sizeof(double) + sizeof(index_t));
}

template <class C, Offset O>
void measure_coupled(const CsrView<const C, O>& matrix, index_t max_size, double threshold, const std::uint32_t* starts,
                     std::uint16_t* lengths, void* scratch, CUstream_st* stream) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  auto* const largest = static_cast<double*>(scratch);
  auto* const last = reinterpret_cast<index_t*>(largest + rows);
  check(cudaMemsetAsync(largest, 0, rows * sizeof(*largest), stream), "cudaMemsetAsync(largest)");
  check(cudaMemsetAsync(last, 0xff, rows * sizeof(*last), stream), "cudaMemsetAsync(last)");
  const unsigned ctas = persistent_ctas(striding_policy, (offset_t{matrix.rows} - 1) / coupling_threads + 1);
  largest_of_blocks_kernel<C, O><<<ctas, coupling_threads, 0, stream>>>(matrix, starts, largest);
  check_launch("largest_of_blocks_kernel");
  last_coupled_kernel<C, O><<<ctas, coupling_threads, 0, stream>>>(matrix, max_size, threshold, starts, largest, last);
  check_launch("last_coupled_kernel");
  coupled_lengths_kernel<<<ctas, coupling_threads, 0, stream>>>(matrix.rows, max_size, starts, last, lengths);
  check_launch("coupled_lengths_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                            \
  template void measure_coupled(const CsrView<const C, std::int32_t>&, index_t, double, const std::uint32_t*, \
                                std::uint16_t*, void*, CUstream_st*);                                         \
  template void measure_coupled(const CsrView<const C, std::int64_t>&, index_t, double, const std::uint32_t*, \
                                std::uint16_t*, void*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
