#include "core/shared/cluster_rules.hpp"
#include "kernels/partition/launch_sort.hpp"
#include "kernels/partition/list_kernels.cuh"

// Clusters of blocks become the aggregates of a coarse level.

namespace blockjacobi::kernels {

namespace {

using detail::no_vertex;

__device__ bool has_neighbours(const GraphLists& graph, index_t v) {
  const offset_t begin = graph.begin[v];
  for (index_t k = 0; k < graph.length[v]; ++k)
    if (graph.neighbours[begin + k] != v) return true;
  return false;
}

__global__ void __launch_bounds__(list_threads)
    find_firsts_kernel(const GraphLists graph, const index_t* const cluster, index_t* const first) {
  for (offset_t i = first_index(); i < graph.vertices; i += index_step()) {
    const auto v = static_cast<index_t>(i);
    if (has_neighbours(graph, v)) atomicMin(first + cluster[v], v);
  }
}

__global__ void __launch_bounds__(list_threads)
    mark_firsts_kernel(const index_t vertices, const index_t* const rows, const index_t* const cluster,
                       const index_t* const first, index_t* const marks, index_t* const uncovered) {
  for (offset_t v = first_index(); v < vertices; v += index_step()) {
    marks[v] = first[cluster[v]] == v ? 1 : 0;
    if (first[cluster[v]] >= vertices) atomicAdd(uncovered, rows[v]);
  }
}

__global__ void __launch_bounds__(list_threads)
    number_rows_kernel(const index_t rows, const index_t vertices, const index_t* const node,
                       const index_t* const cluster, const index_t* const first, const index_t* const numbers,
                       const index_t kept, const index_t found, index_t* const aggregate) {
  for (offset_t i = first_index(); i < rows; i += index_step()) {
    const index_t leader = first[cluster[node != nullptr ? node[i] : i]];
    aggregate[i] = leader >= vertices ? no_vertex : detail::kept_aggregate(numbers[leader] - 1, kept, found);
  }
}

}  // namespace

void number_coupled(const GraphLists& graph, const index_t* rows, const index_t* cluster, index_t clusters,
                    index_t* first, CoupledCounts* counts, index_t* numbers, void* scratch, CUstream_st* stream) {
  const index_t vertices = graph.vertices;
  const unsigned ctas = ctas_for(vertices, list_threads);
  fill(clusters, vertices, first, stream);
  check(cudaMemsetAsync(counts, 0, sizeof(*counts), stream), "cudaMemsetAsync(counts)");
  find_firsts_kernel<<<ctas, list_threads, 0, stream>>>(graph, cluster, first);
  check_launch("find_firsts_kernel");
  mark_firsts_kernel<<<ctas, list_threads, 0, stream>>>(vertices, rows, cluster, first, numbers,
                                                        &counts->uncovered_rows);
  check_launch("mark_firsts_kernel");
  sum_up_to(vertices, numbers, numbers, scratch, stream);
  check(cudaMemcpyAsync(&counts->clusters, numbers + vertices - 1, sizeof(index_t), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync(clusters)");
}

void number_rows(index_t rows, index_t vertices, const index_t* node, const index_t* cluster, const index_t* first,
                 const index_t* numbers, index_t kept, index_t found, index_t* aggregate, CUstream_st* stream) {
  number_rows_kernel<<<ctas_for(rows, list_threads), list_threads, 0, stream>>>(rows, vertices, node, cluster, first,
                                                                                numbers, kept, found, aggregate);
  check_launch("number_rows_kernel");
}

}  // namespace blockjacobi::kernels
