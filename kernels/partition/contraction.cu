#include "core/shared/cluster_rules.hpp"
#include "kernels/partition/list_kernels.cuh"

#include <cub/device/device_scan.cuh>

// Vertices become the vertices of the next graph: rows nodes, and pairs one.

namespace blockjacobi::kernels {

namespace {

using detail::no_vertex;

struct NodeMembers {
  NodeRows nodes;
  __device__ index_t first(offset_t v) const {
    if (nodes.offsets != nullptr) return nodes.offsets[v];
    return static_cast<index_t>(min(v * nodes.size, offset_t{nodes.rows}));
  }
  __device__ index_t count(index_t v) const { return first(v + offset_t{1}) - first(v); }
  __device__ index_t member(index_t v, index_t m) const { return first(v) + m; }
};

struct PairMembers {
  const index_t* firsts;
  const index_t* mates;
  __device__ index_t count(index_t v) const { return mates[firsts[v]] == no_vertex ? 1 : 2; }
  __device__ index_t member(index_t v, index_t m) const { return m == 0 ? firsts[v] : mates[firsts[v]]; }
};

/// The list of a vertex of the next graph: those of its members, with parallel edges added up.
template <class Members>
struct Join {
  static constexpr bool tallies = true;
  index_t count;
  GraphLists graph;
  const index_t* coarse;
  Members members;
  GraphLists joined;

  __device__ offset_t length(index_t v) const {
    offset_t all = 0;
    for (index_t m = 0; m < members.count(v); ++m) all += graph.length[members.member(v, m)];
    return all;
  }
  template <class Team>
  __device__ void run(const Team& team, index_t v) const {
    const Tally& tally = team.tally;
    const offset_t slots = Tally::slots_for(min(length(v), offset_t{count}), team.size());
    tally.clear(slots, team.rank(), team.size());
    team.sync();
    for (index_t m = 0; m < members.count(v); ++m) {
      const index_t i = members.member(v, m), size = graph.length[i];
      const offset_t begin = graph.begin[i];
      for (index_t k = team.rank(); k < size; k += team.size())
        if (const index_t to = coarse[graph.neighbours[begin + k]]; to != v)
          tally.add(to, graph.weights[begin + k], slots);
    }
    team.sync();
    const offset_t begin = joined.begin[v];
    tally.for_each(slots, team.rank(), team.size(), [&](index_t to, double weight) {
      const offset_t entry = begin + atomicAdd(tally.counter, 1);
      joined.neighbours[entry] = to;
      joined.weights[entry] = weight;
    });
    team.sync();
    if (team.rank() == 0) joined.length[v] = *tally.counter;
    team.sync();
  }
};

__global__ void __launch_bounds__(list_threads)
    place_nodes_kernel(const index_t nodes, const NodeMembers of, index_t* const node, index_t* const rows) {
  for (offset_t i = first_index(); i < nodes; i += index_step()) {
    const auto v = static_cast<index_t>(i);
    const index_t first = of.first(v), count = of.count(v);
    rows[v] = count;
    for (index_t m = 0; m < count; ++m) node[first + m] = v;
  }
}

__global__ void __launch_bounds__(list_threads)
    begin_nodes_kernel(const NodeMembers of, const GraphLists graph, const GraphLists joined) {
  for (offset_t v = first_index(); v < joined.vertices; v += index_step()) joined.begin[v] = graph.begin[of.first(v)];
}

__global__ void __launch_bounds__(list_threads)
    count_lists_kernel(const index_t count, const index_t* const length, const index_t* const taken,
                       ListCounts* const counts) {
  offset_t most = 0, lacking = 0;
  for (offset_t i = first_index(); i < count; i += index_step()) {
    most = max(most, offset_t{length[i]});
    if (taken != nullptr && taken[i] > 0) lacking = 1;
  }
  raise_by_warps(&counts->longest, most);
  raise_by_warps(&counts->lacking, lacking);
}

struct AddLists {
  __host__ __device__ ListSum operator()(const ListSum& a, const ListSum& b) const {
    return {a.entries + b.entries, a.count + b.count};
  }
};

__device__ bool follows(const index_t* mates, offset_t i) { return mates[i] != no_vertex && mates[i] < i; }

__device__ offset_t length_of_pair(const GraphLists& graph, const index_t* mates, offset_t i) {
  return offset_t{graph.length[i]} + (mates[i] == no_vertex ? 0 : graph.length[mates[i]]);
}

__global__ void __launch_bounds__(list_threads)
    measure_pairs_kernel(const GraphLists graph, const index_t* const mates, ListSum* const sums,
                         unsigned long long* const longest) {
  offset_t most = 0;
  for (offset_t i = first_index(); i < graph.vertices; i += index_step()) {
    const offset_t length = follows(mates, i) ? 0 : length_of_pair(graph, mates, i);
    sums[i] = {length, follows(mates, i) ? 0 : 1};
    most = max(most, length);
  }
  raise_by_warps(longest, most);
}

__global__ void __launch_bounds__(list_threads)
    place_pairs_kernel(const GraphLists graph, const index_t* const mates, const index_t* const rows,
                       const ListSum* const sums, index_t* const coarse, index_t* const first,
                       index_t* const coarse_rows, offset_t* const begin) {
  for (offset_t i = first_index(); i < graph.vertices; i += index_step()) {
    if (follows(mates, i)) continue;
    const index_t v = sums[i].count - 1, mate = mates[i];
    coarse[i] = v;
    if (mate != no_vertex) coarse[mate] = v;
    first[v] = static_cast<index_t>(i);
    coarse_rows[v] = rows[i] + (mate == no_vertex ? 0 : rows[mate]);
    begin[v] = sums[i].entries - length_of_pair(graph, mates, i);
  }
}

__global__ void __launch_bounds__(list_threads)
    compose_kernel(const index_t count, const index_t* const coarse_of, index_t* const of) {
  for (offset_t i = first_index(); i < count; i += index_step()) of[i] = coarse_of[of[i]];
}

__global__ void __launch_bounds__(list_threads)
    fill_kernel(const index_t count, const index_t value, index_t* const values) {
  for (offset_t i = first_index(); i < count; i += index_step()) values[i] = value;
}

__global__ void __launch_bounds__(list_threads) number_kernel(const index_t count, index_t* const values) {
  for (offset_t i = first_index(); i < count; i += index_step()) values[i] = static_cast<index_t>(i);
}

}  // namespace

void place_nodes(index_t nodes, const NodeRows& of, index_t* node, index_t* rows, CUstream_st* stream) {
  place_nodes_kernel<<<ctas_for(nodes, list_threads), list_threads, 0, stream>>>(nodes, NodeMembers{of}, node, rows);
  check_launch("place_nodes_kernel");
}

void join_nodes(const GraphLists& graph, const index_t* node, const NodeRows& of, const GraphLists& joined,
                const ListTables& tables, CUstream_st* stream) {
  begin_nodes_kernel<<<ctas_for(joined.vertices, list_threads), list_threads, 0, stream>>>(NodeMembers{of}, graph,
                                                                                           joined);
  check_launch("begin_nodes_kernel");
  work_on_lists(Join<NodeMembers>{joined.vertices, graph, node, {of}, joined}, joined.longest, tables, "join_nodes",
                stream);
}

void count_lists(index_t vertices, const index_t* length, const index_t* taken, ListCounts* counts,
                 CUstream_st* stream) {
  count_lists_kernel<<<ctas_for(vertices, list_threads), list_threads, 0, stream>>>(vertices, length, taken, counts);
  check_launch("count_lists_kernel");
}

void measure_pairs(const GraphLists& graph, const index_t* mates, ListSum* sums, unsigned long long* longest,
                   CUstream_st* stream) {
  measure_pairs_kernel<<<ctas_for(graph.vertices, list_threads), list_threads, 0, stream>>>(graph, mates, sums,
                                                                                            longest);
  check_launch("measure_pairs_kernel");
}

std::size_t list_scan_bytes(index_t vertices) {
  std::size_t bytes = 0;
  ListSum* const sums = nullptr;
  check(cub::DeviceScan::InclusiveScan(nullptr, bytes, sums, sums, AddLists{}, vertices), "InclusiveScan(bytes)");
  return bytes;
}

void sum_lists(index_t vertices, ListSum* sums, void* scratch, CUstream_st* stream) {
  std::size_t bytes = list_scan_bytes(vertices);
  check(cub::DeviceScan::InclusiveScan(scratch, bytes, sums, sums, AddLists{}, vertices, stream), "InclusiveScan");
}

void place_pairs(const GraphLists& graph, const index_t* mates, const index_t* rows, const ListSum* sums,
                 index_t* coarse, index_t* first, index_t* coarse_rows, offset_t* begin, CUstream_st* stream) {
  place_pairs_kernel<<<ctas_for(graph.vertices, list_threads), list_threads, 0, stream>>>(
      graph, mates, rows, sums, coarse, first, coarse_rows, begin);
  check_launch("place_pairs_kernel");
}

void join_pairs(const GraphLists& graph, const index_t* coarse, const index_t* first, const index_t* mates,
                const GraphLists& joined, const ListTables& tables, CUstream_st* stream) {
  work_on_lists(Join<PairMembers>{joined.vertices, graph, coarse, {first, mates}, joined}, joined.longest, tables,
                "join_pairs", stream);
}

void compose(index_t vertices, const index_t* coarse_of, index_t* of, CUstream_st* stream) {
  compose_kernel<<<ctas_for(vertices, list_threads), list_threads, 0, stream>>>(vertices, coarse_of, of);
  check_launch("compose_kernel");
}

void fill(index_t count, index_t value, index_t* values, CUstream_st* stream) {
  fill_kernel<<<ctas_for(count, list_threads), list_threads, 0, stream>>>(count, value, values);
  check_launch("fill_kernel");
}

void number(index_t count, index_t* values, CUstream_st* stream) {
  number_kernel<<<ctas_for(count, list_threads), list_threads, 0, stream>>>(count, values);
  check_launch("number_kernel");
}

}  // namespace blockjacobi::kernels
