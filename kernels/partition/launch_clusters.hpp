#pragma once

#include "core/shared/independent_set.hpp"
#include "kernels/partition/policy.hpp"

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

struct CUstream_st;

/// The steps of BlockPartition::clusters and of aggregates. Conventions of launchers: kernels/launch.hpp. Lists stand
/// in no order and what is found does not depend on it: see cluster_rules.hpp.
namespace blockjacobi::kernels {

/// The lists of neighbours of the vertices of a graph, with gaps between them. A vertex in its own list, with weight 0,
/// is no neighbour.
struct GraphLists {
  index_t vertices;
  offset_t longest;  ///< no list has more entries
  offset_t usual;    ///< about their mean length
  offset_t* begin;   ///< of the list of a vertex
  index_t* length;   ///< of the list of a vertex
  index_t* neighbours;
  double* weights;
};

/// Consecutive rows by `offsets`, or by `size` if there are none, the last node shorter if need be.
struct NodeRows {
  const index_t* offsets;
  index_t size;
  index_t rows;
};

/// A list, or several together.
struct ListSum {
  offset_t entries;
  offset_t count;  ///< of 64 bits, too: nothing between them that nobody writes
};

/// Hash tables for the lists that are too long for a warp, one for each of `ctas` thread blocks.
struct ListTables {
  index_t* keys;
  double* sums;
  offset_t slots;
  unsigned ctas;
};

/// Lists that are longer are worked on by a thread block each.
inline constexpr offset_t longest_of_warp = 128;

/// Slots of a table for lists of that length with as many keys at most, and the number of tables: together no more than
/// a few times the lists.
constexpr offset_t table_slots(offset_t longest, offset_t keys) {
  if (longest <= longest_of_warp) return 0;
  const offset_t most = std::max(std::min(longest, keys), longest_of_warp);
  return 2 * static_cast<offset_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
}
constexpr unsigned table_ctas(offset_t longest, offset_t entries) {
  return static_cast<unsigned>(std::clamp<offset_t>(entries / std::max<offset_t>(longest, 1), 4, list_table_ctas));
}

/// What the lists of rows amount to, zero before.
struct ListCounts {
  unsigned long long longest;
  unsigned int lacking;  ///< not zero if some row lacks entries
};

/// The lists of the rows of a canonical matrix, empty yet: each as long as its row and where that begins, or with room
/// for what the row lacks, from sums of measure_rows(). Counts the longest; `taken` is zero after it.
template <Offset O>
void place_rows(const CsrView<const void, O>& pattern, const ListSum* sums, index_t* taken, const GraphLists& graph,
                ListCounts* counts, CUstream_st* stream);
/// sums[i] = the length of a row with what it lacks, alone, and the longest, which is zero before.
template <Offset O>
void measure_rows(const CsrView<const void, O>& pattern, const index_t* taken, ListSum* sums,
                  unsigned long long* longest, CUstream_st* stream);

/// roots[i] = sqrt(s_i). No row has more than `longest` entries.
template <class C, Offset O>
void scale_rows(const CsrView<const C, O>& matrix, offset_t longest, double* roots, CUstream_st* stream);
/// Strengths of couplings, as multiples of 2^-32: sums do not depend on their order.
struct CouplingSums {
  unsigned long long all;
  unsigned long long positive;  ///< of the positive real parts
};
/// Rows take turns in so many sums, so that few of them wait for each other.
inline constexpr int coupling_sums = 1024;
/// Adds the couplings of each row to one of `sums`. No row has more than `longest` entries.
template <class C, Offset O>
void sum_couplings(const CsrView<const C, O>& matrix, offset_t longest, const double* roots, CouplingSums* sums,
                   CUstream_st* stream);
/// Neighbours and weights, the diagonal and zeros as no neighbours. Row j lacks the i of a_ij > 0 without an a_ji: they
/// are counted in taken[j], 0 before, and go behind the others of the list if it has room for them (`appends`); counts
/// whether there are any.
template <class C, Offset O>
void tie_rows(const CsrView<const C, O>& matrix, offset_t longest, const double* roots, const GraphLists& graph,
              index_t* taken, bool appends, ListCounts* counts, CUstream_st* stream);

/// Lists to the sums of those up to each, in place. Scratch: list_scan_bytes().
std::size_t list_scan_bytes(index_t vertices);
void sum_lists(index_t vertices, ListSum* sums, void* scratch, CUstream_st* stream);

/// node[i] of each row, and rows[v] of each of `nodes` nodes.
void place_nodes(index_t nodes, const NodeRows& of, index_t* node, index_t* rows, CUstream_st* stream);
/// The graph of the nodes from that of the rows, whose lists follow each other. joined.longest bounds the lists of the
/// rows of a node together; counts the longest list, which is zero before.
void join_nodes(const GraphLists& graph, const index_t* node, const NodeRows& of, const GraphLists& joined,
                unsigned long long* longest, const ListTables& tables, CUstream_st* stream);

/// A round of matching: the wishes of all vertices from those `before`, of the last round, null in the first. Two that
/// wish for each other go on doing so.
void match(const GraphLists& graph, const index_t* rows, index_t max_size, const index_t* before, index_t* wishes,
           CUstream_st* stream);
/// mates of those that wish for each other; sums[i] = the lengths of both lists of a pair, of a vertex that comes first
/// of it or is alone, nothing of others; the longest of these, which is zero before.
void measure_pairs(const GraphLists& graph, const index_t* wishes, index_t* mates, ListSum* sums,
                   unsigned long long* longest, CUstream_st* stream);
/// The vertex that each becomes part of, the first vertex of each of these, its rows, and where its list begins.
void place_pairs(const GraphLists& graph, const index_t* mates, const index_t* rows, const ListSum* sums,
                 index_t* coarse, index_t* first, index_t* coarse_rows, offset_t* begin, CUstream_st* stream);
/// The graph of the pairs; joined.longest bounds the lists of a pair together. Counts the longest as join_nodes().
void join_pairs(const GraphLists& graph, const index_t* coarse, const index_t* first, const index_t* mates,
                const GraphLists& joined, unsigned long long* longest, const ListTables& tables, CUstream_st* stream);

/// of[i] = coarse_of[of[i]].
void compose(index_t vertices, const index_t* coarse_of, index_t* of, CUstream_st* stream);

/// Those that would move to one cluster stand in as many chains, one for each lane of a warp.
inline constexpr index_t mover_chains = 32;
/// Scratch of a round of moves.
struct MoveLists {
  double* gains;      ///< of a vertex
  index_t* next;      ///< in the chain of a vertex; -1 behind its last
  index_t* arrivals;  ///< to a cluster; zero before and after
  index_t* chains;    ///< mover_chains of a cluster: their first vertices; -1 before and after
};
/// From the rows of clusters to what else move_vertices() has to know of them, in place.
void draw_sides(index_t clusters, index_t* states, CUstream_st* stream);
/// Moves vertices between `clusters` clusters.
void move_vertices(const GraphLists& graph, const index_t* rows, index_t max_size, int round, index_t clusters,
                   index_t* of, index_t* states, const MoveLists& moves, const ListTables& tables, CUstream_st* stream);

/// Scratch for the blocks of rows with equal labels.
struct LabelBlocks {
  index_t* first;     ///< row of a label; no less than `rows` before
  index_t* size;      ///< of a label; zero before
  index_t* taken;     ///< of a label; zero before
  index_t* unsorted;  ///< rows
};
/// sums[i] = the size of a block and 1 for its first row i, nothing for others.
void measure_blocks(index_t rows, const index_t* labels, const LabelBlocks& blocks, ListSum* sums, CUstream_st* stream);
/// From these, summed: the old numbers of the rows as BlockPartition::from_labels has them, and the set of the rows at
/// which blocks begin in the new numbering, empty before.
void order_rows(index_t rows, const index_t* labels, const ListSum* sums, const LabelBlocks& blocks, index_t* order,
                std::uint32_t* starts, CUstream_st* stream);

/// What number_coupled() found.
struct CoupledCounts {
  index_t clusters;        ///< of vertices that have neighbours
  index_t uncovered_rows;  ///< of those that have none
};
/// numbers[v], of the first vertex v of each of `clusters` clusters whose vertices have neighbours, from 1 in the order
/// of these; first[c] = v, or the number of vertices. Scratch: scan_bytes().
void number_coupled(const GraphLists& graph, const index_t* rows, const index_t* cluster, index_t clusters,
                    index_t* first, CoupledCounts* counts, index_t* numbers, void* scratch, CUstream_st* stream);
/// From these, aggregate[i] of each row, of the vertex node[i], or i if that is null; see kept_aggregate().
void number_rows(index_t rows, index_t vertices, const index_t* node, const index_t* cluster, const index_t* first,
                 const index_t* numbers, index_t kept, index_t found, index_t* aggregate, CUstream_st* stream);

/// What the search for an independent set knows of the vertices of a graph; see independent_set_roots() in
/// src/partition.
struct StandingLists {
  double* largest;           ///< weight at a vertex
  index_t* strong;           ///< as graph.neighbours; over edges that are not strong the vertex itself
  detail::Standing* own;     ///< of a vertex
  detail::Standing* beside;  ///< the last of its own and those of its neighbours over strong edges
};

/// Vertices that a kernel notes, in no order.
struct VertexList {
  index_t* vertices;
  index_t* count;  ///< zero before
};
/// Those of whom a kernel picks some.
struct Candidates {
  index_t most;             ///< there are no more
  const index_t* vertices;  ///< null: all of the graph
  const index_t* count;     ///< null: as many as `most`
};

/// All are undecided after it, and of.beside is known.
void begin_standings(const GraphLists& graph, double share, const StandingLists& of, CUstream_st* stream);
/// of.own from of.beside, where it is undecided. Everyone that is stands among the candidates.
void decide(const GraphLists& graph, const StandingLists& of, const Candidates& among, CUstream_st* stream);
/// of.beside from of.own, where it was undecided, and the vertices where it was: candidates for what follows. Where
/// there are none the search is over.
void look_beside(const GraphLists& graph, const StandingLists& of, const Candidates& among, const VertexList& to,
                 CUstream_st* stream);
/// From a set that is decided and what is beside each vertex: the roots.
void join_roots(const GraphLists& graph, const StandingLists& of, index_t* roots, CUstream_st* stream);

void fill(index_t count, index_t value, index_t* values, CUstream_st* stream);
/// values[i] = i.
void number(index_t count, index_t* values, CUstream_st* stream);

}  // namespace blockjacobi::kernels
