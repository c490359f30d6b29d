#include "core/shared/fingerprint.hpp"
#include "kernels/launch/check.hpp"
#include "kernels/launch/persistent_ctas.hpp"
#include "kernels/partition/add_from_warp.cuh"
#include "kernels/partition/launch.hpp"
#include "kernels/partition/policy.hpp"

#include <algorithm>
#include <limits>

namespace blockjacobi::kernels {

namespace {

/// Parts of the arrays of a pattern that lie about side by side, so that columns are in the cache when rows ask for
/// theirs. Columns go by four that are aligned, from `lead` places before the first.
struct PatternChunks {
  offset_t count, rows, quads;
  int lead;
};

template <class O>
PatternChunks chunks_of(const CsrView<const void, O>& pattern) {
  constexpr offset_t quads_of_chunk = 8 * check_policy.threads;
  const auto lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(pattern.columns) / sizeof(index_t) % 4);
  const offset_t rows = offset_t{pattern.rows} + 1, quads = (pattern.nnz + lead + 3) / 4;
  const auto shares = [](offset_t all, offset_t share) { return (all + share - 1) / share; };
  const offset_t count =
      std::max<offset_t>(shares(quads, quads_of_chunk),
                         persistent_ctas(check_policy, shares(std::max(rows, quads), check_policy.threads)));
  return {count, shares(rows, count), shares(quads, count), lead};
}

constexpr index_t below_all = std::numeric_limits<index_t>::min();

/// What a thread sees of a pattern: sums of integers, so that their order does not matter.
template <class O>
struct Inspection {
  CsrView<const void, O> pattern;
  unsigned long long fingerprint = 0;
  int unsorted = 0;
  bool faulty = false;

  __device__ void look_at_row(offset_t i) {
    const auto base = static_cast<offset_t>(pattern.base);
    const offset_t k = pattern.row_offsets[i] - base;
    const offset_t next = i < pattern.rows ? pattern.row_offsets[i + 1] - base : k;
    fingerprint += detail::mixed_offset(i, k);
    faulty =
        faulty || k > next || k < 0 || k > pattern.nnz || (i == 0 && k != 0) || (i == pattern.rows && k != pattern.nnz);
    // A descent from row to row is none.
    if (k > 0 && k < next && k < pattern.nnz) unsorted -= pattern.columns[k] <= pattern.columns[k - 1] ? 1 : 0;
  }
  /// `before`: the column of the entry before.
  __device__ void look_at_column(offset_t k, index_t own, index_t before) {
    const std::uint32_t column = static_cast<std::uint32_t>(own) - static_cast<std::uint32_t>(pattern.base);
    fingerprint += detail::mixed_column(k, column);
    faulty = faulty || column >= static_cast<std::uint32_t>(pattern.cols);
    unsorted += own <= before ? 1 : 0;
  }
  __device__ void look_at_four(offset_t k) {
    const index_t* const columns = pattern.columns;
    index_t before = k > 0 ? columns[k - 1] : below_all;
    if (k >= 0 && k + 4 <= pattern.nnz) {
      const int4 own = *reinterpret_cast<const int4*>(columns + k);
      look_at_column(k, own.x, before);
      look_at_column(k + 1, own.y, own.x);
      look_at_column(k + 2, own.z, own.y);
      look_at_column(k + 3, own.w, own.z);
      return;
    }
    for (offset_t at = max(k, offset_t{0}); at < min(k + 4, pattern.nnz); ++at) {
      look_at_column(at, columns[at], before);
      before = columns[at];
    }
  }
};

template <class O>
__global__ void __launch_bounds__(check_policy.threads, check_policy.per_multiprocessor)
    check_pattern_kernel(const CsrView<const void, O> pattern, const PatternChunks chunks,
                         PatternCounts* const counts) {
  constexpr int threads = check_policy.threads;
  __shared__ PatternCounts of_cta;
  if (threadIdx.x == 0) of_cta = {};
  __syncthreads();
  const auto thread = static_cast<int>(threadIdx.x);
  Inspection<O> own{pattern};
  for (offset_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const offset_t end_of_rows = min((chunk + 1) * chunks.rows, pattern.rows + offset_t{1});
    const offset_t end_of_quads = min((chunk + 1) * chunks.quads, (pattern.nnz + chunks.lead + 3) / 4);
#pragma unroll 2
    for (offset_t quad = chunk * chunks.quads + thread; quad < end_of_quads; quad += threads)
      own.look_at_four(4 * quad - chunks.lead);
    for (offset_t i = chunk * chunks.rows + thread; i < end_of_rows; i += threads) own.look_at_row(i);
  }
  add_from_warp(&of_cta.fingerprint, own.fingerprint);
  add_from_warp(&of_cta.unsorted, static_cast<unsigned long long>(offset_t{own.unsorted}));
  if (own.faulty) atomicOr(&of_cta.faults, 1u);
  __syncthreads();
  if (thread > 0) return;
  atomicAdd(&counts->fingerprint, of_cta.fingerprint);
  if (of_cta.unsorted != 0) atomicAdd(&counts->unsorted, of_cta.unsorted);
  if (of_cta.faults != 0) counts->faults = 1;
}

}  // namespace

template <Offset O>
void check_pattern(const CsrView<const void, O>& pattern, PatternCounts* counts, CUstream_st* stream) {
  const PatternChunks chunks = chunks_of(pattern);
  check_pattern_kernel<O>
      <<<persistent_ctas(check_policy, chunks.count), check_policy.threads, 0, stream>>>(pattern, chunks, counts);
  check_launch("check_pattern_kernel");
}

template void check_pattern(const CsrView<const void, std::int32_t>&, PatternCounts*, CUstream_st*);
template void check_pattern(const CsrView<const void, std::int64_t>&, PatternCounts*, CUstream_st*);

}  // namespace blockjacobi::kernels
