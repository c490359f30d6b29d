#pragma once

#include "core/shared/cluster_rules.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>

namespace blockjacobi::detail {

// The rules of aggregates around an independent set of distance 2. Each picks the last of some candidates by an order
// in which no two are equal: host and device decide alike.

/// Whether a vertex is in the set. Those that are come last in the order, those that are undecided stand in the order
/// of a hash, which is of no direction in the numbering; both know their vertex.
using Standing = std::uint64_t;

inline constexpr Standing outside_set = 0;
inline constexpr Standing inside_set = Standing{1} << 63;

BLOCKJACOBI_HD inline Standing undecided(index_t v) {
  constexpr Standing hashes = (Standing{1} << 31) - 1;
  return (edge_hash(v, v) % hashes + 1) << 32 | static_cast<std::uint32_t>(v);
}
BLOCKJACOBI_HD inline bool is_inside(Standing s) { return s >= inside_set; }
BLOCKJACOBI_HD inline bool is_undecided(Standing s) { return s != outside_set && s < inside_set; }
BLOCKJACOBI_HD inline index_t vertex_of(Standing s) { return static_cast<index_t>(s & 0xffffffffU); }
BLOCKJACOBI_HD inline Standing later(Standing a, Standing b) { return a > b ? a : b; }

/// After a round that found the last standing of those that are no more than two edges away, its own among them.
BLOCKJACOBI_HD inline Standing decided(Standing own, Standing last) {
  if (last == own) return own | inside_set;
  return is_inside(last) ? outside_set : own;
}

/// Whether an edge of weight w is strong: at least `share` of the largest weight at either of its ends.
BLOCKJACOBI_HD inline bool is_strong(double w, double largest_i, double largest_j, double share) {
  return w > 0.0 && w >= share * (largest_i > largest_j ? largest_i : largest_j);
}

/// A strong edge to a vertex beside one of the set.
struct Lead {
  double weight = 0.0;
  Standing beside = outside_set;  ///< the standing of that one
};
BLOCKJACOBI_HD inline bool is_stronger(const Lead& a, const Lead& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.beside > b.beside);
}

}  // namespace blockjacobi::detail
