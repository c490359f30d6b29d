#include "backend/cuda_clusters.hpp"

#include "backend/cuda_check.hpp"
#include "core/csr_pattern.hpp"
#include "core/partition_impl.hpp"
#include "core/shared/cluster_rules.hpp"
#include "kernels/partition/launch_clusters.hpp"
#include "kernels/partition/launch_sort.hpp"
#include "partition/aggregates.hpp"

#include <algorithm>

namespace blockjacobi::detail {

namespace {

using kernels::GraphLists;
using kernels::ListSum;
using kernels::ListTables;
using kernels::NodeRows;

/// Arrays in a row, in as few allocations as can be; freed together.
class Arena {
 public:
  Arena(CudaContext& context, std::size_t bytes) : context_(context), later_bytes_(bytes / 4) { add(bytes); }

  template <class T>
  T* take(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    if (bytes > bytes_ - used_) add(std::max(bytes, later_bytes_));
    auto* const array = static_cast<std::byte*>(chunks_.back().data()) + used_;
    used_ += bytes;
    return reinterpret_cast<T*>(array);
  }
  template <class T>
  T* take(index_t count) {
    return take<T>(static_cast<std::size_t>(count));
  }

  struct Mark {
    std::size_t chunks, bytes, used;
  };
  Mark mark() const { return {chunks_.size(), bytes_, used_}; }
  /// Forgets the arrays taken since.
  void rewind(const Mark& mark) {
    chunks_.resize(mark.chunks);
    bytes_ = mark.bytes;
    used_ = mark.used;
  }

 private:
  static constexpr std::size_t alignment = 256;
  void add(std::size_t bytes) {
    chunks_.emplace_back(context_, bytes);
    bytes_ = bytes;
    used_ = 0;
  }

  CudaContext& context_;
  std::size_t later_bytes_;  ///< of a chunk but the first, or more
  std::vector<CudaMemory> chunks_;
  std::size_t bytes_ = 0, used_ = 0;  ///< of the last chunk
};

/// A graph, and what its vertices stand for.
struct Level {
  GraphLists graph{};
  offset_t entries = 0;     ///< no more in all lists
  index_t* rows = nullptr;  ///< of a vertex
  index_t* of = nullptr;    ///< the vertex of the next level that a vertex became part of, later its cluster

  index_t size() const { return graph.vertices; }
};

/// About three times the entries of the first graph, with twice its vertices, where they are contracted.
constexpr int graphs_of_clusters = 3;
/// The graph, and its strong edges; of nodes there is more, which comes in a second piece.
constexpr int graphs_of_set = 2;

class ClusterSearch {
 public:
  /// Graphs that the search goes through have so many entries together, for each of the matrix.
  ClusterSearch(CudaContext& context, index_t rows, offset_t nnz, int graphs, index_t max_size,
                const ClusterPhases& phases)
      : context_(context),
        phases_(phases),
        rows_(rows),
        max_size_(max_size),
        arena_(context, first_bytes(rows, nnz, graphs)),
        sums_(arena_.take<ListSum>(static_cast<std::size_t>(rows) + 1)),
        mates_(arena_.take<index_t>(rows)),
        wishes_(arena_.take<index_t>(rows)),
        firsts_(arena_.take<index_t>(rows)),
        scan_(arena_.take<std::byte>(kernels::list_scan_bytes(rows))) {
    end_phase("memory");
  }

  /// The graph of the rows, or of the nodes.
  template <class C, Offset O>
  void tie(const CsrView<const C, O>& matrix, const Backend& backend, const BlockPartition& nodes) {
    tie_rows(matrix);
    const PartitionImpl& blocks = *nodes.impl();
    if (blocks.uniform_size() == 1) return take_rows();
    NodeRows of{nullptr, blocks.uniform_size(), rows_};
    if (of.size == 0 && (of.offsets = blocks.offsets_in(backend)) == nullptr) {
      const auto offsets = blocks.offsets();
      node_offsets_ = CudaMemory(context_, offsets.size_bytes());
      check(
          cudaMemcpyAsync(node_offsets_.data(), offsets.data(), offsets.size_bytes(), cudaMemcpyHostToDevice, stream()),
          "cudaMemcpyAsync(nodes)");
      of.offsets = static_cast<const index_t*>(node_offsets_.data());
    }
    join_nodes(of, blocks.blocks(), nodes.largest_block());
  }

  /// The old numbers of the rows; adds where blocks begin.
  void find(index_t* order, std::uint32_t* starts) {
    while (contract()) continue;
    refine();
    const auto [labels, count] = labels_of_rows();
    kernels::LabelBlocks blocks{arena_.take<index_t>(count), arena_.take<index_t>(count), arena_.take<index_t>(count),
                                mates_};
    kernels::fill(count, rows_, blocks.first, stream());
    context_.zero(blocks.size, bytes_of<index_t>(count));
    context_.zero(blocks.taken, bytes_of<index_t>(count));
    kernels::measure_blocks(rows_, labels, blocks, sums_, stream());
    kernels::sum_lists(rows_, sums_, scan_, stream());
    kernels::order_rows(rows_, labels, sums_, blocks, order, starts, stream());
    end_phase("numbering");
  }

  /// The aggregate of each row; at most `count` of them.
  kernels::CoupledCounts aggregate(AggregateSizes sizes, index_t count, index_t* of_row) {
    const Level graph = levels_.front();
    const CoupledNumbers numbers = make_numbers();
    const Arena::Mark mark = arena_.mark();
    while (true) {
      max_size_ = sizes.most();
      while (contract()) continue;
      refine();
      const index_t* const cluster = levels_.front().of != nullptr ? levels_.front().of : identity();
      const kernels::CoupledCounts found = number_coupled(graph, cluster, levels_.back().size(), numbers);
      if (!sizes.grow(found.clusters)) {
        const index_t kept = std::min(found.clusters, count);
        number_rows(graph, cluster, numbers, kept, found.clusters, of_row);
        return {kept, found.uncovered_rows};
      }
      levels_.assign(1, graph);
      arena_.rewind(mark);
    }
  }

  /// The aggregate of each row, around an independent set.
  kernels::CoupledCounts neighbourhoods(double share, index_t* of_row) {
    const Level& level = levels_.front();
    const kernels::StandingLists of{arena_.take<double>(level.size()),
                                    arena_.take<index_t>(static_cast<std::size_t>(level.entries)),
                                    arena_.take<Standing>(level.size()), arena_.take<Standing>(level.size())};
    index_t* const lists[] = {wishes_, firsts_};
    auto* const counts = arena_.take<index_t>(index_t{rounds_at_once});
    kernels::begin_standings(level.graph, share, of, stream());
    kernels::Candidates among{level.size(), nullptr, nullptr};
    while (among.most > 0) {
      context_.zero(counts, bytes_of<index_t>(rounds_at_once));
      for (int round = 0; round < rounds_at_once; ++round) {
        const kernels::VertexList to{lists[round % 2], counts + round};
        kernels::decide(level.graph, of, among, stream());
        kernels::look_beside(level.graph, of, among, to, stream());
        among = {among.most, to.vertices, to.count};
      }
      among = {context_.read(among.count), among.vertices, nullptr};
    }
    kernels::join_roots(level.graph, of, mates_, stream());
    const CoupledNumbers numbers = make_numbers();
    const kernels::CoupledCounts found = number_coupled(level, mates_, level.size(), numbers);
    number_rows(level, mates_, numbers, found.clusters, found.clusters, of_row);
    return found;
  }

 private:
  /// Of an independent set, before the host asks how many candidates are left: it waits for that as long as a few
  /// rounds take that find none.
  static constexpr int rounds_at_once = 8;
  static_assert(rounds_at_once % 2 == 0);  // the next begins with the list that the last one wrote

  /// Scratch of numbers for clusters of the first level.
  struct CoupledNumbers {
    index_t *first, *numbers;
    kernels::CoupledCounts* counts;
    std::byte* scratch;
  };
  CoupledNumbers make_numbers() {
    const index_t size = levels_.front().size();
    return {arena_.take<index_t>(size), arena_.take<index_t>(size), arena_.take<kernels::CoupledCounts>(std::size_t{1}),
            arena_.take<std::byte>(kernels::scan_bytes(size))};
  }
  /// Waits.
  kernels::CoupledCounts number_coupled(const Level& level, const index_t* cluster, index_t clusters,
                                        const CoupledNumbers& of) {
    kernels::number_coupled(level.graph, level.rows, cluster, clusters, of.first, of.counts, of.numbers, of.scratch,
                            stream());
    return context_.read(static_cast<const kernels::CoupledCounts*>(of.counts));
  }
  void number_rows(const Level& level, const index_t* cluster, const CoupledNumbers& of, index_t kept, index_t found,
                   index_t* of_row) {
    kernels::number_rows(rows_, level.size(), node_, cluster, of.first, of.numbers, kept, found, of_row, stream());
  }

  /// The graph of the rows.
  template <class C, Offset O>
  void tie_rows(const CsrView<const C, O>& matrix) {
    auto* const roots = arena_.take<double>(rows_);
    auto* const taken = arena_.take<index_t>(rows_);
    Level level = make_level(rows_, matrix.nnz);
    auto* const counts = zeroed<kernels::ListCounts>();
    kernels::place_rows(pattern_of(matrix), nullptr, taken, level.graph, counts, stream());
    const auto longest = static_cast<offset_t>(context_.read(counts).longest);
    level.graph.longest = longest;
    kernels::scale_rows(matrix, longest, roots, stream());
    kernels::tie_rows(matrix, longest, roots, level.graph, taken, false, counts, stream());
    if (context_.read(counts).lacking != 0) {
      const Totals totals =
          measure(rows_, [&](auto* most) { kernels::measure_rows(pattern_of(matrix), taken, sums_, most, stream()); });
      level.entries = totals.sum.entries;
      level.graph.longest = static_cast<offset_t>(totals.longest);
      take_lists(level);
      kernels::place_rows(pattern_of(matrix), sums_, taken, level.graph, counts, stream());
      kernels::tie_rows(matrix, longest, roots, level.graph, taken, true, counts, stream());
    }
    end_phase("strength graph");
    levels_.push_back(level);
  }

  /// From the graph of the rows to that of `count` nodes.
  void join_nodes(const NodeRows& nodes, index_t count, index_t largest) {
    const Level of_rows = levels_.back();
    levels_.clear();
    Level level = make_level(count, of_rows.entries);
    node_ = arena_.take<index_t>(rows_);
    kernels::place_nodes(count, nodes, node_, level.rows, stream());
    level.graph.longest = largest * of_rows.graph.longest;
    auto* const longest = zeroed<unsigned long long>();
    kernels::join_nodes(of_rows.graph, node_, nodes, level.graph, longest, tables(level), stream());
    level.graph.longest = static_cast<offset_t>(context_.read(longest));
    end_phase("nodes");
    levels_.push_back(level);
  }
  /// The rows are the nodes.
  void take_rows() { kernels::fill(rows_, 1, levels_.back().rows, stream()); }

  /// Of all lists: the last of the sums, and what lies behind it.
  struct Totals {
    ListSum sum;
    unsigned long long longest;
    unsigned long long joined;  ///< the longest that join_pairs() made
  };
  static_assert(sizeof(Totals) == 2 * sizeof(ListSum));

  CUstream_st* stream() const { return context_.stream(); }
  void end_phase(const char* name) const {
    if (phases_) phases_(name);
  }
  template <class T>
  static std::size_t bytes_of(index_t count) {
    return static_cast<std::size_t>(count) * sizeof(T);
  }
  static std::size_t first_bytes(index_t rows, offset_t nnz, int graphs) {
    constexpr std::size_t of_entry = sizeof(index_t) + sizeof(double), of_row = 144, more = std::size_t{1} << 18;
    return static_cast<std::size_t>(nnz) * static_cast<std::size_t>(graphs) * of_entry +
           static_cast<std::size_t>(rows) * of_row + more;
  }

  template <class T>
  T* zeroed() {
    auto* const one = arena_.take<T>(std::size_t{1});
    context_.zero(one, sizeof(T));
    return one;
  }
  /// measure(longest) fills sums_ with lists, which are summed.
  template <class Measure>
  Totals measure(index_t vertices, Measure&& measure) {
    auto* const longest = reinterpret_cast<unsigned long long*>(sums_ + vertices);
    // What join_pairs() counted for a later level stands behind it.
    context_.zero(longest, (levels_.size() > 1 ? 1 : 2) * sizeof(*longest));
    measure(longest);
    kernels::sum_lists(vertices, sums_, scan_, stream());
    return context_.read(reinterpret_cast<const Totals*>(sums_ + vertices - 1));
  }

  Level make_level(index_t vertices, offset_t entries) {
    Level level;
    level.entries = entries;
    level.graph.vertices = vertices;
    level.graph.begin = arena_.take<offset_t>(vertices);
    level.graph.length = arena_.take<index_t>(vertices);
    level.rows = arena_.take<index_t>(vertices);
    take_lists(level);
    return level;
  }
  void take_lists(Level& level) {
    level.graph.usual = level.entries / std::max<offset_t>(level.size(), 1);
    level.graph.neighbours = arena_.take<index_t>(static_cast<std::size_t>(level.entries));
    level.graph.weights = arena_.take<double>(static_cast<std::size_t>(level.entries));
  }

  /// For the lists of that level, or those that become its lists.
  ListTables tables(const Level& level) {
    const offset_t slots = kernels::table_slots(level.graph.longest, level.size());
    const unsigned ctas = kernels::table_ctas(level.graph.longest, level.entries);
    const auto all = static_cast<std::size_t>(slots) * ctas;
    if (all > table_slots_) {
      table_keys_ = CudaMemory(context_, all * sizeof(index_t));
      table_sums_ = CudaMemory(context_, all * sizeof(double));
      table_slots_ = all;
    }
    return {static_cast<index_t*>(table_keys_.data()), static_cast<double*>(table_sums_.data()), slots, ctas};
  }

  /// Adds the next level; false if no two vertices of the last match.
  bool contract() {
    Level& level = levels_.back();
    static_assert(match_rounds % 2 == 0);
    index_t* const wishes[] = {mates_, wishes_};
    for (int round = 0; round < match_rounds; ++round)
      kernels::match(level.graph, level.rows, max_size_, round == 0 ? nullptr : wishes[(round + 1) % 2],
                     wishes[round % 2], stream());
    end_phase("matching");
    const Totals totals = measure(level.size(), [&](auto* longest) {
      kernels::measure_pairs(level.graph, wishes_, mates_, sums_, longest, stream());
    });
    if (levels_.size() > 1) level.graph.longest = static_cast<offset_t>(totals.joined);
    if (totals.sum.count == level.size()) return false;
    level.of = arena_.take<index_t>(level.size());
    Level next = make_level(static_cast<index_t>(totals.sum.count), totals.sum.entries);
    next.graph.usual = next.graph.usual * 2 / 3;  // of two lists, in which some find the same vertex
    kernels::place_pairs(level.graph, mates_, level.rows, sums_, level.of, firsts_, next.rows, next.graph.begin,
                         stream());
    next.graph.longest = static_cast<offset_t>(totals.longest);
    auto* const joined = reinterpret_cast<unsigned long long*>(sums_ + next.size()) + 1;
    context_.zero(joined, sizeof(*joined));
    kernels::join_pairs(level.graph, level.of, firsts_, mates_, next.graph, joined, tables(next), stream());
    next.graph.longest = std::min(next.graph.longest, offset_t{next.size()});
    end_phase("contraction");
    levels_.push_back(next);
    return true;
  }

  struct Labels {
    const index_t* of_rows;
    index_t count;
  };
  Labels labels_of_rows() {
    const index_t* const of = levels_.front().of;
    if (node_ == nullptr) return {of != nullptr ? of : identity(), levels_.back().size()};
    if (of != nullptr) kernels::compose(rows_, of, node_, stream());
    return {node_, levels_.back().size()};
  }
  /// Of the rows, none of which match.
  const index_t* identity() {
    kernels::number(rows_, firsts_, stream());
    return firsts_;
  }

  /// Back from the clusters of the last level, by moves.
  void refine() {
    if (levels_.size() == 1) return;
    const Level& last = levels_.back();
    const index_t most = levels_.front().size();
    const std::size_t chains = static_cast<std::size_t>(last.size()) * kernels::mover_chains;
    const kernels::MoveLists moves{arena_.take<double>(most), arena_.take<index_t>(most),
                                   arena_.take<index_t>(last.size()), arena_.take<index_t>(chains)};
    context_.zero(moves.arrivals, bytes_of<index_t>(last.size()));
    check(cudaMemsetAsync(moves.chains, 0xff, chains * sizeof(index_t), stream()), "cudaMemsetAsync(chains)");
    kernels::draw_sides(last.size(), last.rows, stream());
    for (std::size_t l = levels_.size() - 1; l-- > 0;) {
      const Level& level = levels_[l];
      if (l + 2 < levels_.size()) kernels::compose(level.size(), levels_[l + 1].of, level.of, stream());
      const ListTables for_level = tables(level);
      for (int round = 0; round < move_rounds; ++round)
        kernels::move_vertices(level.graph, level.rows, max_size_, round, last.size(), level.of, last.rows, moves,
                               for_level, stream());
      end_phase("moves");
    }
  }

  CudaContext& context_;
  ClusterPhases phases_;
  index_t rows_, max_size_;
  Arena arena_;
  ListSum* sums_;  ///< the scratch of a pass has room for the first level
  index_t *mates_, *wishes_, *firsts_;
  std::byte* scan_;
  CudaMemory node_offsets_;
  index_t* node_ = nullptr;  ///< of a row
  std::vector<Level> levels_;
  CudaMemory table_keys_, table_sums_;
  std::size_t table_slots_ = 0;
};

}  // namespace

template <class C, Offset O>
void cuda_clusters(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                   const BlockPartition& nodes, index_t max_size, index_t* order, std::uint32_t* starts,
                   const ClusterPhases& phases) {
  if (matrix.rows == 0) return;
  const DeviceGuard guard(context.device());
  ClusterSearch search(context, matrix.rows, matrix.nnz, graphs_of_clusters, max_size, phases);
  search.tie(matrix, backend, nodes);
  search.find(order, starts);
}

namespace {

/// find(search, of_row) in the graph of the blocks.
template <class C, Offset O, class Find>
Aggregates find_aggregates(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                           const BlockPartition& blocks, int graphs, index_t max_size, Find find) {
  Aggregates aggregates{Array<index_t>(backend, static_cast<std::size_t>(matrix.rows)), 0, 0};
  if (matrix.rows == 0) return aggregates;
  const DeviceGuard guard(context.device());
  ClusterSearch search(context, matrix.rows, matrix.nnz, graphs, max_size, {});
  search.tie(matrix, backend, blocks);
  const kernels::CoupledCounts found = find(search, aggregates.of_row.data());
  aggregates.count = found.clusters;
  aggregates.uncovered_rows = found.uncovered_rows;
  return aggregates;
}

}  // namespace

template <class C, Offset O>
Aggregates cuda_aggregates(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                           const BlockPartition& blocks, index_t count) {
  const AggregateSizes sizes(blocks, count);
  return find_aggregates(
      context, backend, matrix, blocks, graphs_of_clusters, sizes.most(),
      [&](ClusterSearch& search, index_t* of_row) { return search.aggregate(sizes, count, of_row); });
}

template <class C, Offset O>
Aggregates cuda_neighbourhoods(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                               const BlockPartition& blocks, double share) {
  return find_aggregates(context, backend, matrix, blocks, graphs_of_set, largest_cluster,
                         [&](ClusterSearch& search, index_t* of_row) { return search.neighbourhoods(share, of_row); });
}

#define BLOCKJACOBI_INSTANTIATE_FOR(C, O)                                                                              \
  template void cuda_clusters(CudaContext&, const Backend&, const CsrView<const C, O>&, const BlockPartition&,         \
                              index_t, index_t*, std::uint32_t*, const ClusterPhases&);                                \
  template Aggregates cuda_aggregates(CudaContext&, const Backend&, const CsrView<const C, O>&, const BlockPartition&, \
                                      index_t);                                                                        \
  template Aggregates cuda_neighbourhoods(CudaContext&, const Backend&, const CsrView<const C, O>&,                    \
                                          const BlockPartition&, double)
#define BLOCKJACOBI_INSTANTIATE(C)              \
  BLOCKJACOBI_INSTANTIATE_FOR(C, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(C, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(Complex<float>);
BLOCKJACOBI_INSTANTIATE(Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi::detail
