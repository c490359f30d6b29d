#include "backend/cuda_check.hpp"
#include "backend/cuda_clusters.hpp"
#include "backend/cuda_coarse_ops.hpp"
#include "backend/cuda_key_runs.hpp"
#include "core/csr_pattern.hpp"

#include <algorithm>
#include <utility>
#include <variant>

// The coarse space of a TwoLevel on the device. What the host waits for are the sizes of the arrays that come next.

namespace blockjacobi::detail {

namespace {

using kernels::SortKey;

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// The rows of each group, in ascending order; those of group g are from bounds[g] to bounds[g + 1].
struct Members {
  Members(CudaContext& context, index_t count, index_t groups, const index_t* group)
      : keys(context, count), rows(context, count), bounds(context, offset_t{groups} + 1) {
    const auto limit = static_cast<SortKey>(groups);
    const StepMemory<SortKey> unsorted(context, count);
    const StepMemory<std::int32_t> numbers(context, count);
    const StepMemory<std::byte> scratch(context, static_cast<offset_t>(kernels::sort_bytes(count, limit)));
    kernels::key_rows(count, groups, group, unsorted, numbers, context.stream());
    kernels::sort_keys(count, limit, unsorted, keys, numbers, rows, scratch, context.stream());
    kernels::find_bounds(count, static_cast<const SortKey*>(keys), groups, bounds, context.stream());
  }

  StepMemory<SortKey> keys;  ///< their groups
  StepMemory<std::int32_t> rows;
  StepMemory<std::int32_t> bounds;
};

/// Z, as the patterns know it.
struct Groups {
  index_t count, order, width;
  const index_t* of_row;
  const index_t* first;
  bool has_values;
};

class PatternBuilder {
 public:
  PatternBuilder(CudaContext& context, const Backend& backend, CoarseSide side, const Groups& groups)
      : context_(context),
        backend_(backend),
        side_(side),
        groups_(groups),
        bounds_(context, groups.count + 1),
        begin_(context, groups.count + 1),
        elements_(context, 1) {}

  template <Offset O>
  CoarsePatterns build(const CsrView<const void, O>& a) {
    CoarsePattern restriction = restrict(a.rows);
    // The entries of A by segments.
    const bool left = side_ == CoarseSide::left;
    const auto groups = static_cast<SortKey>(groups_.count);
    const SortKey inner = left ? static_cast<SortKey>(a.cols) : groups;
    const SortKey limit = left ? groups * inner : static_cast<SortKey>(a.rows) * inner;
    StepMemory<index_t> rows(context_, groups_.has_values ? a.nnz : 0);
    const SortedKeys entries = sorted_keys(context_, a.nnz, limit, [&](SortKey* keys, std::int32_t* numbers) {
      kernels::key_entries(a, side_, groups_.count, groups_.of_row, keys, numbers,
                           groups_.has_values ? static_cast<index_t*>(rows) : nullptr, stream());
    });
    const std::int32_t segments = entries.found.runs, terms = entries.found.end;
    CoarseSumArrays sums{array<std::int32_t>(offset_t{segments} + 1),
                         array<std::int32_t>(terms),
                         array<index_t>(groups_.has_values ? terms : 0),
                         array<index_t>(segments),
                         array<index_t>(segments),
                         array<std::int32_t>(segments),
                         array<std::int32_t>(left ? groups_.count : 0),
                         array<std::int32_t>(0),
                         array<index_t>(0),
                         array<index_t>(0),
                         array<index_t>(0),
                         array<std::int32_t>(0),
                         array<std::int32_t>(groups_.count)};
    copy(sums.begin, entries.begin);
    copy(sums.entry, entries.numbers);
    if (groups_.has_values) kernels::gather(terms, sums.entry.data(), rows, sums.row.data(), stream());
    kernels::split_keys(segments, sums.begin.data(), entries.keys, inner, left ? sums.group.data() : sums.other.data(),
                        left ? sums.other.data() : sums.group.data(), stream());
    CoarsePattern product =
        left ? product_from_left(a.cols, segments, sums) : product_from_right(a.rows, segments, sums);
    CoarsePattern e = galerkin(segments, sums);
    return {side_, std::move(restriction), std::move(product), std::move(e), std::move(sums)};
  }

 private:
  CUstream_st* stream() const { return context_.stream(); }
  template <class V>
  Array<V> array(offset_t count) const {
    return Array<V>(backend_, at(count));
  }
  template <class V>
  void copy(Array<V>& to, const StepMemory<V>& from) const {
    backend_.impl().copy(to.data(), static_cast<const V*>(from), to.bytes());
  }
  offset_t read_elements() const {
    const offset_t count = context_.read(static_cast<const offset_t*>(elements_));
    require_coarse_elements(count);
    return count;
  }

  CoarsePattern restrict(index_t rows) {
    const Members members(context_, rows, groups_.count, groups_.of_row);
    const StepMemory<std::int32_t> stride(context_, groups_.count);
    CoarsePattern pattern = lay_out(rows, members.bounds, nullptr, stride);
    const std::int32_t covered = context_.read(static_cast<const std::int32_t*>(members.bounds) + groups_.count);
    kernels::place_items(covered, static_cast<const SortKey*>(members.keys), members.rows, groups_.first,
                         members.bounds, begin_, stride, pattern.columns.data(), stream());
    return pattern;
  }

  /// Rows of a pattern for each column of Z; waits for the number of elements.
  CoarsePattern lay_out(index_t cols, const std::int32_t* bounds, const std::int32_t* before, std::int32_t* stride) {
    Array<std::int32_t> offsets = array<std::int32_t>(offset_t{groups_.order} + 1);
    kernels::lay_out_rows(groups_.count, groups_.first, bounds, before, stride, begin_, offsets.data(), elements_,
                          stream());
    const offset_t elements = read_elements();
    return {groups_.order, cols, std::move(offsets), array<index_t>(elements)};
  }

  CoarsePattern product_from_left(index_t cols, std::int32_t segments, CoarseSumArrays& sums) {
    kernels::find_bounds(segments, static_cast<const index_t*>(sums.group.data()), groups_.count, bounds_, stream());
    CoarsePattern pattern = lay_out(cols, bounds_, nullptr, sums.stride.data());
    kernels::place_items(segments, static_cast<const index_t*>(sums.group.data()), sums.other.data(), groups_.first,
                         bounds_, begin_, sums.stride.data(), sums.place.data(), pattern.columns.data(), stream());
    return pattern;
  }

  CoarsePattern product_from_right(index_t rows, std::int32_t segments, CoarseSumArrays& sums) {
    // why: n elements of 32 bits at most are summed, whose sum has to fit as well
    require_coarse_elements(offset_t{segments} * groups_.width);
    const StepMemory<std::int32_t> before = columns_before(segments, sums.group.data());
    backend_.impl().copy(sums.place.data(), static_cast<const std::int32_t*>(before), sums.place.bytes());
    const std::int32_t elements = context_.read(static_cast<const std::int32_t*>(before) + segments);
    CoarsePattern pattern{rows, groups_.order, array<std::int32_t>(offset_t{rows} + 1), array<index_t>(elements)};
    kernels::place_by_rows(rows, segments, sums.other.data(), sums.group.data(), groups_.first, before,
                           pattern.offsets.data(), pattern.columns.data(), stream());
    return pattern;
  }

  /// Of each group of a list, the columns of those before; one more than there are.
  StepMemory<std::int32_t> columns_before(std::int32_t count, const index_t* group) const {
    StepMemory<std::int32_t> sums(context_, offset_t{count} + 1);
    const StepMemory<std::byte> scratch(context_, static_cast<offset_t>(kernels::scan_bytes(count + 1)));
    kernels::count_columns(count, group, groups_.first, sums, stream());
    kernels::sum_before(count + 1, sums, sums, scratch, stream());
    return sums;
  }

  CoarsePattern galerkin(std::int32_t segments, CoarseSumArrays& sums) {
    const auto groups = static_cast<SortKey>(groups_.count);
    const SortedKeys pairs =
        sorted_keys(context_, segments, groups * groups, [&](SortKey* keys, std::int32_t* numbers) {
          kernels::key_segments(segments, side_, groups_.count, groups_.of_row, sums.group.data(), sums.other.data(),
                                keys, numbers, stream());
        });
    const std::int32_t count = pairs.found.runs;
    sums.pair_begin = array<std::int32_t>(offset_t{count} + 1);
    sums.segment = array<index_t>(pairs.found.end);
    sums.pair_row = array<index_t>(count);
    sums.pair_column = array<index_t>(count);
    sums.pair_place = array<std::int32_t>(count);
    copy(sums.pair_begin, pairs.begin);
    copy(sums.segment, pairs.numbers);
    kernels::split_keys(count, sums.pair_begin.data(), pairs.keys, groups, sums.pair_row.data(),
                        sums.pair_column.data(), stream());
    const StepMemory<std::int32_t> before = columns_before(count, sums.pair_column.data());
    kernels::find_bounds(count, static_cast<const index_t*>(sums.pair_row.data()), groups_.count, bounds_, stream());
    CoarsePattern pattern = lay_out(groups_.order, bounds_, before, sums.pair_stride.data());
    kernels::place_pairs(count, sums.pair_row.data(), sums.pair_column.data(), groups_.first, bounds_, before, begin_,
                         sums.pair_stride.data(), sums.pair_place.data(), pattern.columns.data(), stream());
    return pattern;
  }

  CudaContext& context_;
  const Backend& backend_;
  CoarseSide side_;
  Groups groups_;
  StepMemory<std::int32_t> bounds_, begin_;
  StepMemory<offset_t> elements_;  ///< a number that the host waits for
};

template <Scalar T, Offset O>
CsrView<const compute_t<T>, O> graph_view(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, compute_cast(m.values), m.base, m.space};
}

}  // namespace

template <Scalar T>
Aggregates CudaCoarseOps<T>::aggregate(const Backend& backend, const AnyCsrView<T>& matrix,
                                       const BlockPartition& blocks, index_t count) {
  return std::visit(
      [&](const auto& view) { return cuda_aggregates(context_, backend, graph_view(view), blocks, count); }, matrix);
}

template <Scalar T>
Aggregates CudaCoarseOps<T>::neighbourhoods(const Backend& backend, const AnyCsrView<T>& matrix,
                                            const BlockPartition& blocks, double share) {
  return std::visit(
      [&](const auto& view) { return cuda_neighbourhoods(context_, backend, graph_view(view), blocks, share); },
      matrix);
}

template <Scalar T>
CoarseSpace<T> CudaCoarseOps<T>::ones(const Backend& backend, const Aggregates& aggregates, index_t components) {
  const auto rows = static_cast<index_t>(aggregates.of_row.size());
  const index_t most = aggregates.count * components;
  CoarseSpace<T> z{
      0, 0, 1, Array<index_t>(backend, aggregates.of_row.size()), Array<index_t>(backend, 0), Array<T>(backend, 0)};
  if (rows == 0) return z;
  const DeviceGuard guard(context_.device());
  const StepMemory<std::int32_t> columns(context_, std::max(most, 1));
  const StepMemory<std::byte> scratch(context_, static_cast<offset_t>(kernels::scan_bytes(std::max(most, 1))));
  context_.zero(columns, at(std::max(most, 1)) * sizeof(std::int32_t));
  kernels::mark_columns(rows, aggregates.of_row.data(), components, columns, context_.stream());
  kernels::sum_up_to(std::max(most, 1), columns, columns, scratch, context_.stream());
  kernels::number_columns(rows, aggregates.of_row.data(), components, columns, z.group.data(), context_.stream());
  z.order = z.groups = context_.read(static_cast<const std::int32_t*>(columns) + std::max(most, 1) - 1);
  return z;
}

template <Scalar T>
CoarseSpace<T> CudaCoarseOps<T>::orthonormal(const Backend& backend, const Aggregates& aggregates,
                                             const Array<T>& vectors, index_t count) {
  const auto rows = static_cast<index_t>(aggregates.of_row.size());
  CoarseSpace<T> z{0,
                   aggregates.count,
                   count,
                   Array<index_t>(backend, aggregates.of_row.size()),
                   Array<index_t>(backend, at(aggregates.count) + 1),
                   Array<T>(backend, vectors.size())};
  const DeviceGuard guard(context_.device());
  backend.impl().copy(z.group.data(), aggregates.of_row.data(), z.group.bytes());
  z.values.zero();
  z.first.zero();
  if (aggregates.count == 0) return z;
  const Members members(context_, rows, aggregates.count, aggregates.of_row.data());
  const StepMemory<unsigned long long> most(context_, count);
  kernels::coarse_orthonormal(rows, count, compute_cast(vectors.data()), aggregates.count, members.rows, members.bounds,
                              most, compute_cast(z.values.data()), z.first.data(), context_.stream());
  const StepMemory<std::byte> scratch(context_, static_cast<offset_t>(kernels::scan_bytes(aggregates.count + 1)));
  kernels::sum_before(aggregates.count + 1, z.first.data(), z.first.data(), scratch, context_.stream());
  z.order = context_.read(z.first.data() + aggregates.count);
  return z;
}

template <Scalar T>
CoarsePatterns CudaCoarseOps<T>::patterns(const Backend& backend, CoarseSide side, const AnyCsrView<T>& matrix,
                                          const CoarseSpace<T>& z) {
  const DeviceGuard guard(context_.device());
  const Groups groups{z.groups, z.order, z.width, z.group.data(), z.first.data(), z.values.size() > 0};
  return std::visit(
      [&](const auto& view) { return PatternBuilder(context_, backend, side, groups).build(pattern_of(view)); },
      matrix);
}

template <Scalar T>
void CudaCoarseOps<T>::fill_restriction(const CoarsePattern& restriction, const CoarseBasis<T>& z, C* values) {
  const DeviceGuard guard(context_.device());
  kernels::coarse_restriction(restriction.with<const C>(nullptr), z, values, context_.stream());
}

template <Scalar T>
void CudaCoarseOps<T>::multiply(const CoarsePatterns& patterns, const CoarseBasis<T>& z, const C* values, C* product,
                                C* e) {
  const DeviceGuard guard(context_.device());
  const CoarseSums sums = patterns.sums.view(patterns.side);
  kernels::coarse_product(sums, z, values, product, context_.stream());
  kernels::coarse_galerkin(sums, z, static_cast<const C*>(product), e, context_.stream());
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                    \
  template Aggregates CudaCoarseOps<T>::neighbourhoods(const Backend&, const AnyCsrView<T>&, const BlockPartition&,   \
                                                       double);                                                       \
  template Aggregates CudaCoarseOps<T>::aggregate(const Backend&, const AnyCsrView<T>&, const BlockPartition&,        \
                                                  index_t);                                                           \
  template CoarseSpace<T> CudaCoarseOps<T>::ones(const Backend&, const Aggregates&, index_t);                         \
  template CoarseSpace<T> CudaCoarseOps<T>::orthonormal(const Backend&, const Aggregates&, const Array<T>&, index_t); \
  template CoarsePatterns CudaCoarseOps<T>::patterns(const Backend&, CoarseSide, const AnyCsrView<T>&,                \
                                                     const CoarseSpace<T>&);                                          \
  template void CudaCoarseOps<T>::fill_restriction(const CoarsePattern&, const CoarseBasis<T>&, C*);                  \
  template void CudaCoarseOps<T>::multiply(const CoarsePatterns&, const CoarseBasis<T>&, const C*, C*, C*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
