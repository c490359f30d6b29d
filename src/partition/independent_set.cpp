#include "partition/independent_set.hpp"

#include "core/shared/independent_set.hpp"
#include "core/worth_threads.hpp"

#include <algorithm>
#include <numeric>

namespace blockjacobi::detail {

namespace {

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// Without the edges that are not strong.
class StrongGraph {
 public:
  StrongGraph(const CsrMatrix<double>& graph, double share, int threads)
      : threads_(graph.nnz() > worth_threads ? threads : 1), begin_(graph.row_offsets().size(), 0) {
    const auto g = graph.view();
    std::vector<double> largest(at(g.rows), 0.0);
    for_each_vertex([&](index_t v) {
      for (offset_t k = g.row_offsets[v]; k < g.row_offsets[v + 1]; ++k)
        largest[at(v)] = std::max(largest[at(v)], g.values[k]);
    });
    const auto for_each_strong = [&](index_t v, auto&& visit) {
      for (offset_t k = g.row_offsets[v]; k < g.row_offsets[v + 1]; ++k)
        if (is_strong(g.values[k], largest[at(v)], largest[at(g.columns[k])], share)) visit(g.columns[k], g.values[k]);
    };
    for_each_vertex([&](index_t v) { for_each_strong(v, [&](index_t, double) { ++begin_[at(v) + 1]; }); });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    neighbours_.resize(at(begin_.back()));
    weights_.resize(neighbours_.size());
    for_each_vertex([&](index_t v) {
      std::size_t edge = at(begin_[at(v)]);
      for_each_strong(v, [&](index_t j, double weight) {
        neighbours_[edge] = j;
        weights_[edge++] = weight;
      });
    });
  }

  index_t size() const { return static_cast<index_t>(begin_.size() - 1); }
  template <class Visit>
  void for_each_vertex(Visit&& visit) const {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (index_t v = 0; v < size(); ++v) visit(v);
  }
  /// visit(neighbour, weight)
  template <class Visit>
  void for_each_neighbour(index_t v, Visit&& visit) const {
    for (std::size_t k = at(begin_[at(v)]); k < at(begin_[at(v) + 1]); ++k) visit(neighbours_[k], weights_[k]);
  }

 private:
  int threads_;
  std::vector<offset_t> begin_;
  std::vector<index_t> neighbours_;
  std::vector<double> weights_;
};

/// The last of a vertex's own standing and its neighbours'.
Standing last_beside(const StrongGraph& graph, index_t v, const std::vector<Standing>& standings) {
  Standing last = standings[at(v)];
  graph.for_each_neighbour(v, [&](index_t j, double) { last = later(last, standings[at(j)]); });
  return last;
}

}  // namespace

std::vector<index_t> independent_set_roots(const CsrMatrix<double>& graph, double share, int threads) {
  const StrongGraph strong(graph, share, threads);
  std::vector<Standing> own(at(strong.size())), beside(own.size(), outside_set);
  const auto look_beside = [&] {
    strong.for_each_vertex([&](index_t v) {
      if (!is_inside(beside[at(v)])) beside[at(v)] = last_beside(strong, v, own);
    });
  };
  strong.for_each_vertex([&](index_t v) { own[at(v)] = undecided(v); });
  while (std::ranges::any_of(own, is_undecided)) {
    look_beside();
    strong.for_each_vertex([&](index_t v) {
      if (is_undecided(own[at(v)])) own[at(v)] = decided(own[at(v)], last_beside(strong, v, beside));
    });
  }
  look_beside();

  std::vector<index_t> roots(own.size());
  strong.for_each_vertex([&](index_t v) {
    Lead best{0.0, beside[at(v)]};
    if (!is_inside(best.beside))
      strong.for_each_neighbour(v, [&](index_t j, double weight) {
        const Lead lead{weight, beside[at(j)]};
        if (is_inside(lead.beside) && is_stronger(lead, best)) best = lead;
      });
    roots[at(v)] = vertex_of(best.beside);
  });
  return roots;
}

}  // namespace blockjacobi::detail
