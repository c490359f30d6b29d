#include "core/shared/cluster_rules.hpp"
#include "kernels/partition/list_kernels.cuh"

#include <cub/device/device_scan.cuh>

// Vertices become the vertices of the next graph: rows nodes, and pairs one.

namespace blockjacobi::kernels {

namespace {

using detail::no_vertex;

/// The lists of those that become one vertex: entries from `first` on, and, from number `split` on, others behind
/// `second`.
struct Parts {
  offset_t first, split, second, size;

  __device__ offset_t place(offset_t k) const { return k < split ? first + k : second + (k - split); }
};

struct NodeParts {
  NodeRows nodes;

  __device__ index_t first(offset_t v) const {
    if (nodes.offsets != nullptr) return nodes.offsets[v];
    return static_cast<index_t>(min(v * nodes.size, offset_t{nodes.rows}));
  }
  __device__ index_t count(index_t v) const { return first(v + offset_t{1}) - first(v); }
  __device__ Parts of(const GraphLists& graph, index_t v) const {
    const offset_t begin = graph.begin[first(v)];
    const index_t last = first(v + offset_t{1}) - 1;
    const offset_t size = graph.begin[last] + graph.length[last] - begin;
    return {begin, size, 0, size};
  }
};

struct PairParts {
  const index_t* firsts;
  const index_t* mates;

  __device__ Parts of(const GraphLists& graph, index_t v) const {
    const index_t first = firsts[v], mate = mates[first];
    const offset_t begin = graph.begin[first], split = graph.length[first];
    if (mate == no_vertex) return {begin, split, 0, split};
    return {begin, split, graph.begin[mate], split + graph.length[mate]};
  }
};

/// The list of a vertex of the next graph: those of its parts, with parallel edges added up.
template <class OfVertex>
struct Join {
  static constexpr bool tallies = true, picks = false;
  index_t count;
  GraphLists graph;
  const index_t* coarse;
  OfVertex parts;
  GraphLists joined;
  unsigned long long* longest;

  __device__ offset_t length(index_t v) const { return parts.of(graph, v).size; }
  template <class Members>
  __device__ void run(const Members& members, index_t v) const {
    const Tally& tally = members.tally;
    const Parts own = parts.of(graph, v);
    const offset_t slots = Tally::slots_for(min(own.size, offset_t{count}), members.size());
    tally.clear(slots, members.rank(), members.size());
    members.sync();
    for (offset_t k = members.rank(); k < own.size; k += offset_t{entries_of_lane} * members.size()) {
      const auto inside = [&](int e) { return k + offset_t{e} * members.size() < own.size; };
      const Entries entries(graph, 0, k, members.size(), own.size, [&](offset_t n) { return own.place(n); });
      index_t to[entries_of_lane];
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) to[e] = inside(e) ? coarse[entries.neighbours[e]] : v;
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e)
        if (to[e] != v) tally.add(to[e], entries.weights[e], slots);
    }
    members.sync();
    const offset_t begin = joined.begin[v];
    tally.for_each(slots, members.rank(), members.size(), [&](index_t to, double weight) {
      const offset_t entry = begin + atomicAdd(tally.counter, 1);
      joined.neighbours[entry] = to;
      joined.weights[entry] = weight;
    });
    members.sync();
    if (members.rank() == 0) {
      joined.length[v] = *tally.counter;
      raise_alone(longest, *tally.counter);
    }
    members.sync();
  }
};

__global__ void __launch_bounds__(list_threads)
    place_nodes_kernel(const index_t nodes, const NodeParts of, index_t* const node, index_t* const rows) {
  for (offset_t i = first_index(); i < nodes; i += index_step()) {
    const auto v = static_cast<index_t>(i);
    const index_t first = of.first(v), count = of.count(v);
    rows[v] = count;
    for (index_t m = 0; m < count; ++m) node[first + m] = v;
  }
}

__global__ void __launch_bounds__(list_threads)
    begin_nodes_kernel(const NodeParts of, const GraphLists graph, const GraphLists joined) {
  for (offset_t v = first_index(); v < joined.vertices; v += index_step()) joined.begin[v] = graph.begin[of.first(v)];
}

struct AddLists {
  __host__ __device__ ListSum operator()(const ListSum& a, const ListSum& b) const {
    return {a.entries + b.entries, a.count + b.count};
  }
};

/// Who wishes for each other.
__device__ index_t mate_of(const index_t* wishes, offset_t i) {
  const index_t wish = wishes[i];
  return wish != no_vertex && wishes[wish] == i ? wish : no_vertex;
}

__device__ offset_t length_of_pair(const GraphLists& graph, index_t mate, offset_t i) {
  return offset_t{graph.length[i]} + (mate == no_vertex ? 0 : graph.length[mate]);
}

__global__ void __launch_bounds__(list_threads)
    measure_pairs_kernel(const GraphLists graph, const index_t* const wishes, index_t* const mates, ListSum* const sums,
                         unsigned long long* const longest) {
  offset_t most = 0;
  for (offset_t i = first_index(); i < graph.vertices; i += index_step()) {
    const index_t mate = mate_of(wishes, i);
    const bool is_second = mate != no_vertex && mate < i;
    const offset_t length = is_second ? 0 : length_of_pair(graph, mate, i);
    mates[i] = mate;
    sums[i] = {length, is_second ? 0 : 1};
    most = max(most, length);
  }
  raise(longest, most);
}

__global__ void __launch_bounds__(list_threads)
    place_pairs_kernel(const GraphLists graph, const index_t* const mates, const index_t* const rows,
                       const ListSum* const sums, index_t* const coarse, index_t* const first,
                       index_t* const coarse_rows, offset_t* const begin) {
  for (offset_t i = first_index(); i < graph.vertices; i += index_step()) {
    const index_t mate = mates[i];
    if (mate != no_vertex && mate < i) continue;
    const auto v = static_cast<index_t>(sums[i].count - 1);
    coarse[i] = v;
    if (mate != no_vertex) coarse[mate] = v;
    first[v] = static_cast<index_t>(i);
    coarse_rows[v] = rows[i] + (mate == no_vertex ? 0 : rows[mate]);
    begin[v] = sums[i].entries - length_of_pair(graph, mate, i);
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
  place_nodes_kernel<<<ctas_for(nodes, list_threads), list_threads, 0, stream>>>(nodes, NodeParts{of}, node, rows);
  check_launch("place_nodes_kernel");
}

void join_nodes(const GraphLists& graph, const index_t* node, const NodeRows& of, const GraphLists& joined,
                unsigned long long* longest, const ListTables& tables, CUstream_st* stream) {
  begin_nodes_kernel<<<ctas_for(joined.vertices, list_threads), list_threads, 0, stream>>>(NodeParts{of}, graph,
                                                                                           joined);
  check_launch("begin_nodes_kernel");
  work_on_lists(Join<NodeParts>{joined.vertices, graph, node, {of}, joined, longest}, joined.longest, joined.usual,
                tables, "join_nodes", stream);
}

void measure_pairs(const GraphLists& graph, const index_t* wishes, index_t* mates, ListSum* sums,
                   unsigned long long* longest, CUstream_st* stream) {
  measure_pairs_kernel<<<ctas_for(graph.vertices, list_threads), list_threads, 0, stream>>>(graph, wishes, mates, sums,
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
                const GraphLists& joined, unsigned long long* longest, const ListTables& tables, CUstream_st* stream) {
  work_on_lists(Join<PairParts>{joined.vertices, graph, coarse, {first, mates}, joined, longest}, joined.longest,
                joined.usual, tables, "join_pairs", stream);
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
