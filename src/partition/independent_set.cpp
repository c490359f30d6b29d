#include "partition/independent_set.hpp"

#include "core/shared/independent_set.hpp"
#include "core/worth_threads.hpp"

#include <algorithm>

namespace blockjacobi::detail {

namespace {

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// Without the edges that are not strong.
class StrongGraph {
 public:
  StrongGraph(const CsrMatrix<double>& graph, double share, int threads)
      : graph_(graph.view()), share_(share), threads_(graph.nnz() > worth_threads ? threads : 1) {
    largest_.resize(at(size()));
    for_each_vertex([&](index_t v) {
      double& largest = largest_[at(v)];
      for (offset_t k = graph_.row_offsets[v]; k < graph_.row_offsets[v + 1]; ++k)
        largest = std::max(largest, graph_.values[k]);
    });
  }

  index_t size() const { return graph_.rows; }
  bool has_edges(index_t v) const { return largest_[at(v)] > 0.0; }
  template <class Visit>
  void for_each_vertex(Visit&& visit) const {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (index_t v = 0; v < size(); ++v) visit(v);
  }
  /// visit(neighbour, weight)
  template <class Visit>
  void for_each_neighbour(index_t v, Visit&& visit) const {
    for (offset_t k = graph_.row_offsets[v]; k < graph_.row_offsets[v + 1]; ++k) {
      const index_t j = graph_.columns[k];
      if (is_strong(graph_.values[k], largest_[at(v)], largest_[at(j)], share_)) visit(j, graph_.values[k]);
    }
  }

 private:
  CsrView<double, offset_t> graph_;
  double share_;
  int threads_;
  std::vector<double> largest_;  ///< weight at a vertex
};

/// The last of a vertex's own standing and its neighbours'.
Standing last_beside(const StrongGraph& graph, index_t v, const std::vector<Standing>& standings) {
  Standing last = standings[at(v)];
  graph.for_each_neighbour(v, [&](index_t j, double) { last = later(last, standings[at(j)]); });
  return last;
}

}  // namespace

std::vector<index_t> independent_set_roots(const CsrMatrix<double>& matrix, double share, int threads) {
  const StrongGraph graph(matrix, share, threads);
  std::vector<Standing> own(at(graph.size())), beside(own.size(), outside_set);
  const auto look_beside = [&] {
    graph.for_each_vertex([&](index_t v) {
      if (!is_inside(beside[at(v)])) beside[at(v)] = last_beside(graph, v, own);
    });
  };
  graph.for_each_vertex([&](index_t v) { own[at(v)] = graph.has_edges(v) ? undecided(v) : outside_set; });
  while (std::ranges::any_of(own, is_undecided)) {
    look_beside();
    graph.for_each_vertex([&](index_t v) {
      if (is_undecided(own[at(v)])) own[at(v)] = decided(own[at(v)], last_beside(graph, v, beside));
    });
  }
  look_beside();

  std::vector<index_t> roots(own.size());
  graph.for_each_vertex([&](index_t v) {
    Lead best{0.0, beside[at(v)]};
    if (!is_inside(best.beside))
      graph.for_each_neighbour(v, [&](index_t j, double weight) {
        const Lead lead{weight, beside[at(j)]};
        if (is_inside(lead.beside) && is_stronger(lead, best)) best = lead;
      });
    roots[at(v)] = is_inside(best.beside) ? vertex_of(best.beside) : v;
  });
  return roots;
}

}  // namespace blockjacobi::detail
