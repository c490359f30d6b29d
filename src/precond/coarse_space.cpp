#include "precond/coarse_space.hpp"

#include "core/first_exception.hpp"
#include "core/message.hpp"
#include "core/worth_threads.hpp"
#include "partition/clusters.hpp"
#include "partition/strength_graph.hpp"

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace blockjacobi::detail {

namespace {

constexpr index_t none = Aggregates::none;
/// Rows that an aggregate may have, over the mean, in the first attempt; clusters are never quite full.
constexpr double room = 1.3;
constexpr double more_room = 1.1;  ///< from one attempt to the next
constexpr int max_attempts = 16;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// Numbers the clusters of more than one vertex and those of one with neighbours; returns how many there are.
index_t number_coupled(const CsrMatrix<double>& graph, std::vector<index_t>& cluster) {
  std::vector<index_t> number(cluster.size(), none);
  index_t count = 0;
  for (std::size_t v = 0; v < cluster.size(); ++v) {
    if (graph.row_offsets()[v] == graph.row_offsets()[v + 1]) {
      cluster[v] = none;
      continue;
    }
    index_t& own = number[at(cluster[v])];
    if (own == none) own = count++;
    cluster[v] = own;
  }
  return count;
}

/// The rows of each aggregate, in ascending order: those of a are rows[bounds[a]] .. rows[bounds[a + 1] - 1].
struct AggregateRows {
  explicit AggregateRows(const Aggregates& aggregates) : bounds(at(aggregates.count) + 1, 0) {
    for (const index_t a : aggregates.of_row)
      if (a != none) ++bounds[at(a) + 1];
    std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
    rows.resize(at(bounds.back()));
    std::vector<index_t> next(bounds.begin(), bounds.end() - 1);
    for (std::size_t i = 0; i < aggregates.of_row.size(); ++i)
      if (const index_t a = aggregates.of_row[i]; a != none) rows[at(next[at(a)]++)] = static_cast<index_t>(i);
  }

  std::vector<index_t> bounds, rows;
};

template <Scalar T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// An orthonormal basis of the columns.
template <Scalar T>
Dense<T> basis_of(const Dense<T>& columns) {
  Eigen::ColPivHouseholderQR<Dense<T>> qr(columns.rows(), columns.cols());
  qr.setThreshold(std::sqrt(std::numeric_limits<real_t<T>>::epsilon()));
  qr.compute(columns);
  return qr.householderQ() * Dense<T>::Identity(columns.rows(), qr.rank());
}

/// What an entry of A contributes to an element of a product.
template <Scalar T>
struct Term {
  index_t column;
  index_t entry;
  T weight;
};

/// The map from the terms of each row: visit(i, add) calls add(column, entry, weight) for each of row i.
template <Scalar T, class Visit>
ProductMap<T> product_map(index_t rows, index_t columns, offset_t entries, [[maybe_unused]] int threads, Visit visit) {
  std::vector<std::vector<Term<T>>> terms(at(rows));
  FirstException failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (entries > worth_threads)
  for (index_t i = 0; i < rows; ++i)
    failure.run([&] {
      std::vector<Term<T>>& own = terms[at(i)];
      visit(i, [&](index_t column, offset_t entry, T weight) {
        own.push_back({column, static_cast<index_t>(entry), weight});
      });
      std::ranges::stable_sort(own, {}, &Term<T>::column);
    });
  failure.rethrow();

  std::vector<offset_t> row_offsets{0}, term_offsets{0};
  std::vector<index_t> pattern, sources;
  std::vector<T> weights;
  for (std::vector<Term<T>>& own : terms) {
    for (std::size_t t = 0; t < own.size(); ++t) {
      if (t == 0 || own[t].column != own[t - 1].column) {
        pattern.push_back(own[t].column);
        term_offsets.push_back(term_offsets.back());
      }
      sources.push_back(own[t].entry);
      weights.push_back(own[t].weight);
      ++term_offsets.back();
    }
    row_offsets.push_back(static_cast<offset_t>(pattern.size()));
    own = {};
  }
  const std::size_t count = pattern.size();
  if (count > at(std::numeric_limits<index_t>::max()) || sources.size() > at(std::numeric_limits<index_t>::max()))
    throw InvalidArgument(
        message("TwoLevel: the products with the coarse space have {} elements of {} terms, can have {} of either",
                count, sources.size(), std::numeric_limits<index_t>::max()));
  return {CsrMatrix<T>(rows, columns, std::move(row_offsets), std::move(pattern), std::vector<T>(count)),
          CsrMatrix<T>(static_cast<index_t>(count), static_cast<index_t>(entries), std::move(term_offsets),
                       std::move(sources), std::move(weights))};
}

}  // namespace

Aggregates aggregate_blocks(const CsrMatrix<double>& magnitudes, const BlockPartition& blocks, index_t count,
                            int threads) {
  std::vector<index_t> rows(at(blocks.blocks()));
  for (index_t b = 0; b < blocks.blocks(); ++b) rows[at(b)] = blocks.block_size(b);
  const CsrMatrix<double> graph = strength_graph(magnitudes, blocks.offsets(), threads);

  double size = std::max<double>(blocks.largest_block(), std::ceil(room * blocks.rows() / count));
  std::vector<index_t> cluster;
  index_t found = 0;
  for (int attempt = 0; attempt < max_attempts; ++attempt, size *= more_room) {
    const auto max_size = static_cast<index_t>(std::min<double>(size, std::numeric_limits<index_t>::max() / 2));
    cluster = clusters(graph, rows, max_size, threads);
    found = number_coupled(graph, cluster);
    if (found <= count) break;
  }
  // why: parts of the graph never grow together, so that there may remain too many
  const index_t kept = std::min(found, count);
  Aggregates aggregates{{}, kept};
  aggregates.of_row.reserve(at(blocks.rows()));
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const index_t a = cluster[b] == none ? none : static_cast<index_t>(offset_t{cluster[b]} * kept / found);
    aggregates.of_row.insert(aggregates.of_row.end(), at(rows[b]), a);
  }
  return aggregates;
}

template <Scalar T>
CsrMatrix<T> ones_space(const Aggregates& aggregates, index_t components) {
  const auto n = static_cast<index_t>(aggregates.of_row.size());
  const auto pair = [&](index_t i) { return at(aggregates.of_row[at(i)] * components + i % components); };
  std::vector<index_t> column(at(aggregates.count * components), none);
  std::vector<Triplet<T>> entries;
  index_t count = 0;
  for (index_t i = 0; i < n; ++i) {
    if (aggregates.of_row[at(i)] == none) continue;
    index_t& own = column[pair(i)];
    if (own == none) own = count++;
    entries.push_back({i, own, T(1)});
  }
  return CsrMatrix<T>::from_triplets(n, count, entries);
}

template <Scalar T>
CsrMatrix<T> vector_space(const Aggregates& aggregates, const MultiVectorView<const T>& v,
                          [[maybe_unused]] int threads) {
  const bool by_columns = v.layout == Layout::column_major;
  const Eigen::Map<const Dense<T>, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> all(
      v.data, v.rows, v.cols, {by_columns ? v.ld : 1, by_columns ? 1 : v.ld});
  Dense<T> scaled = all;
  for (Eigen::Index j = 0; j < scaled.cols(); ++j)
    if (const auto norm = scaled.col(j).stableNorm(); norm > 0) scaled.col(j) /= norm;

  const AggregateRows own(aggregates);
  std::vector<Dense<T>> bases(at(aggregates.count));
  FirstException failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (scaled.size() > worth_threads)
  for (index_t a = 0; a < aggregates.count; ++a)
    failure.run([&] {
      const index_t first = own.bounds[at(a)], size = own.bounds[at(a) + 1] - first;
      Dense<T> columns(size, scaled.cols());
      for (index_t i = 0; i < size; ++i) columns.row(i) = scaled.row(own.rows[at(first + i)]);
      bases[at(a)] = basis_of<T>(columns);
    });
  failure.rethrow();

  std::vector<Triplet<T>> entries;
  index_t count = 0;
  for (index_t a = 0; a < aggregates.count; ++a) {
    const Dense<T>& basis = bases[at(a)];
    for (Eigen::Index i = 0; i < basis.rows(); ++i)
      for (Eigen::Index j = 0; j < basis.cols(); ++j)
        entries.push_back(
            {own.rows[at(own.bounds[at(a)] + static_cast<index_t>(i))], count + static_cast<index_t>(j), basis(i, j)});
    count += static_cast<index_t>(basis.cols());
  }
  return CsrMatrix<T>::from_triplets(v.rows, count, entries);
}

template <Scalar T>
CsrMatrix<T> conjugate_transpose(const CsrMatrix<T>& matrix) {
  const auto m = matrix.view();
  std::vector<Triplet<T>> entries;
  entries.reserve(static_cast<std::size_t>(m.nnz));
  for (index_t i = 0; i < m.rows; ++i)
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      T value = m.values[k];
      if constexpr (is_complex<T>) value = std::conj(value);
      entries.push_back({m.columns[k], i, value});
    }
  return CsrMatrix<T>::from_triplets(m.cols, m.rows, entries);
}

template <Scalar T>
ProductMap<T> product_from_left(const CsrMatrix<T>& left, const CsrMatrix<T>& a, int threads) {
  const auto L = left.view(), A = a.view();
  return product_map<T>(L.rows, A.cols, A.nnz, threads, [&](index_t c, auto add) {
    for (offset_t p = L.row_offsets[c]; p < L.row_offsets[c + 1]; ++p)
      for (offset_t k = A.row_offsets[L.columns[p]]; k < A.row_offsets[L.columns[p] + 1]; ++k)
        add(A.columns[k], k, L.values[p]);
  });
}

template <Scalar T>
ProductMap<T> product_from_right(const CsrMatrix<T>& a, const CsrMatrix<T>& right, int threads) {
  const auto A = a.view(), R = right.view();
  return product_map<T>(A.rows, R.cols, A.nnz, threads, [&](index_t i, auto add) {
    for (offset_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      for (offset_t q = R.row_offsets[A.columns[k]]; q < R.row_offsets[A.columns[k] + 1]; ++q)
        add(R.columns[q], k, R.values[q]);
  });
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                             \
  template CsrMatrix<T> ones_space(const Aggregates&, index_t);                                \
  template CsrMatrix<T> vector_space(const Aggregates&, const MultiVectorView<const T>&, int); \
  template CsrMatrix<T> conjugate_transpose(const CsrMatrix<T>&);                              \
  template ProductMap<T> product_from_left(const CsrMatrix<T>&, const CsrMatrix<T>&, int);     \
  template ProductMap<T> product_from_right(const CsrMatrix<T>&, const CsrMatrix<T>&, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
