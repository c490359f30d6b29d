#include "kernels/partition/list_kernels.cuh"

// Aggregates around an independent set. A round is decided from the state before it; candidates come in any order,
// since the rules pick the last by a total order.

namespace blockjacobi::kernels {

namespace {

using detail::Lead;
using detail::Standing;

struct LookForLargest {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists graph;
  StandingLists of;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    const auto larger = [](double a, double b) { return fmax(a, b); };
    double largest = 0.0;
    for_each_entries(members, graph, v, [&](const Entries& entries) {
#pragma unroll
      for (const double weight : entries.weights) largest = larger(largest, weight);
    });
    largest = members.reduce(largest, larger);
    if (members.rank() == 0) of.largest[v] = largest;
  }
};

struct Last {
  __device__ Standing operator()(Standing a, Standing b) const { return detail::later(a, b); }
};

struct BeginStandings {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists graph;
  StandingLists of;
  double share;

  __device__ offset_t length(index_t v) const { return graph.length[v]; }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    const double largest = of.largest[v];
    const offset_t begin = graph.begin[v], size = graph.length[v];
    const Standing own = detail::undecided(v);
    Standing last = own;
    for (offset_t k = members.rank(); k < size; k += offset_t{entries_of_lane} * members.size()) {
      const Entries entries(graph, v, k, members.size(), size, [&](offset_t n) { return begin + n; });
      double largest_of[entries_of_lane];
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) largest_of[e] = of.largest[entries.neighbours[e]];
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) {
        const offset_t entry = k + e * members.size();
        if (entry >= size) continue;
        const index_t j =
            detail::is_strong(entries.weights[e], largest, largest_of[e], share) ? entries.neighbours[e] : v;
        of.strong[begin + entry] = j;
        last = detail::later(last, detail::undecided(j));
      }
    }
    last = members.reduce(last, Last{});
    if (members.rank() != 0) return;
    of.own[v] = own;
    of.beside[v] = last;
  }
};

/// The last of the standings of v and its neighbours over strong edges; v stands in its own list where others do not.
template <class Members>
__device__ Standing last_beside(const Members& members, const GraphLists& strong, index_t v,
                                const Standing* standings) {
  Standing last = standings[v];
  for_each_entries(members, strong, v, [&](const Entries& entries) {
    Standing others[entries_of_lane];
#pragma unroll
    for (int e = 0; e < entries_of_lane; ++e) others[e] = standings[entries.neighbours[e]];
#pragma unroll
    for (const Standing other : others) last = detail::later(last, other);
  });
  return members.reduce(last, Last{});
}

struct Decide {
  static constexpr bool tallies = false, picks = true;
  index_t count;
  GraphLists strong;
  StandingLists of;
  Candidates among;

  __device__ offset_t length(index_t v) const { return strong.length[v]; }
  __device__ bool wants(index_t v) const { return detail::is_undecided(of.own[v]); }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    const Standing last = last_beside(members, strong, v, of.beside);
    if (members.rank() == 0) of.own[v] = detail::decided(of.own[v], last);
  }
};

/// Notes those that had somebody undecided beside them, themselves among these: Decide needs no list of its own.
struct LookBeside {
  static constexpr bool tallies = false, picks = true;
  index_t count;
  GraphLists strong;
  StandingLists of;
  Candidates among;
  VertexList to;

  __device__ offset_t length(index_t v) const { return strong.length[v]; }
  __device__ bool wants(index_t v) const { return detail::is_undecided(of.beside[v]); }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    const Standing last = last_beside(members, strong, v, of.own);
    if (members.rank() == 0) of.beside[v] = last;
  }
};

struct JoinRoots {
  static constexpr bool tallies = false, picks = false;
  index_t count;
  GraphLists strong;
  StandingLists of;
  index_t* roots;

  __device__ offset_t length(index_t v) const { return strong.length[v]; }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    Lead best{0.0, of.beside[v]};
    if (!detail::is_inside(best.beside)) {
      for_each_entries(members, strong, v, [&](const Entries& entries) {
        Lead leads[entries_of_lane];
#pragma unroll
        for (int e = 0; e < entries_of_lane; ++e) leads[e] = {entries.weights[e], of.beside[entries.neighbours[e]]};
#pragma unroll
        for (const Lead& lead : leads)
          if (detail::is_inside(lead.beside) && is_stronger(lead, best)) best = lead;
      });
      best = members.reduce(best, [](const Lead& a, const Lead& b) { return is_stronger(b, a) ? b : a; });
    }
    if (members.rank() == 0) roots[v] = detail::vertex_of(best.beside);
  }
};

GraphLists strong_lists(GraphLists graph, const StandingLists& of) {
  graph.neighbours = of.strong;
  return graph;
}

/// Each asks for a few entries at a time: with more lanes fewer lists are under way.
constexpr int lanes_of_list = 4;

}  // namespace

void begin_standings(const GraphLists& graph, double share, const StandingLists& of, CUstream_st* stream) {
  work_by_lanes<lanes_of_list>(LookForLargest{graph.vertices, graph, of}, graph.longest, "look_for_largest", stream);
  work_by_lanes<lanes_of_list>(BeginStandings{graph.vertices, graph, of, share}, graph.longest, "begin_standings",
                               stream);
}

void decide(const GraphLists& graph, const StandingLists& of, const Candidates& among, CUstream_st* stream) {
  work_by_lanes<lanes_of_list>(Decide{among.most, strong_lists(graph, of), of, among}, graph.longest, "decide", stream);
}

void look_beside(const GraphLists& graph, const StandingLists& of, const Candidates& among, const VertexList& to,
                 CUstream_st* stream) {
  work_by_lanes<lanes_of_list>(LookBeside{among.most, strong_lists(graph, of), of, among, to}, graph.longest,
                               "look_beside", stream);
}

void join_roots(const GraphLists& graph, const StandingLists& of, index_t* roots, CUstream_st* stream) {
  work_by_lanes<lanes_of_list>(JoinRoots{graph.vertices, strong_lists(graph, of), of, roots}, graph.longest,
                               "join_roots", stream);
}

}  // namespace blockjacobi::kernels
