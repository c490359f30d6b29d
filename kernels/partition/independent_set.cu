#include "kernels/partition/list_kernels.cuh"

// Aggregates around an independent set. A round is decided from the state before it; candidates come in any order,
// since the rules pick the last by a total order.

namespace blockjacobi::kernels {

namespace {

using detail::Lead;
using detail::Standing;

struct BeginStandings {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists graph;
  StandingLists of;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    double largest = 0.0;
    for (offset_t k = team.rank(); k < graph.length[v]; k += team.size())
      largest = fmax(largest, graph.weights[graph.begin[v] + k]);
    largest = team.reduce(largest, [](double a, double b) { return fmax(a, b); });
    if (team.rank() != 0) return;
    of.largest[v] = largest;
    of.own[v] = detail::undecided(v);
    of.beside[v] = detail::outside_set;
  }
};

struct ChooseStrong {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists graph;
  StandingLists of;
  double share;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    const double largest = of.largest[v];
    for (offset_t k = team.rank(); k < graph.length[v]; k += team.size()) {
      const offset_t entry = graph.begin[v] + k;
      const index_t j = graph.neighbours[entry];
      of.strong[entry] = detail::is_strong(graph.weights[entry], largest, of.largest[j], share) ? j : v;
    }
  }
};

/// The last of the standings of v and its neighbours over strong edges; v stands in its own list where others do not.
template <class Team>
__device__ Standing last_beside(const Team& team, const GraphLists& graph, const index_t* strong, index_t v,
                                const Standing* standings) {
  const auto last = [](Standing a, Standing b) { return detail::later(a, b); };
  const index_t* const neighbours = strong + graph.begin[v];
  Standing found = standings[v];
  for (offset_t k = team.rank(); k < graph.length[v]; k += team.size()) found = last(found, standings[neighbours[k]]);
  return team.reduce(found, last);
}

struct LookBeside {
  static constexpr bool tallies = false, picks = true;
  index_t count;
  GraphLists graph;
  StandingLists of;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  __device__ bool wants(index_t v) const { return !detail::is_inside(of.beside[v]); }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    const Standing last = last_beside(team, graph, of.strong, v, of.own);
    if (team.rank() == 0) of.beside[v] = last;
  }
};

struct Decide {
  static constexpr bool tallies = false, picks = true;
  index_t count;
  GraphLists graph;
  StandingLists of;
  index_t* left;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  __device__ bool wants(index_t v) const { return detail::is_undecided(of.own[v]); }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    const Standing last = last_beside(team, graph, of.strong, v, of.beside);
    if (team.rank() != 0) return;
    const Standing own = detail::decided(of.own[v], last);
    of.own[v] = own;
    if (detail::is_undecided(own)) *left = 1;
  }
};

struct JoinRoots {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists graph;
  StandingLists of;
  index_t* roots;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    Lead best{0.0, of.beside[v]};
    if (!detail::is_inside(best.beside)) {
      for (offset_t k = team.rank(); k < graph.length[v]; k += team.size()) {
        const offset_t entry = graph.begin[v] + k;
        const Lead lead{graph.weights[entry], of.beside[of.strong[entry]]};
        if (detail::is_inside(lead.beside) && is_stronger(lead, best)) best = lead;
      }
      best = team.reduce(best, [](const Lead& a, const Lead& b) { return is_stronger(b, a) ? b : a; });
    }
    if (team.rank() == 0) roots[v] = detail::vertex_of(best.beside);
  }
};

}  // namespace

void begin_standings(const GraphLists& graph, double share, const StandingLists& of, CUstream_st* stream) {
  work_by_eights(BeginStandings{graph.vertices, graph, of}, graph.longest, "begin_standings", stream);
  work_by_eights(ChooseStrong{graph.vertices, graph, of, share}, graph.longest, "choose_strong", stream);
}

void look_beside(const GraphLists& graph, const StandingLists& of, CUstream_st* stream) {
  work_by_eights(LookBeside{graph.vertices, graph, of}, graph.longest, "look_beside", stream);
}

void decide(const GraphLists& graph, const StandingLists& of, index_t* left, CUstream_st* stream) {
  work_by_eights(Decide{graph.vertices, graph, of, left}, graph.longest, "decide", stream);
}

void join_roots(const GraphLists& graph, const StandingLists& of, index_t* roots, CUstream_st* stream) {
  work_by_eights(JoinRoots{graph.vertices, graph, of, roots}, graph.longest, "join_roots", stream);
}

}  // namespace blockjacobi::kernels
