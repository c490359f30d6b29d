#include "precond/analysis.hpp"

#include "backend/backend_impl.hpp"
#include "backend/host_pattern.hpp"
#include "core/layout_impl.hpp"
#include "precond/fingerprint.hpp"

#include <omp.h>

namespace blockjacobi::detail {

namespace {

/// A valid pattern on the host.
template <Offset O>
Analysis analyze_on_host(const Backend& backend, const CsrView<const void, O>& pattern, BlockLayout layout,
                         const BlockJacobiOptions& options, std::uint64_t fingerprint) {
  const int threads = host_threads(backend);
  std::optional<L1Pattern> l1;
  if (options.l1) l1.emplace(pattern);
  const PositionMap map =
      l1 ? build_position_map(l1->view(), layout, threads) : build_position_map(pattern, layout, threads);
  return {std::move(layout), pattern.nnz, fingerprint, {backend, map}, std::move(l1)};
}

/// A pattern in the memory of the backend, which takes it if it is canonical. measure(ops, blocks, slots) finds out,
/// and measures the map of one that is.
template <Offset O, class Measure>
std::optional<Analysis> analyze_in_backend(const Backend& backend, const CsrView<const void, O>& pattern,
                                           const BlockLayout& layout, Measure measure) {
  PartitionOps& ops = backend.impl().partition_ops();
  const Array<BlockSlot> slots = layout.groups().size() > 1 ? slots_in(backend, layout) : Array<BlockSlot>(backend, 0);
  const BlockTable blocks{layout.groups(), slots.data(), layout.blocks(), layout.rows()};
  BackendMap map(backend, layout.blocks());
  const CheckedExtent found = measure(ops, blocks, map.slots.data());
  if (!found.check.is_valid || !found.check.is_sorted) return std::nullopt;
  const MapExtent& extent = found.extent;
  map.entries = extent.entries;
  if (extent.words > 0) {
    const auto words = static_cast<std::size_t>(extent.words);
    if (extent.narrow)
      map.narrow = Array<std::uint32_t>(backend, words);
    else
      map.wide = Array<std::uint64_t>(backend, words);
    ops.fill_map(pattern, blocks, map.slots.data(), extent.narrow ? map.narrow.data() : nullptr, map.wide.data());
  }
  return Analysis{layout, pattern.nnz, found.check.fingerprint, std::move(map), std::nullopt};
}

bool is_analyzed_there(const Backend& backend, MemorySpace space, const BlockLayout& layout,
                       const BlockJacobiOptions& options) {
  const index_t largest = layout.blocks() > 0 ? layout.groups().back().size : 0;
  return space == backend.memory_space() && is_analyzed_in(backend, largest, options);
}

}  // namespace

int host_threads(const Backend& backend) {
  return backend.kind() == BackendKind::host ? backend.threads() : omp_get_max_threads();
}

bool is_analyzed_in(const Backend& backend, index_t largest, const BlockJacobiOptions& options) {
  return !options.l1 && largest > 0 && largest <= backend.impl().partition_ops().largest_mapped();
}

template <Scalar T, Offset O>
Analysis analyze(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                 const BlockJacobiOptions& options) {
  const auto pattern = pattern_of(matrix);
  BlockLayout layout(partition, sizeof(T));
  if (is_analyzed_there(backend, matrix.space, layout, options)) {
    auto found =
        analyze_in_backend(backend, pattern, layout, [&](PartitionOps& ops, const BlockTable& blocks, MapSlot* slots) {
          return ops.check_and_measure(pattern, blocks, slots);
        });
    // why: a pattern that is not valid goes to the host, which has the words for it
    if (found) return std::move(*found);
  }
  const HostPattern<T, O> host("BlockJacobi", backend, matrix);
  const auto host_pattern = pattern_of(host.view());
  require_valid("BlockJacobi", host_pattern);
  return analyze_on_host(backend, host_pattern, std::move(layout), options,
                         options.check_pattern ? host_fingerprint(host_pattern, host_threads(backend)) : 0);
}

template <Scalar T, Offset O>
Analysis analyze_canonical(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                           const BlockJacobiOptions& options, std::uint64_t fingerprint) {
  BlockLayout layout(partition, sizeof(T));
  if (is_analyzed_there(backend, matrix.space, layout, options)) {
    const auto pattern = pattern_of(matrix);
    return *analyze_in_backend(
        backend, pattern, layout, [&](PartitionOps& ops, const BlockTable& blocks, MapSlot* slots) {
          return CheckedExtent{{true, true, fingerprint}, ops.measure_map(pattern, blocks, slots)};
        });
  }
  const HostPattern<T, O> host("BlockJacobi", backend, matrix);
  return analyze_on_host(backend, pattern_of(host.view()), std::move(layout), options, fingerprint);
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                                            \
  template Analysis analyze(const Backend&, const CsrView<T, O>&, const BlockPartition&, const BlockJacobiOptions&); \
  template Analysis analyze_canonical(const Backend&, const CsrView<T, O>&, const BlockPartition&,                   \
                                      const BlockJacobiOptions&, std::uint64_t)
#define BLOCKJACOBI_INSTANTIATE(T)              \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi::detail
