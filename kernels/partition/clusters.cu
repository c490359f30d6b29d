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
  static constexpr bool tallies = false, picks = true;
  index_t count;
  GraphLists graph;
  const index_t* rows;
  index_t max_size;
  const index_t* before;  ///< the wishes of the last round, null in the first
  index_t* wishes;

  __device__ offset_t length(index_t i) const { return graph.length[i]; }
  /// The wish of the one that somebody with that wish would like. Those that agree keep their wishes, which is how
  /// others know that they have mates.
  __device__ index_t answer_to(index_t wish) const { return wish != no_vertex ? before[wish] : no_vertex; }
  __device__ bool wants(index_t i) const {
    if (before == nullptr) return true;
    const index_t last = before[i];
    // Who found nobody in a round finds nobody later: what is free and what fits only becomes less.
    if (last != no_vertex && answer_to(last) != i) return true;
    wishes[i] = last;
    return false;
  }
  template <class Members>
  __device__ void run(const Members& members, index_t i) const {
    const index_t own_rows = rows[i];
    Wish own;
    for_each_entries(members, graph, i, [&](const Entries& entries) {
      index_t rows_of[entries_of_lane], last[entries_of_lane], answers[entries_of_lane];
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) {
        const index_t j = entries.neighbours[e];
        rows_of[e] = rows[j];
        last[e] = before != nullptr ? before[j] : no_vertex;
      }
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) answers[e] = answer_to(last[e]);
#pragma unroll
      for (int e = 0; e < entries_of_lane; ++e) {
        const index_t j = entries.neighbours[e];
        if (j == i || answers[e] == j || !detail::fits(own_rows, rows_of[e], max_size)) continue;
        const Wish wish = detail::wish_for(i, own_rows, j, rows_of[e], entries.weights[e]);
        if (is_stronger(wish, own)) own = wish;
      }
    });
    const Pull best = members.reduce(Pull{own.attraction, own.hash}, [](const Pull& a, const Pull& b) {
      return is_stronger(Wish{no_vertex, b.attraction, b.hash}, Wish{no_vertex, a.attraction, a.hash}) ? b : a;
    });
    // No two edges have the same hash.
    if (best.hash != 0 ? own.hash == best.hash : members.rank() == 0) wishes[i] = own.vertex;
  }

 private:
  /// A wish without its vertex, which is known where it comes from.
  struct Pull {
    double attraction;
    std::uint64_t hash;
  };
};

// The rows of a cluster, and above them a bit for each round of moves in which it gives: what decides whether it takes
// a vertex comes in one access.
constexpr int first_side = 23;
static_assert(detail::largest_cluster < (1 << first_side) && first_side + detail::move_rounds < 32);

__device__ index_t rows_in(index_t state) { return state & ((1 << first_side) - 1); }
__device__ bool gives(index_t state, int round) { return (state >> (first_side + round) & 1) != 0; }

__global__ void __launch_bounds__(list_threads) draw_sides_kernel(const index_t clusters, index_t* const states) {
  for (offset_t c = first_index(); c < clusters; c += index_step()) {
    index_t sides = 0;
    for (int round = 0; round < detail::move_rounds; ++round)
      if (detail::gives(static_cast<index_t>(c), round)) sides |= 1 << round;
    states[c] |= sides << first_side;
  }
}

__device__ offset_t chain_of(index_t cluster, index_t lane) { return offset_t{cluster} * mover_chains + lane; }

/// Where vertices would move to: to the cluster with room that each is tied to most, if that is more than it is tied to
/// its own.
struct Look {
  static constexpr bool tallies = true, picks = true;
  index_t count;
  GraphLists graph;
  const index_t* rows;
  const index_t* of;
  const index_t* states;
  index_t max_size;
  int round;
  MoveLists moves;

  __device__ offset_t length(index_t i) const { return graph.length[i]; }
  __device__ bool wants(index_t i) const { return gives(states[of[i]], round); }
  template <class Members>
  __device__ void run(const Members& members, index_t i) const {
    const index_t own = of[i], own_rows = rows[i];
    /// visit(cluster, weight) for the own cluster and those that i may move to.
    const auto for_each_tie = [&](auto visit) {
      for_each_entries(members, graph, i, [&](const Entries& entries) {
        index_t clusters[entries_of_lane], states_of[entries_of_lane];
#pragma unroll
        for (int e = 0; e < entries_of_lane; ++e) clusters[e] = of[entries.neighbours[e]];
#pragma unroll
        for (int e = 0; e < entries_of_lane; ++e) states_of[e] = states[clusters[e]];
#pragma unroll
        for (int e = 0; e < entries_of_lane; ++e)
          if (clusters[e] == own ||
              (!gives(states_of[e], round) && detail::fits(rows_in(states_of[e]), own_rows, max_size)))
            visit(clusters[e], entries.weights[e]);
      });
    };
    Ties ties;
    for_each_tie([&](index_t cluster, double weight) { (cluster == own ? ties.own : ties.others) += weight; });
    ties = members.reduce(ties, [](const Ties& a, const Ties& b) { return Ties{a.own + b.own, a.others + b.others}; });
    Tie best;
    if (ties.others > ties.own) {  // else no single one is
      const Tally& tally = members.tally;
      const offset_t slots = Tally::slots_for(graph.length[i], members.size());
      tally.clear(slots, members.rank(), members.size());
      members.sync();
      for_each_tie([&](index_t cluster, double weight) {
        if (cluster != own) tally.add(cluster, weight, slots);
      });
      members.sync();
      tally.for_each(slots, members.rank(), members.size(), [&](index_t cluster, double weight) {
        if (is_stronger(Tie{cluster, weight}, best)) best = {cluster, weight};
      });
      best = members.reduce(best, [](const Tie& a, const Tie& b) { return is_stronger(b, a) ? b : a; });
      members.sync();
    }
    if (members.rank() != 0 || best.cluster == no_vertex || !(best.weight > ties.own)) return;
    moves.gains[i] = best.weight - ties.own;
    const index_t place = atomicAdd(moves.arrivals + best.cluster, 1);
    moves.next[i] = atomicExch(moves.chains + chain_of(best.cluster, place % mover_chains), i);
  }

 private:
  struct Ties {
    double own = 0.0, others = 0.0;
  };
};

/// A mover and its rows.
struct Arrival {
  double gain = 0.0;
  index_t vertex = no_vertex, rows = 0;

  __device__ Mover mover() const { return {vertex, gain}; }
};

static_assert(mover_chains == 32);
/// A warp takes the most welcome of those that still fit into a cluster, one by one. Clusters that take give none, so
/// that others only see to those that give. The first of its chain a lane keeps at hand: mostly there are no others.
__global__ void __launch_bounds__(list_threads)
    accept_kernel(const index_t clusters, const index_t max_size, const index_t* const rows, index_t* const of,
                  index_t* const states, const MoveLists moves) {
  const ListLanes<32> warp{Lanes<32>::current(), {}};
  const offset_t step = offset_t{gridDim.x} * (list_threads / 32);
  for (offset_t c = first_index() / 32; c < clusters; c += step) {
    if (moves.arrivals[c] == 0) continue;
    const offset_t chain = chain_of(static_cast<index_t>(c), warp.rank());
    const index_t first = moves.chains[chain];
    const auto arrival_of = [&](index_t i) { return Arrival{moves.gains[i], i, rows[i]}; };
    Arrival at_hand;
    index_t second = no_vertex, left = no_vertex;  // in the chain, and the cluster of the first
    if (first != no_vertex) {
      at_hand = arrival_of(first);
      second = moves.next[first];
      left = of[first];
    }
    const index_t state = states[c];
    index_t room = max_size - rows_in(state);
    Mover last;
    while (true) {
      Arrival own;
      const auto consider = [&](const Arrival& arrival) {
        const bool is_left = last.vertex == no_vertex || is_more_welcome(last, arrival.mover());
        if (is_left && arrival.rows <= room && is_more_welcome(arrival.mover(), own.mover())) own = arrival;
      };
      if (first != no_vertex) consider(at_hand);
      for (index_t i = second; i != no_vertex; i = moves.next[i]) consider(arrival_of(i));
      const Arrival best = warp.reduce(
          own, [](const Arrival& a, const Arrival& b) { return is_more_welcome(b.mover(), a.mover()) ? b : a; });
      const index_t vertex = best.vertex;
      if (vertex == no_vertex) break;
      if (own.vertex == vertex) {
        atomicSub(states + (vertex == first ? left : of[vertex]), best.rows);
        of[vertex] = static_cast<index_t>(c);
      }
      room -= best.rows;
      last = best.mover();
    }
    moves.chains[chain] = no_vertex;
    if (warp.rank() == 0) {
      states[c] = state - rows_in(state) + max_size - room;
      moves.arrivals[c] = 0;
    }
  }
}

}  // namespace

void match(const GraphLists& graph, const index_t* rows, index_t max_size, const index_t* before, index_t* wishes,
           CUstream_st* stream) {
  work_on_lists(Ask{graph.vertices, graph, rows, max_size, before, wishes}, graph.longest, graph.usual,
                {nullptr, nullptr, 0, list_table_ctas}, "ask", stream);
}

void draw_sides(index_t clusters, index_t* states, CUstream_st* stream) {
  draw_sides_kernel<<<ctas_for(clusters, list_threads), list_threads, 0, stream>>>(clusters, states);
  check_launch("draw_sides_kernel");
}

void move_vertices(const GraphLists& graph, const index_t* rows, index_t max_size, int round, index_t clusters,
                   index_t* of, index_t* states, const MoveLists& moves, const ListTables& tables,
                   CUstream_st* stream) {
  work_on_lists(Look{graph.vertices, graph, rows, of, states, max_size, round, moves}, graph.longest, graph.usual,
                tables, "look", stream);
  accept_kernel<<<ctas_for(clusters, list_threads / 32), list_threads, 0, stream>>>(clusters, max_size, rows, of,
                                                                                    states, moves);
  check_launch("accept_kernel");
}

}  // namespace blockjacobi::kernels
