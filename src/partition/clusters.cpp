#include "partition/clusters.hpp"

#include "core/first_exception.hpp"
#include "core/shared/cluster_rules.hpp"
#include "core/worth_threads.hpp"
#include "partition/strength_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

namespace blockjacobi::detail {

namespace {

constexpr index_t none = no_vertex;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// Vertices, their edges, and the rows that each stands for.
struct Level {
  CsrMatrix<double> graph;
  std::vector<index_t> rows;
  std::vector<index_t> coarse;  ///< the vertex of the next level that a vertex became part of

  index_t size() const { return graph.rows(); }
};

/// visit(neighbour, weight)
template <class Visit>
void for_each_neighbour(const CsrMatrix<double>& graph, index_t v, Visit&& visit) {
  const auto g = graph.view();
  for (offset_t k = g.row_offsets[v]; k < g.row_offsets[v + 1]; ++k) visit(g.columns[k], g.values[k]);
}

/// The free neighbour that attracts vertex i most, of those that it fits together with.
index_t wish(const Level& level, const std::vector<index_t>& mate, index_t i, index_t max_size) {
  Wish best;
  for_each_neighbour(level.graph, i, [&](index_t j, double w) {
    if (mate[at(j)] != none || !fits(level.rows[at(i)], level.rows[at(j)], max_size)) return;
    const Wish wish = wish_for(i, level.rows[at(i)], j, level.rows[at(j)], w);
    if (is_stronger(wish, best)) best = wish;
  });
  return best.vertex;
}

/// The mate of each vertex, none for those that stay alone.
std::vector<index_t> match(const Level& level, index_t max_size, int threads) {
  [[maybe_unused]] const int workers = level.graph.nnz() > worth_threads ? threads : 1;
  std::vector<index_t> mate(at(level.size()), none), wishes(at(level.size()), none);
  bool any = true;
  for (int round = 0; round < match_rounds && any; ++round) {
    any = false;
#pragma omp parallel for num_threads(workers) schedule(static) reduction(|| : any)
    for (index_t i = 0; i < level.size(); ++i) {
      wishes[at(i)] = mate[at(i)] == none ? wish(level, mate, i, max_size) : none;
      any = any || wishes[at(i)] != none;
    }
#pragma omp parallel for num_threads(workers) schedule(static)
    for (index_t i = 0; i < level.size(); ++i)
      if (const index_t j = wishes[at(i)]; j != none && wishes[at(j)] == i) mate[at(i)] = j;
  }
  return mate;
}

/// The next level, whose vertices are the pairs and those that stay alone, in the order of their first vertices.
Level contract(Level& level, const std::vector<index_t>& mate, int threads) {
  std::vector<index_t> first;
  level.coarse.resize(at(level.size()));
  for (index_t i = 0; i < level.size(); ++i) {
    const bool follows = mate[at(i)] != none && mate[at(i)] < i;
    level.coarse[at(i)] = follows ? level.coarse[at(mate[at(i)])] : static_cast<index_t>(first.size());
    if (!follows) first.push_back(i);
  }
  const auto count = static_cast<index_t>(first.size());
  // visit(vertex) for the vertices of a pair
  const auto for_each_member = [&](index_t v, auto&& visit) {
    visit(first[at(v)]);
    if (mate[at(first[at(v)])] != none) visit(mate[at(first[at(v)])]);
  };

  Level next;
  next.rows.assign(at(count), 0);
  EdgeLists lists;
  lists.bounds.assign(at(count) + 1, 0);
  for (index_t v = 0; v < count; ++v)
    for_each_member(v, [&](index_t i) {
      next.rows[at(v)] += level.rows[at(i)];
      for_each_neighbour(level.graph, i, [&](index_t j, double) {
        if (level.coarse[at(j)] != v) ++lists.bounds[at(v) + 1];
      });
    });
  for (std::size_t v = 1; v < lists.bounds.size(); ++v) lists.bounds[v] += lists.bounds[v - 1];
  lists.edges.resize(static_cast<std::size_t>(lists.bounds.back()));
#pragma omp parallel for num_threads(threads) schedule(static) if (lists.bounds.back() > worth_threads)
  for (index_t v = 0; v < count; ++v) {
    auto edge = static_cast<std::size_t>(lists.bounds[at(v)]);
    for_each_member(v, [&](index_t i) {
      for_each_neighbour(level.graph, i, [&](index_t j, double w) {
        if (level.coarse[at(j)] != v) lists.edges[edge++] = {level.coarse[at(j)], w};
      });
    });
  }
  next.graph = sum_parallel_edges(std::move(lists), threads);
  return next;
}

/// A wish of a vertex to leave its cluster for another.
struct Move {
  index_t to;
  Mover mover;

  /// Those to one cluster stand together, the most welcome first.
  friend bool operator<(const Move& a, const Move& b) {
    return a.to != b.to ? a.to < b.to : is_more_welcome(a.mover, b.mover);
  }
};

class Clusters {
 public:
  explicit Clusters(const Level& coarsest, index_t max_size)
      : max_size_(max_size), of_vertex_(at(coarsest.size())), rows_(coarsest.rows) {
    std::iota(of_vertex_.begin(), of_vertex_.end(), 0);
  }

  /// From the vertices of the level above to those of `level`, then moves.
  void refine(const Level& level, int threads) {
    std::vector<index_t> finer(at(level.size()));
    for (std::size_t i = 0; i < finer.size(); ++i) finer[i] = of_vertex_[at(level.coarse[i])];
    of_vertex_ = std::move(finer);
    for (int round = 0; round < move_rounds; ++round) move(level, round, threads);
  }

  /// Numbered as their first vertices follow each other.
  std::vector<index_t> numbered() && {
    std::vector<index_t> number(rows_.size(), none);
    index_t count = 0;
    for (index_t& c : of_vertex_) {
      if (number[at(c)] == none) number[at(c)] = count++;
      c = number[at(c)];
    }
    return std::move(of_vertex_);
  }

 private:
  void move(const Level& level, int round, [[maybe_unused]] int threads) {
    std::vector<Move> moves;
    FirstException failure;
#pragma omp parallel num_threads(threads) if (level.graph.nnz() > worth_threads)
    {
      std::vector<Move> own;
      std::vector<Edge> ties;
#pragma omp for schedule(static) nowait
      for (index_t i = 0; i < level.size(); ++i)
        if (gives(of_vertex_[at(i)], round)) failure.run([&] { add_move(level, i, round, ties, own); });
#pragma omp critical
      failure.run([&] { moves.insert(moves.end(), own.begin(), own.end()); });
    }
    failure.rethrow();
    std::ranges::sort(moves, std::less<>{});
    for (const Move& m : moves) {
      index_t& cluster = of_vertex_[at(m.mover.vertex)];
      const index_t size = level.rows[at(m.mover.vertex)];
      if (!fits(rows_[at(m.to)], size, max_size_)) continue;
      rows_[at(m.to)] += size;
      rows_[at(cluster)] -= size;
      cluster = m.to;
    }
  }

  /// To the cluster with room that vertex i is tied to most, if that is more than it is tied to its own.
  void add_move(const Level& level, index_t i, int round, std::vector<Edge>& ties, std::vector<Move>& moves) const {
    const index_t own = of_vertex_[at(i)];
    double to_own = 0.0;
    ties.clear();
    for_each_neighbour(level.graph, i, [&](index_t j, double w) {
      const index_t c = of_vertex_[at(j)];
      if (c == own)
        to_own += w;
      else if (!gives(c, round) && fits(rows_[at(c)], level.rows[at(i)], max_size_))
        ties.push_back({c, w});
    });
    std::ranges::sort(ties, {}, &Edge::to);
    Tie best;
    for (auto tie = ties.cbegin(); tie != ties.cend();) {
      Tie sum{tie->to, 0.0};
      for (; tie != ties.cend() && tie->to == sum.cluster; ++tie) sum.weight += tie->weight;
      if (is_stronger(sum, best)) best = sum;
    }
    if (best.cluster != none && best.weight > to_own) moves.push_back({best.cluster, {i, best.weight - to_own}});
  }

  index_t max_size_;
  std::vector<index_t> of_vertex_;
  std::vector<index_t> rows_;  ///< of a cluster
};

}  // namespace

std::vector<index_t> clusters(CsrMatrix<double> graph, std::vector<index_t> rows, index_t max_size, int threads) {
  std::vector<Level> levels(1);
  levels[0].graph = std::move(graph);
  levels[0].rows = std::move(rows);
  while (true) {
    const std::vector<index_t> mate = match(levels.back(), max_size, threads);
    if (std::ranges::all_of(mate, [](index_t m) { return m == none; })) break;
    Level next = contract(levels.back(), mate, threads);
    levels.push_back(std::move(next));
  }
  Clusters result(levels.back(), max_size);
  for (std::size_t l = levels.size() - 1; l-- > 0;) result.refine(levels[l], threads);
  return std::move(result).numbered();
}

}  // namespace blockjacobi::detail
