#include "precond/analysis.hpp"

#include "backend/backend_impl.hpp"
#include "backend/host_pattern.hpp"
#include "precond/fingerprint.hpp"

#include <omp.h>

namespace blockjacobi::detail {

namespace {

/// Validates a host pattern; reads the values nowhere.
template <Offset O>
Analysis analyze_on_host(const Backend& backend, const CsrView<const void, O>& pattern, BlockLayout layout,
                         const BlockJacobiOptions& options) {
  const int threads = host_threads(backend);
  const std::uint64_t fingerprint = options.check_pattern ? host_fingerprint(pattern, threads) : 0;
  std::optional<L1Pattern> l1;
  if (options.l1) l1.emplace(pattern);
  const PositionMap map =
      l1 ? build_position_map(l1->view(), layout, threads) : build_position_map(pattern, layout, threads);
  return {std::move(layout), pattern.nnz, fingerprint, {backend, map}, std::move(l1)};
}

/// A pattern in the memory of the backend; takes the layout. None if the backend leaves it to the host, which has the
/// words for a pattern that is not valid; the layout stays then.
template <Offset O>
std::optional<Analysis> analyze_in_backend(const Backend& backend, const CsrView<const void, O>& pattern,
                                           BlockLayout& layout, const BlockJacobiOptions& options) {
  PartitionOps& ops = backend.impl().partition_ops();
  if (pattern.space != backend.memory_space() || options.l1 || layout.blocks() == 0) return std::nullopt;
  if (layout.groups().back().size > ops.largest_mapped()) return std::nullopt;
  const PatternCheck check = ops.inspect(pattern);
  if (!check.is_valid || !check.is_sorted) return std::nullopt;

  Array<BlockSlot> slots(backend, layout.groups().size() > 1 ? static_cast<std::size_t>(layout.blocks()) : 0);
  slots.copy_from_host(layout.slots().data());
  const BlockTable blocks{layout.groups(), slots.data(), layout.blocks(), layout.rows()};
  BackendMap map(backend, layout.blocks());
  const MapExtent extent = ops.measure_map(pattern, blocks, map.slots.data());
  map.entries = extent.entries;
  if (extent.words > 0) {
    const auto words = static_cast<std::size_t>(extent.words);
    if (extent.narrow)
      map.narrow = Array<std::uint32_t>(backend, words);
    else
      map.wide = Array<std::uint64_t>(backend, words);
    ops.fill_map(pattern, blocks, map.slots.data(), extent.narrow ? map.narrow.data() : nullptr, map.wide.data());
  }
  return Analysis{std::move(layout), pattern.nnz, check.fingerprint, std::move(map), std::nullopt};
}

}  // namespace

int host_threads(const Backend& backend) {
  return backend.kind() == BackendKind::host ? backend.threads() : omp_get_max_threads();
}

template <Scalar T, Offset O>
Analysis analyze(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                 const BlockJacobiOptions& options) {
  BlockLayout layout(partition, sizeof(T));
  auto found = analyze_in_backend(backend, pattern_of(matrix), layout, options);
  if (found) return std::move(*found);
  const HostPattern<T, O> host("BlockJacobi", backend, matrix);
  validate(host.view());
  return analyze_on_host(backend, pattern_of(host.view()), std::move(layout), options);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                  \
  template Analysis analyze(const Backend&, const CsrView<T, std::int32_t>&, const BlockPartition&, \
                            const BlockJacobiOptions&);                                             \
  template Analysis analyze(const Backend&, const CsrView<T, std::int64_t>&, const BlockPartition&, \
                            const BlockJacobiOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
