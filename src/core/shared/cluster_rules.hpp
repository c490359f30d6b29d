#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

// The rules of BlockPartition::clusters. Each picks the best of some candidates by an order in which no two are equal,
// and all sums are exact, so that candidates and summands may come in any order: host and device decide alike.

inline constexpr index_t no_vertex = -1;
/// Later rounds of a pass find few pairs more; what is left has its turn in the next pass.
inline constexpr int match_rounds = 6;
/// Each lets every cluster give or take, not both.
inline constexpr int move_rounds = 8;

/// min(1, value / scale), scale = sqrt(s_i) sqrt(s_j); 1 where it is zero, 0 for NaN.
BLOCKJACOBI_HD inline double strength(double value, double scale) {
  if (!(value > 0.0)) return 0.0;
  return value < scale ? value / scale : 1.0;
}

/// The strength as a multiple of 2^-32, not zero unless it is: sums of at most 2^20 of them are exact.
BLOCKJACOBI_HD inline double rounded_strength(double value, double scale) {
  return ceil(strength(value, scale) * 0x1p32) * 0x1p-32;
}

/// s_i from |a_ii| and the largest magnitude in row i.
BLOCKJACOBI_HD inline double row_scale(double diagonal, double largest) { return diagonal > 0.0 ? diagonal : largest; }

/// Settles ties: the same for both ends of an edge, of no direction in the numbering, and another for every edge.
BLOCKJACOBI_HD inline std::uint64_t edge_hash(index_t i, index_t j) {
  const index_t low = i < j ? i : j, high = i < j ? j : i;
  std::uint64_t h = (static_cast<std::uint64_t>(low) << 32) | static_cast<std::uint32_t>(high);
  h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15ULL;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return h ^ (h >> 32);
}

/// Whether `more` rows fit into a cluster that has some.
BLOCKJACOBI_HD inline bool fits(index_t rows, index_t more, index_t max_size) { return more <= max_size - rows; }

/// A neighbour that a vertex would like to become one with; that of an edge has a hash > 0.
struct Wish {
  index_t vertex = no_vertex;
  double attraction = 0.0;
  std::uint64_t hash = 0;
};
/// Of vertex i, of `rows_i` rows, for j over an edge of weight w.
BLOCKJACOBI_HD inline Wish wish_for(index_t i, index_t rows_i, index_t j, index_t rows_j, double w) {
  return {j, w * w * w / (static_cast<double>(rows_i) * static_cast<double>(rows_j)), edge_hash(i, j)};
}
BLOCKJACOBI_HD inline bool is_stronger(const Wish& a, const Wish& b) {
  return a.attraction > b.attraction || (a.attraction == b.attraction && a.hash > b.hash);
}

/// In a round of moves, vertices leave the clusters of one side for those of the other, so that what a vertex is tied
/// to stays where it is; the sides are drawn anew in every round.
BLOCKJACOBI_HD inline bool gives(index_t cluster, int round) {
  return (edge_hash(cluster, cluster + round + 1) & 1) == 0;
}

/// What ties a vertex to a cluster.
struct Tie {
  index_t cluster = no_vertex;
  double weight = 0.0;
};
/// Of equal ones that to the lower number; none is weaker than each.
BLOCKJACOBI_HD inline bool is_stronger(const Tie& a, const Tie& b) {
  if (a.cluster == no_vertex || b.cluster == no_vertex) return a.cluster > b.cluster;
  return a.weight > b.weight || (a.weight == b.weight && a.cluster < b.cluster);
}

/// A vertex that would like to move to a cluster, and by how much it is tied to it more than to its own.
struct Mover {
  index_t vertex = no_vertex;
  double gain = 0.0;
};
BLOCKJACOBI_HD inline bool is_more_welcome(const Mover& a, const Mover& b) {
  return a.gain > b.gain || (a.gain == b.gain && a.vertex < b.vertex);
}

/// Rows of a cluster at most: what is known of one fits into a word.
inline constexpr index_t largest_cluster = (1 << 23) - 1;

/// The aggregate of cluster c of `found`, of which `kept` remain: parts of a graph never grow together, so that there
/// may be more clusters than there can be aggregates.
BLOCKJACOBI_HD inline index_t kept_aggregate(index_t c, index_t kept, index_t found) {
  return static_cast<index_t>(offset_t{c} * kept / found);
}

}  // namespace blockjacobi::detail
