#include "backend/backend_impl.hpp"
#include "core/shared/independent_set.hpp"
#include "matrices/generators/stencil.hpp"
#include "partition/magnitudes.hpp"
#include "partition/strength_graph.hpp"
#include "support/backends.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace blockjacobi::test {
namespace {

using detail::Standing;

template <class Case>
class NeighbourhoodsOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(NeighbourhoodsOnBackend, BackendCases, BackendCaseName);

/// The neighbours of each vertex over strong edges, and the weights of these.
using StrongEdges = std::vector<std::map<index_t, double>>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

StrongEdges strong_edges(const CsrMatrix<double>& graph, double share) {
  StrongEdges edges(at(graph.rows()));
  std::vector<double> largest(edges.size(), 0.0);
  const auto g = graph.view();
  const auto for_each_entry = [&](auto&& visit) {
    for (index_t v = 0; v < g.rows; ++v)
      for (offset_t k = g.row_offsets[v]; k < g.row_offsets[v + 1]; ++k) visit(v, g.columns[k], g.values[k]);
  };
  for_each_entry([&](index_t v, index_t, double w) { largest[at(v)] = std::max(largest[at(v)], w); });
  for_each_entry([&](index_t v, index_t j, double w) {
    if (w >= share * largest[at(v)] && w >= share * largest[at(j)]) edges[at(v)][j] = w;
  });
  return edges;
}

std::vector<index_t> last_standing_first(std::size_t vertices) {
  std::vector<index_t> order(vertices);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater<>{}, detail::undecided);
  return order;
}

/// The set that rounds find is the one that vertices enter one by one, the last standing first.
std::vector<index_t> roots_one_by_one(const StrongEdges& edges) {
  std::vector<index_t> roots(edges.size(), -1);  // of the set, and of those beside it
  for (const index_t v : last_standing_first(edges.size())) {
    const auto is_free = [&](const auto& edge) { return roots[at(edge.first)] < 0; };
    if (roots[at(v)] >= 0 || !std::ranges::all_of(edges[at(v)], is_free)) continue;
    roots[at(v)] = v;
    for (const auto& [j, weight] : edges[at(v)]) roots[at(j)] = v;
  }
  std::vector<index_t> all = roots;
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (roots[v] >= 0) continue;
    const auto rank = [&](const auto& edge) {
      const index_t root = roots[at(edge.first)];
      return root < 0 ? std::pair{-1.0, Standing{0}} : std::pair{edge.second, detail::undecided(root)};
    };
    all[v] = roots[at(std::ranges::max_element(edges[v], {}, rank)->first)];
  }
  return all;
}

struct Found {
  std::vector<index_t> of_row;
  index_t count = 0, uncovered_rows = 0;

  friend bool operator==(const Found&, const Found&) = default;
};

/// Numbered as their first vertices follow each other.
template <Scalar T>
Found expected(const CsrMatrix<T>& matrix, const BlockPartition& blocks, double share) {
  const CsrMatrix<double> graph = detail::strength_graph(detail::magnitudes(matrix.view()), blocks.offsets(), 1);
  const std::vector<index_t> roots = roots_one_by_one(strong_edges(graph, share));
  std::map<index_t, index_t> numbers;
  Found found;
  for (index_t v = 0; v < blocks.blocks(); ++v) {
    const bool has_neighbours = graph.row_offsets()[at(v)] != graph.row_offsets()[at(v) + 1];
    index_t number = detail::no_group;
    if (has_neighbours) number = numbers.emplace(roots[at(v)], static_cast<index_t>(numbers.size())).first->second;
    if (!has_neighbours) found.uncovered_rows += blocks.block_size(v);
    found.of_row.insert(found.of_row.end(), at(blocks.block_size(v)), number);
  }
  found.count = static_cast<index_t>(numbers.size());
  return found;
}

template <Scalar T>
Found expect_those_one_by_one(const Backend& backend, const CsrMatrix<T>& host_matrix, const BlockPartition& blocks,
                              const char* what) {
  const SparseMatrix<T> matrix(backend, host_matrix);
  Found last;
  for (const double share : {0.0, 0.1, 1.0, 0.25}) {
    const detail::Aggregates aggregates =
        detail::coarse_ops<T>(backend).neighbourhoods(backend, matrix.view(), blocks, share);
    last = {aggregates.of_row.to_host(), aggregates.count, aggregates.uncovered_rows};
    EXPECT_TRUE(last == expected(host_matrix, blocks, share)) << what << ", share " << share;
  }
  return last;
}

template <Scalar T>
T random_value(Random& random) {
  return random.scalar<T>() * static_cast<real_t<T>>(std::ldexp(1.0, -random.index(5)));
}

/// Of no symmetric pattern; some rows have no neighbours, row 0 has a thousand.
template <Scalar T>
CsrMatrix<T> random_matrix(index_t n) {
  Random random(91);
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, T(1)});
    if (i % 50 == 7) continue;
    for (index_t k = random.index(9); k > 0; --k) {
      const index_t j = random.index(2) == 0 ? random.index(n) : std::clamp(i + random.index(21) - 10, 0, n - 1);
      if (j % 50 != 7) entries.push_back({i, j, random_value<T>(random)});
    }
    if (i % (n / 1000) == 0) entries.push_back({0, i, random_value<T>(random)});
  }
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

/// A chain of `waiting` rows each of which is decided after the one before it, then a row with 200 neighbours that wait
/// for it; the others, in a chain of their own, need few rounds.
template <Scalar T>
CsrMatrix<T> matrix_of_waiting_rows(index_t n, index_t waiting) {
  std::vector<index_t> order = last_standing_first(at(n));
  const index_t others = waiting + 201;
  std::sort(order.begin() + others, order.end());
  std::vector<Triplet<T>> entries;
  const auto tie = [&](index_t k, index_t l) {
    entries.push_back({order[at(k)], order[at(l)], T(-1)});
    entries.push_back({order[at(l)], order[at(k)], T(-1)});
  };
  for (index_t k = 0; k < n; ++k) {
    entries.push_back({k, k, T(4)});
    if (k > 0 && k != others) tie(k < others ? std::min(k - 1, waiting) : k - 1, k);
  }
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

/// Blocks of 1, 2, 3 .. 40, 1, 2 .. rows.
std::vector<index_t> ragged_offsets(index_t rows) {
  std::vector<index_t> offsets{0};
  for (index_t size = 1; offsets.back() < rows; size = size % 40 + 1)
    offsets.push_back(std::min(rows, offsets.back() + size));
  return offsets;
}

TYPED_TEST(NeighbourhoodsOnBackend, OfGrids) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto grid = matrices::stencil<T>({.grid = {19, 14, 11}});
  const Found found = expect_those_one_by_one<T>(backend, grid, BlockPartition::uniform(grid.rows(), 1), "grid");
  // One point and its neighbours, or more.
  EXPECT_LT(found.count, grid.rows() / 7);
  const auto jumps = matrices::stencil<T>({.grid = {17, 13, 9}, .contrast = 1000.0});
  expect_those_one_by_one<T>(backend, jumps, BlockPartition::uniform(jumps.rows(), 1), "jumps");
  const auto nodes = matrices::stencil<T>({.grid = {13, 9, 7}, .unknowns = 3});
  expect_those_one_by_one<T>(backend, nodes, BlockPartition::uniform(nodes.rows(), 3), "nodes");
  const auto ragged = BlockPartition::from_offsets(ragged_offsets(nodes.rows()));
  expect_those_one_by_one<T>(backend, nodes, ragged, "ragged nodes");
}

TYPED_TEST(NeighbourhoodsOnBackend, OfRowsOfEveryLength) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto matrix = random_matrix<T>(4000);
  const Found found = expect_those_one_by_one<T>(backend, matrix, BlockPartition::uniform(4000, 1), "rows");
  EXPECT_GE(found.uncovered_rows, 80);
  expect_those_one_by_one<T>(backend, matrix, BlockPartition::uniform(4000, 2), "pairs");
}

TYPED_TEST(NeighbourhoodsOnBackend, OfRowsThatWaitForManyRounds) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t waiting : {300, 301, 302}) {  // the row with many neighbours in the set, beside it, further away
    const auto matrix = matrix_of_waiting_rows<T>(4000, waiting);
    expect_those_one_by_one<T>(backend, matrix, BlockPartition::uniform(4000, 1), "waiting rows");
  }
}

TYPED_TEST(NeighbourhoodsOnBackend, OfMoreThan65536Rows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto chain = matrices::stencil<T>({.grid = {70001, 1, 1}});
  const Found found = expect_those_one_by_one<T>(backend, chain, BlockPartition::uniform(70001, 1), "chain");
  EXPECT_LE(found.count, (70001 + 2) / 3);
}

TYPED_TEST(NeighbourhoodsOnBackend, OfNothingThatIsCoupled) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> diagonal(3, 3, {0, 1, 2, 3}, {0, 1, 2}, {T(1), T(2), T(3)});
  const Found found = expect_those_one_by_one<T>(backend, diagonal, BlockPartition::uniform(3, 1), "diagonal");
  EXPECT_EQ(found.count, 0);
  EXPECT_EQ(found.uncovered_rows, 3);
  expect_those_one_by_one<T>(backend, CsrMatrix<T>(0, 0, {0}, {}, {}), BlockPartition::uniform(0, 1), "nothing");
}

}  // namespace
}  // namespace blockjacobi::test
