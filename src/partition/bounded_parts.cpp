#include "partition/bounded_parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace blockjacobi::detail {

namespace {

constexpr index_t nowhere = -1;

/// The element of vertex or piece v.
template <class V>
decltype(auto) at(V&& values, index_t v) {
  return values[static_cast<std::size_t>(v)];
}

class PartsRepair {
 public:
  PartsRepair(const CsrMatrix<double>& graph, std::span<const index_t> rows, std::span<const index_t> part,
              index_t max_size)
      : graph_(graph),
        rows_(rows),
        part_(part),
        max_size_(max_size),
        piece_(part.size(), nowhere),
        mark_(part.size(), nowhere),
        tie_(part.size(), 0.0) {}

  std::vector<index_t> run() {
    for (index_t v = 0; v < graph_.rows(); ++v)
      while (at(piece_, v) == nowhere) cut_piece(v);
    merge_small_pieces();
    return number_pieces();
  }

 private:
  /// visit(neighbour, weight)
  template <class Visit>
  void for_each_neighbour(index_t v, Visit&& visit) const {
    const auto begin = static_cast<std::size_t>(at(graph_offsets_, v));
    const auto end = static_cast<std::size_t>(at(graph_offsets_, v + 1));
    for (std::size_t k = begin; k < end; ++k) visit(graph_.columns()[k], graph_.values()[k]);
  }

  index_t rows_of(const std::vector<index_t>& vertices) const {
    return std::accumulate(vertices.begin(), vertices.end(), index_t{0},
                           [this](index_t sum, index_t v) { return sum + at(rows_, v); });
  }

  /// What of the part of `seed` is in no piece yet and hangs together with it, breadth first: the last is on the rim.
  std::vector<index_t> component(index_t seed) {
    const index_t stamp = stamp_++;
    std::vector<index_t> found{seed};
    at(mark_, seed) = stamp;
    for (std::size_t next = 0; next < found.size(); ++next)
      for_each_neighbour(found[next], [&](index_t v, double) {
        if (at(part_, v) != at(part_, seed) || at(piece_, v) != nowhere || at(mark_, v) == stamp) return;
        at(mark_, v) = stamp;
        found.push_back(v);
      });
    return found;
  }

  /// Makes a piece of what hangs together with `seed`, or of a share of it that fits.
  void cut_piece(index_t seed) {
    const std::vector<index_t> together = component(seed);
    const index_t rows = rows_of(together);
    const index_t pieces = (rows + max_size_ - 1) / max_size_;
    add_piece(pieces == 1 ? together : grow(together, (rows + pieces - 1) / pieces));
  }

  /// A piece of at most max_size rows, and of `wanted` if it can be, from the end of a component.
  std::vector<index_t> grow(const std::vector<index_t>& from, index_t wanted) {
    for (const index_t v : from) at(tie_, v) = 0.0;
    const index_t stamp = stamp_++;  // marks what is in the piece
    std::vector<index_t> piece, rim;
    index_t rows = 0;
    index_t next = from.back();
    while (next != nowhere) {
      piece.push_back(next);
      at(mark_, next) = stamp;
      rows += at(rows_, next);
      for_each_neighbour(next, [&](index_t v, double weight) {
        if (at(part_, v) != at(part_, next) || at(piece_, v) != nowhere || at(mark_, v) == stamp) return;
        if (at(tie_, v) == 0.0) rim.push_back(v);
        at(tie_, v) += weight;
      });
      next = nowhere;
      if (rows >= wanted) break;
      for (const index_t v : rim)
        if (at(mark_, v) != stamp && rows + at(rows_, v) <= max_size_ &&
            (next == nowhere || at(tie_, v) > at(tie_, next)))
          next = v;
    }
    return piece;
  }

  void add_piece(const std::vector<index_t>& vertices) {
    for (const index_t v : vertices) at(piece_, v) = static_cast<index_t>(pieces_.size());
    pieces_.push_back(vertices);
    piece_rows_.push_back(rows_of(vertices));
  }

  void merge_small_pieces() {
    std::vector<index_t> ascending(pieces_.size());
    std::iota(ascending.begin(), ascending.end(), 0);
    std::ranges::stable_sort(ascending, {}, [this](index_t p) { return at(piece_rows_, p); });
    for (const index_t p : ascending)
      if (const index_t rows = at(piece_rows_, p); rows > 0 && 2 * rows <= max_size_) merge_with_neighbour(p);
  }

  void merge_with_neighbour(index_t p) {
    std::map<index_t, double> ties;
    for (const index_t v : at(pieces_, p))
      for_each_neighbour(v, [&](index_t w, double weight) {
        if (at(piece_, w) != p) ties[at(piece_, w)] += weight;
      });
    index_t best = nowhere;
    for (const auto& [q, tie] : ties)
      if (at(piece_rows_, p) + at(piece_rows_, q) <= max_size_ && (best == nowhere || tie > ties[best])) best = q;
    if (best == nowhere) return;
    for (const index_t v : at(pieces_, p)) at(piece_, v) = best;
    at(pieces_, best).insert(at(pieces_, best).end(), at(pieces_, p).begin(), at(pieces_, p).end());
    at(piece_rows_, best) += at(piece_rows_, p);
    at(pieces_, p).clear();
    at(piece_rows_, p) = 0;
  }

  /// In the order of their first vertices.
  std::vector<index_t> number_pieces() const {
    std::vector<index_t> number(pieces_.size(), nowhere), result(piece_.size());
    index_t count = 0;
    for (std::size_t v = 0; v < piece_.size(); ++v) {
      index_t& n = at(number, piece_[v]);
      if (n == nowhere) n = count++;
      result[v] = n;
    }
    return result;
  }

  const CsrMatrix<double>& graph_;
  std::span<const offset_t> graph_offsets_ = graph_.row_offsets();
  std::span<const index_t> rows_;
  std::span<const index_t> part_;
  index_t max_size_;
  std::vector<index_t> piece_;  ///< of a vertex
  std::vector<index_t> mark_;
  index_t stamp_ = 0;
  std::vector<double> tie_;  ///< of a vertex to the piece that grows
  std::vector<std::vector<index_t>> pieces_;
  std::vector<index_t> piece_rows_;
};

}  // namespace

std::vector<index_t> bounded_parts(const CsrMatrix<double>& graph, std::span<const index_t> rows,
                                   std::span<const index_t> part, index_t max_size) {
  return PartsRepair(graph, rows, part, max_size).run();
}

}  // namespace blockjacobi::detail
