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
  if (!options.l1) {
    const PositionMap map = build_position_map(pattern, layout, threads);
    return {std::move(layout), pattern.nnz, fingerprint, {backend, map}, std::nullopt};
  }
  const L1Pattern l1(pattern);
  const PositionMap map = build_position_map(l1.view(), layout, threads);
  L1Rows rows(backend, l1, layout.slots());
  return {std::move(layout), pattern.nnz, fingerprint, {backend, map}, std::move(rows)};
}

/// A pattern in the memory of the backend, which takes it if it is canonical. measure(ops, blocks, slots) finds out,
/// and measures the map of one that is.
template <Offset O, class Measure>
std::optional<Analysis> analyze_in_backend(const Backend& backend, const CsrView<const void, O>& pattern,
                                           const BlockLayout& layout, bool l1, Measure measure) {
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
    ops.fill_map(pattern, l1, blocks, map.slots.data(), extent.narrow ? map.narrow.data() : nullptr, map.wide.data());
  }
  std::optional<L1Rows> rows;
  if (l1) {
    map.duplicates = true;  // an element of the diagonal and what l1 adds to it
    rows.emplace(backend, pattern.rows, pattern.nnz);
    ops.list_l1_rows(pattern, blocks, rows->arrays());
  }
  return Analysis{layout, pattern.nnz, found.check.fingerprint, std::move(map), std::move(rows)};
}

}  // namespace

int host_threads(const Backend& backend) {
  return backend.kind() == BackendKind::host ? backend.threads() : omp_get_max_threads();
}

bool is_analyzed_in(const Backend& backend, const BlockPartition& partition) {
  return partition.blocks() > 0 && backend.impl().partition_ops().makes_maps();
}

template <Scalar T, Offset O>
Analysis analyze(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                 const BlockJacobiOptions& options) {
  const auto pattern = pattern_of(matrix);
  BlockLayout layout(partition, sizeof(T));
  if (matrix.space == backend.memory_space() && is_analyzed_in(backend, partition)) {
    auto found = analyze_in_backend(backend, pattern, layout, options.l1,
                                    [&](PartitionOps& ops, const BlockTable& blocks, MapSlot* slots) {
                                      return ops.check_and_measure(pattern, options.l1, blocks, slots);
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
  if (matrix.space == backend.memory_space() && is_analyzed_in(backend, partition)) {
    const auto pattern = pattern_of(matrix);
    return *analyze_in_backend(
        backend, pattern, layout, options.l1, [&](PartitionOps& ops, const BlockTable& blocks, MapSlot* slots) {
          return CheckedExtent{{true, true, fingerprint}, ops.measure_map(pattern, options.l1, blocks, slots)};
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
