#include "core/shared/cluster_rules.hpp"
#include "kernels/partition/list_kernels.cuh"

// Rounds of matching and of moves. Each is decided from the state before it; candidates come in any order, since the
// rules pick the best by a total order.

namespace blockjacobi::kernels {

namespace {

using detail::Mover;
using detail::no_vertex;
using detail::Tie;
using detail::Wish;

struct Ask {
  static constexpr bool tallies = false;
  index_t count;
  GraphLists graph;
  const index_t* rows;
  const index_t* mates;
  index_t max_size;
  bool is_first;
  index_t* wishes;

  __device__ offset_t length(index_t i) const { return graph.length[i]; }
  template <class Team>
  __device__ void run(const Team& team, index_t i) const {
    // Who found nobody in a round finds nobody later: what is free and what fits only becomes less.
    const bool is_out = mates[i] != no_vertex || (!is_first && wishes[i] == no_vertex);
    Wish best;
    if (!is_out) {
      const index_t own_rows = rows[i], size = graph.length[i];
      const offset_t begin = graph.begin[i];
      for (index_t k = team.rank(); k < size; k += team.size()) {
        const index_t j = graph.neighbours[begin + k];
        if (j == i || mates[j] != no_vertex || !detail::fits(own_rows, rows[j], max_size)) continue;
        const Wish wish = detail::wish_for(i, own_rows, j, rows[j], graph.weights[begin + k]);
        if (is_stronger(wish, best)) best = wish;
      }
    }
    best = team.reduce(best, [](const Wish& a, const Wish& b) { return is_stronger(b, a) ? b : a; });
    if (team.rank() == 0) wishes[i] = best.vertex;
  }
};

__global__ void __launch_bounds__(list_threads)
    agree_kernel(const index_t count, const index_t* const wishes, index_t* const mates) {
  for (offset_t i = first_index(); i < count; i += index_step())
    if (const index_t j = wishes[i]; j != no_vertex && wishes[j] == i) mates[i] = j;
}

__device__ offset_t chain_of(index_t cluster, index_t lane) { return offset_t{cluster} * mover_chains + lane; }

/// Where vertices would move to: to the cluster with room that each is tied to most, if that is more than it is tied to
/// its own.
struct Look {
  static constexpr bool tallies = true;
  index_t count;
  GraphLists graph;
  const index_t* rows;
  const index_t* of;
  const index_t* cluster_rows;
  index_t max_size;
  int round;
  MoveLists moves;

  __device__ offset_t length(index_t i) const { return graph.length[i]; }
  template <class Team>
  __device__ void run(const Team& team, index_t i) const {
    const index_t own = of[i];
    if (!detail::gives(own, round)) return;
    const index_t own_rows = rows[i], size = graph.length[i];
    const offset_t begin = graph.begin[i];
    /// visit(cluster, weight) for the own cluster and those that i may move to.
    const auto for_each_tie = [&](auto visit) {
      for (index_t k = team.rank(); k < size; k += team.size()) {
        const index_t cluster = of[graph.neighbours[begin + k]];
        if (cluster == own ||
            (!detail::gives(cluster, round) && detail::fits(cluster_rows[cluster], own_rows, max_size)))
          visit(cluster, graph.weights[begin + k]);
      }
    };
    Ties ties;
    for_each_tie([&](index_t cluster, double weight) { (cluster == own ? ties.own : ties.others) += weight; });
    ties = team.reduce(ties, [](const Ties& a, const Ties& b) { return Ties{a.own + b.own, a.others + b.others}; });
    Tie best;
    if (ties.others > ties.own) {  // else no single one is
      const Tally& tally = team.tally;
      const offset_t slots = Tally::slots_for(size, team.size());
      tally.clear(slots, team.rank(), team.size());
      team.sync();
      for_each_tie([&](index_t cluster, double weight) {
        if (cluster != own) tally.add(cluster, weight, slots);
      });
      team.sync();
      tally.for_each(slots, team.rank(), team.size(), [&](index_t cluster, double weight) {
        if (is_stronger(Tie{cluster, weight}, best)) best = {cluster, weight};
      });
      best = team.reduce(best, [](const Tie& a, const Tie& b) { return is_stronger(b, a) ? b : a; });
      team.sync();
    }
    if (team.rank() != 0 || best.cluster == no_vertex || !(best.weight > ties.own)) return;
    moves.gains[i] = best.weight - ties.own;
    const index_t place = atomicAdd(moves.arrivals + best.cluster, 1);
    moves.next[i] = atomicExch(moves.chains + chain_of(best.cluster, place % mover_chains), i);
  }

 private:
  struct Ties {
    double own = 0.0, others = 0.0;
  };
};

static_assert(mover_chains == 32);
/// A warp takes the most welcome of those that still fit into a cluster, one by one. Clusters that take give none, so
/// that others only see to those that give.
__global__ void __launch_bounds__(list_threads)
    accept_kernel(const index_t clusters, const index_t max_size, const index_t* const rows, index_t* const of,
                  index_t* const cluster_rows, const MoveLists moves) {
  const LaneTeam<32> warp{Lanes<32>::current(), {}};
  const offset_t step = offset_t{gridDim.x} * (list_threads / 32);
  for (offset_t c = first_index() / 32; c < clusters; c += step) {
    if (moves.arrivals[c] == 0) continue;
    const offset_t chain = chain_of(static_cast<index_t>(c), warp.rank());
    const index_t first = moves.chains[chain];
    index_t room = max_size - cluster_rows[c];
    Mover last;
    while (true) {
      Mover best;
      for (index_t i = first; i != no_vertex; i = moves.next[i]) {
        const Mover mover{i, moves.gains[i]};
        const bool is_left = last.vertex == no_vertex || is_more_welcome(last, mover);
        if (is_left && rows[mover.vertex] <= room && is_more_welcome(mover, best)) best = mover;
      }
      best = warp.reduce(best, [](const Mover& a, const Mover& b) { return is_more_welcome(b, a) ? b : a; });
      if (best.vertex == no_vertex) break;
      const index_t size = rows[best.vertex];
      if (warp.rank() == 0) {
        atomicSub(cluster_rows + of[best.vertex], size);
        of[best.vertex] = static_cast<index_t>(c);
      }
      room -= size;
      last = best;
    }
    moves.chains[chain] = no_vertex;
    if (warp.rank() == 0) {
      cluster_rows[c] = max_size - room;
      moves.arrivals[c] = 0;
    }
  }
}

}  // namespace

void match(const GraphLists& graph, const index_t* rows, index_t max_size, bool is_first, index_t* wishes,
           index_t* mates, CUstream_st* stream) {
  work_on_lists(Ask{graph.vertices, graph, rows, mates, max_size, is_first, wishes}, graph.longest,
                {nullptr, nullptr, 0, list_table_ctas}, "ask", stream);
  agree_kernel<<<ctas_for(graph.vertices, list_threads), list_threads, 0, stream>>>(graph.vertices, wishes, mates);
  check_launch("agree_kernel");
}

void move_vertices(const GraphLists& graph, const index_t* rows, index_t max_size, int round, index_t clusters,
                   index_t* of, index_t* cluster_rows, const MoveLists& moves, const ListTables& tables,
                   CUstream_st* stream) {
  work_on_lists(Look{graph.vertices, graph, rows, of, cluster_rows, max_size, round, moves}, graph.longest, tables,
                "look", stream);
  accept_kernel<<<ctas_for(clusters, list_threads / 32), list_threads, 0, stream>>>(clusters, max_size, rows, of,
                                                                                    cluster_rows, moves);
  check_launch("accept_kernel");
}

}  // namespace blockjacobi::kernels
