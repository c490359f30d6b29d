#include "backend/host_coarse_ops.hpp"
#include "core/first_exception.hpp"
#include "core/message.hpp"
#include "core/worth_threads.hpp"
#include "partition/aggregates.hpp"
#include "partition/clusters.hpp"
#include "partition/independent_set.hpp"
#include "partition/magnitudes.hpp"
#include "partition/strength_graph.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <variant>

// The coarse space of a TwoLevel on the host: aggregates, Z, and what Z and the pattern of A make of each other.

namespace blockjacobi::detail {

namespace {

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// sums[k] = the sum of all before k; one more than there are.
template <class V>
std::vector<offset_t> sums_before(const std::vector<V>& counts) {
  std::vector<offset_t> sums(counts.size() + 1, 0);
  for (std::size_t k = 0; k < counts.size(); ++k) sums[k + 1] = sums[k] + counts[k];
  return sums;
}

/// Numbers the clusters whose vertices have neighbours; returns how many there are.
index_t number_coupled(const CsrMatrix<double>& graph, std::vector<index_t>& cluster) {
  std::vector<index_t> number(cluster.size(), no_group);
  index_t count = 0;
  for (std::size_t v = 0; v < cluster.size(); ++v) {
    if (graph.row_offsets()[v] == graph.row_offsets()[v + 1]) {
      cluster[v] = no_group;
      continue;
    }
    index_t& own = number[at(cluster[v])];
    if (own == no_group) own = count++;
    cluster[v] = own;
  }
  return count;
}

/// The members of each group, in ascending order: those of g are items[bounds[g]] .. items[bounds[g + 1] - 1].
struct Members {
  Members(std::span<const index_t> group, index_t groups) : bounds(at(groups) + 1, 0) {
    for (const index_t g : group)
      if (g != no_group) ++bounds[at(g) + 1];
    std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
    items.resize(at(bounds.back()));
    std::vector<offset_t> next(bounds.begin(), bounds.end() - 1);
    for (std::size_t i = 0; i < group.size(); ++i)
      if (const index_t g = group[i]; g != no_group) items[at(next[at(g)]++)] = static_cast<index_t>(i);
  }
  std::span<const index_t> of(index_t g) const { return std::span(items).subspan(at(bounds[at(g)]), at(size(g))); }
  index_t size(index_t g) const { return static_cast<index_t>(bounds[at(g) + 1] - bounds[at(g)]); }

  std::vector<offset_t> bounds;
  std::vector<index_t> items;
};

/// Makes the columns orthonormal by Gram-Schmidt, each twice against each before it, the longest of what is left next,
/// as on the device. Returns how many there are; the rest are their combinations up to `tolerance`.
template <class C>
std::size_t orthonormalize(std::vector<std::vector<C>>& columns, double tolerance) {
  const auto norm = [](const std::vector<C>& x) {
    double sum = 0.0;
    for (const C& element : x) sum += norm2(element);
    return std::sqrt(sum);
  };
  std::vector<double> norms;
  for (const std::vector<C>& column : columns) norms.push_back(norm(column));
  double longest = 0.0;
  for (std::size_t rank = 0; rank < columns.size(); ++rank) {
    const auto next = static_cast<std::size_t>(
        std::ranges::max_element(norms.begin() + static_cast<std::ptrdiff_t>(rank), norms.end()) - norms.begin());
    const double length = norms[next];
    if (rank == 0) longest = length;
    if (!(length > tolerance * longest)) return rank;
    std::vector<C>& q = columns[rank];
    q.swap(columns[next]);
    norms[next] = norms[rank];
    for (C& element : q) element = (1.0 / length) * element;
    for (std::size_t v = rank + 1; v < columns.size(); ++v) {
      for (int pass = 0; pass < 2; ++pass) {
        C dot{};
        for (std::size_t i = 0; i < q.size(); ++i) dot += conj(q[i]) * columns[v][i];
        for (std::size_t i = 0; i < q.size(); ++i) columns[v][i] -= dot * q[i];
      }
      norms[v] = norm(columns[v]);
    }
  }
  return columns.size();
}

template <class V>
Array<V> array_of(const Backend& backend, const std::vector<V>& values) {
  return Array<V>(backend, values);
}

/// What an entry of A is a term of.
struct Term {
  index_t inner;  ///< the column of Z^H A, or the group of a row of A Z
  std::int32_t entry;
  index_t row;  ///< of Z
};

/// The terms of each outer index, by inner: visit(outer, add) calls add(inner, entry, row of Z).
template <class Visit>
std::vector<std::vector<Term>> sorted_terms(index_t outer, offset_t entries, [[maybe_unused]] int threads,
                                            Visit visit) {
  std::vector<std::vector<Term>> terms(at(outer));
  FirstException failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (entries > worth_threads)
  for (index_t o = 0; o < outer; ++o)
    failure.run([&] {
      std::vector<Term>& own = terms[at(o)];
      visit(o, [&](index_t inner, offset_t entry, index_t row) {
        own.push_back({inner, static_cast<std::int32_t>(entry), row});
      });
      std::ranges::stable_sort(own, {}, &Term::inner);
    });
  failure.rethrow();
  return terms;
}

/// Builds the patterns step by step, as CoarsePatterns has them.
class PatternBuilder {
 public:
  PatternBuilder(const Backend& backend, CoarseSide side, index_t rows, index_t cols, std::span<const index_t> group,
                 std::span<const index_t> first, index_t groups, index_t order, bool has_values)
      : backend_(backend),
        side_(side),
        rows_(rows),
        cols_(cols),
        group_(group),
        first_(first),
        groups_(groups),
        order_(order),
        has_values_(has_values),
        members_(group, groups) {}

  template <class V, Offset O>
  CoarsePatterns build(const CsrView<V, O>& a, int threads) {
    const auto base = static_cast<index_t>(a.base);
    const auto visit_row = [&](index_t i, auto visit) {
      for (O k = a.row_offsets[i] - base; k < a.row_offsets[i + 1] - base; ++k) visit(a.columns[k] - base, offset_t{k});
    };
    if (side_ == CoarseSide::left)
      add_segments(sorted_terms(groups_, a.nnz, threads, [&](index_t g, auto add) {
        for (offset_t m = members_.bounds[at(g)]; m < members_.bounds[at(g) + 1]; ++m) {
          const index_t i = members_.items[at(m)];
          visit_row(i, [&](index_t j, offset_t k) { add(j, k, i); });
        }
      }));
    else
      add_segments(sorted_terms(rows_, a.nnz, threads, [&](index_t i, auto add) {
        visit_row(i, [&](index_t j, offset_t k) {
          if (group_[at(j)] != no_group) add(group_[at(j)], k, j);
        });
      }));
    CoarsePattern restriction = restrict();
    CoarsePattern product = side_ == CoarseSide::left ? product_from_left() : product_from_right();
    CoarsePattern e = galerkin();
    return {side_,
            std::move(restriction),
            std::move(product),
            std::move(e),
            {array_of(backend_, begin_), array_of(backend_, entry_), array_of(backend_, row_),
             array_of(backend_, segment_group_), array_of(backend_, other_), array_of(backend_, place_),
             array_of(backend_, stride_), array_of(backend_, pair_begin_), array_of(backend_, segment_),
             array_of(backend_, pair_row_), array_of(backend_, pair_column_), array_of(backend_, pair_place_),
             array_of(backend_, pair_stride_)}};
  }

 private:
  index_t first_column(index_t g) const { return first_.empty() ? g : first_[at(g)]; }
  index_t columns(index_t g) const { return first_.empty() ? 1 : first_[at(g) + 1] - first_[at(g)]; }

  void add_segments(std::vector<std::vector<Term>> terms) {
    for (std::size_t o = 0; o < terms.size(); ++o) {
      const auto outer = static_cast<index_t>(o);
      index_t last = no_group;
      for (const Term& t : terms[o]) {
        if (t.inner != last) {
          begin_.push_back(static_cast<std::int32_t>(entry_.size()));
          segment_group_.push_back(side_ == CoarseSide::left ? outer : t.inner);
          other_.push_back(side_ == CoarseSide::left ? t.inner : outer);
        }
        last = t.inner;
        entry_.push_back(t.entry);
        if (has_values_) row_.push_back(t.row);
      }
      terms[o] = {};
    }
    begin_.push_back(static_cast<std::int32_t>(entry_.size()));
  }

  /// Rows of `lengths[g]` elements for each column of a group g; where those of a group begin.
  std::vector<offset_t> add_rows(const std::vector<offset_t>& lengths, std::vector<std::int32_t>& offsets) const {
    std::vector<offset_t> all(lengths.size());
    for (index_t g = 0; g < groups_; ++g) all[at(g)] = lengths[at(g)] * columns(g);
    const std::vector<offset_t> begin = sums_before(all);
    require_coarse_elements(begin.back());
    for (index_t g = 0; g < groups_; ++g)
      for (index_t v = 0; v < columns(g); ++v)
        offsets.push_back(static_cast<std::int32_t>(begin[at(g)] + v * lengths[at(g)]));
    offsets.push_back(static_cast<std::int32_t>(begin.back()));
    return begin;
  }

  CoarsePattern restrict() const {
    std::vector<offset_t> lengths(at(groups_));
    for (index_t g = 0; g < groups_; ++g) lengths[at(g)] = members_.size(g);
    std::vector<std::int32_t> offsets;
    add_rows(lengths, offsets);
    std::vector<index_t> rows;
    rows.reserve(at(offsets.back()));
    for (index_t g = 0; g < groups_; ++g)
      for (index_t v = 0; v < columns(g); ++v)
        rows.insert(rows.end(), members_.items.begin() + members_.bounds[at(g)],
                    members_.items.begin() + members_.bounds[at(g) + 1]);
    return {order_, rows_, array_of(backend_, offsets), array_of(backend_, rows)};
  }

  CoarsePattern product_from_left() {
    const Members segments(segment_group_, groups_);
    std::vector<offset_t> lengths(at(groups_));
    for (index_t g = 0; g < groups_; ++g) lengths[at(g)] = segments.size(g);
    std::vector<std::int32_t> offsets;
    const std::vector<offset_t> begin = add_rows(lengths, offsets);
    stride_.assign(lengths.begin(), lengths.end());
    std::vector<index_t> columns_of(at(begin.back()));
    for (std::size_t s = 0; s < other_.size(); ++s) {
      const index_t g = segment_group_[s];
      const offset_t place = begin[at(g)] + static_cast<offset_t>(s) - segments.bounds[at(g)];
      place_.push_back(static_cast<std::int32_t>(place));
      for (index_t v = 0; v < columns(g); ++v) columns_of[at(place + v * lengths[at(g)])] = other_[s];
    }
    return {order_, cols_, array_of(backend_, offsets), array_of(backend_, columns_of)};
  }

  CoarsePattern product_from_right() {
    std::vector<offset_t> lengths(at(rows_), 0);
    offset_t count = 0;
    for (std::size_t s = 0; s < other_.size(); ++s) {
      lengths[at(other_[s])] += columns(segment_group_[s]);
      count += columns(segment_group_[s]);
    }
    require_coarse_elements(count);
    const std::vector<offset_t> sums = sums_before(lengths);
    std::vector<index_t> columns_of;
    for (std::size_t s = 0; s < other_.size(); ++s) {
      place_.push_back(static_cast<std::int32_t>(columns_of.size()));
      for (index_t v = 0; v < columns(segment_group_[s]); ++v)
        columns_of.push_back(first_column(segment_group_[s]) + v);
    }
    return {rows_, order_, array_of(backend_, std::vector<std::int32_t>(sums.begin(), sums.end())),
            array_of(backend_, columns_of)};
  }

  CoarsePattern galerkin() {
    const bool left = side_ == CoarseSide::left;
    std::vector<index_t> row_group(other_.size(), no_group), column_group(other_.size(), no_group);
    for (std::size_t s = 0; s < other_.size(); ++s) {
      const index_t own = segment_group_[s], met = group_[at(other_[s])];
      if (met == no_group) continue;
      row_group[s] = left ? own : met;
      column_group[s] = left ? met : own;
    }
    // By columns, and then by rows, which keeps the order of the columns.
    const Members by_column(column_group, groups_);
    std::vector<index_t> rows_by_column;
    rows_by_column.reserve(by_column.items.size());
    for (const index_t s : by_column.items) rows_by_column.push_back(row_group[at(s)]);
    for (const index_t k : Members(rows_by_column, groups_).items) segment_.push_back(by_column.items[at(k)]);

    std::vector<offset_t> lengths(at(groups_), 0);
    for (std::size_t q = 0; q < segment_.size(); ++q) {
      const index_t a = row_group[at(segment_[q])], b = column_group[at(segment_[q])];
      if (q == 0 || a != pair_row_.back() || b != pair_column_.back()) {
        pair_begin_.push_back(static_cast<std::int32_t>(q));
        pair_row_.push_back(a);
        pair_column_.push_back(b);
        lengths[at(a)] += columns(b);
      }
    }
    pair_begin_.push_back(static_cast<std::int32_t>(segment_.size()));
    std::vector<std::int32_t> offsets;
    const std::vector<offset_t> begin = add_rows(lengths, offsets);
    pair_stride_.assign(lengths.begin(), lengths.end());
    std::vector<index_t> columns_of(at(begin.back()));
    offset_t before = 0;
    for (std::size_t p = 0; p < pair_row_.size(); ++p) {
      const index_t a = pair_row_[p], b = pair_column_[p];
      if (p == 0 || a != pair_row_[p - 1]) before = 0;
      const offset_t place = begin[at(a)] + before;
      pair_place_.push_back(static_cast<std::int32_t>(place));
      for (index_t v = 0; v < columns(a); ++v)
        for (index_t u = 0; u < columns(b); ++u) columns_of[at(place + v * lengths[at(a)] + u)] = first_column(b) + u;
      before += columns(b);
    }
    return {order_, order_, array_of(backend_, offsets), array_of(backend_, columns_of)};
  }

  const Backend& backend_;
  CoarseSide side_;
  index_t rows_, cols_;
  std::span<const index_t> group_, first_;
  index_t groups_, order_;
  bool has_values_;
  Members members_;
  std::vector<std::int32_t> begin_, entry_, place_, stride_, pair_begin_, pair_place_, pair_stride_;
  std::vector<index_t> row_, segment_group_, other_, segment_, pair_row_, pair_column_;
};

template <class V>
std::span<const V> span_of(const Array<V>& array) {
  return {array.data(), array.size()};
}

template <Scalar T>
CsrMatrix<double> graph_of(const AnyCsrView<T>& matrix, const BlockPartition& blocks, int threads) {
  return std::visit([&](const auto& view) { return strength_graph(magnitudes(view), blocks.offsets(), threads); },
                    matrix);
}

/// Of `found` clusters of blocks, which become `kept` aggregates.
Aggregates aggregates_of(const Backend& backend, const BlockPartition& blocks, const std::vector<index_t>& cluster,
                         index_t kept, index_t found) {
  std::vector<index_t> of_row;
  of_row.reserve(at(blocks.rows()));
  for (index_t b = 0; b < blocks.blocks(); ++b)
    of_row.insert(of_row.end(), at(blocks.block_size(b)),
                  cluster[at(b)] == no_group ? no_group : kept_aggregate(cluster[at(b)], kept, found));
  return {array_of(backend, of_row), kept, static_cast<index_t>(std::ranges::count(of_row, no_group))};
}

}  // namespace

template <Scalar T>
Aggregates HostCoarseOps<T>::aggregate(const Backend& backend, const AnyCsrView<T>& matrix,
                                       const BlockPartition& blocks, index_t count) {
  std::vector<index_t> rows(at(blocks.blocks()));
  for (index_t b = 0; b < blocks.blocks(); ++b) rows[at(b)] = blocks.block_size(b);
  const CsrMatrix<double> graph = graph_of<T>(matrix, blocks, threads_);
  AggregateSizes sizes(blocks, count);
  std::vector<index_t> cluster;
  index_t found = 0;
  do {
    cluster = clusters(graph, rows, sizes.most(), threads_);
    found = number_coupled(graph, cluster);
  } while (sizes.grow(found));
  return aggregates_of(backend, blocks, cluster, std::min(found, count), found);
}

template <Scalar T>
Aggregates HostCoarseOps<T>::neighbourhoods(const Backend& backend, const AnyCsrView<T>& matrix,
                                            const BlockPartition& blocks, double share) {
  const CsrMatrix<double> graph = graph_of<T>(matrix, blocks, threads_);
  std::vector<index_t> roots = independent_set_roots(graph, share, threads_);
  const index_t found = number_coupled(graph, roots);
  return aggregates_of(backend, blocks, roots, found, found);
}

template <Scalar T>
CoarseSpace<T> HostCoarseOps<T>::ones(const Backend& backend, const Aggregates& aggregates, index_t components) {
  const std::span<const index_t> of_row = span_of(aggregates.of_row);
  const auto pair = [&](std::size_t i) { return of_row[i] * components + static_cast<index_t>(i) % components; };
  std::vector<index_t> column(at(aggregates.count * components), 0), group(of_row.size(), no_group);
  for (std::size_t i = 0; i < of_row.size(); ++i)
    if (of_row[i] != no_group) column[at(pair(i))] = 1;
  const std::vector<offset_t> before = sums_before(column);
  for (std::size_t i = 0; i < of_row.size(); ++i)
    if (of_row[i] != no_group) group[i] = static_cast<index_t>(before[at(pair(i))]);
  const auto order = static_cast<index_t>(before.back());
  return {order, order, 1, array_of(backend, group), Array<index_t>(backend, 0), Array<T>(backend, 0)};
}

template <Scalar T>
CoarseSpace<T> HostCoarseOps<T>::orthonormal(const Backend& backend, const Aggregates& aggregates,
                                             const Array<T>& vectors, index_t count) {
  const std::span<const index_t> of_row = span_of(aggregates.of_row);
  const auto width = static_cast<std::size_t>(count);
  const C* const all = compute_cast(vectors.data());
  std::vector<double> most(width, 0.0);
  for (std::size_t k = 0; k < vectors.size(); ++k)
    most[k % width] = std::max(most[k % width], static_cast<double>(abs1(all[k])));
  Array<T> values(backend, vectors.size());
  values.zero();
  C* const z = compute_cast(values.data());
  const Members own(of_row, aggregates.count);
  std::vector<index_t> ranks(at(aggregates.count));
  FirstException failure;
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (vectors.size() > worth_threads)
  for (index_t a = 0; a < aggregates.count; ++a)
    failure.run([&] {
      const std::span<const index_t> rows = own.of(a);
      std::vector columns(width, std::vector<accumulator_t<C>>(rows.size()));
      for (std::size_t v = 0; v < width; ++v)
        for (std::size_t i = 0; i < rows.size(); ++i)
          if (most[v] > 0.0) columns[v][i] = (1.0 / most[v]) * widen(all[at(rows[i]) * width + v]);
      const std::size_t rank = orthonormalize(columns, std::sqrt(std::numeric_limits<real_t<T>>::epsilon()));
      for (std::size_t v = 0; v < rank; ++v)
        for (std::size_t i = 0; i < rows.size(); ++i) z[at(rows[i]) * width + v] = narrow<C>(columns[v][i]);
      ranks[at(a)] = static_cast<index_t>(rank);
    });
  failure.rethrow();
  const std::vector<offset_t> sums = sums_before(ranks);
  return {static_cast<index_t>(sums.back()),
          aggregates.count,
          count,
          array_of(backend, std::vector<index_t>(of_row.begin(), of_row.end())),
          array_of(backend, std::vector<index_t>(sums.begin(), sums.end())),
          std::move(values)};
}

template <Scalar T>
CoarsePatterns HostCoarseOps<T>::patterns(const Backend& backend, CoarseSide side, const AnyCsrView<T>& matrix,
                                          const CoarseSpace<T>& z) {
  return std::visit(
      [&](const auto& view) {
        return PatternBuilder(backend, side, view.rows, view.cols, span_of(z.group), span_of(z.first), z.groups,
                              z.order, z.values.size() > 0)
            .build(view, threads_);
      },
      matrix);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                    \
  template Aggregates HostCoarseOps<T>::neighbourhoods(const Backend&, const AnyCsrView<T>&, const BlockPartition&,   \
                                                       double);                                                       \
  template Aggregates HostCoarseOps<T>::aggregate(const Backend&, const AnyCsrView<T>&, const BlockPartition&,        \
                                                  index_t);                                                           \
  template CoarseSpace<T> HostCoarseOps<T>::ones(const Backend&, const Aggregates&, index_t);                         \
  template CoarseSpace<T> HostCoarseOps<T>::orthonormal(const Backend&, const Aggregates&, const Array<T>&, index_t); \
  template CoarsePatterns HostCoarseOps<T>::patterns(const Backend&, CoarseSide, const AnyCsrView<T>&,                \
                                                     const CoarseSpace<T>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
