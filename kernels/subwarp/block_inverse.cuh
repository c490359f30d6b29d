#pragma once

#include "kernels/subwarp/block_tile.cuh"
#include "kernels/subwarp/tensor.cuh"

namespace blockjacobi::kernels {

/// The W steps of a Gauss-Jordan inversion on W columns of a matrix of order N, by rows in the registers of a team:
/// lane r has the R rows r, r + L, .... Rows stay where they are and remember their place. What becomes of the columns
/// is all that the others need: with the old elements v of the pivot rows, a column a becomes (a or, in the pivot rows,
/// 0) + x v. As in RowInverse in all else.
template <class C, int N, int W, int L>
struct PanelInverse {
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int R = (N + L - 1) / L;

  C x[R][W];
  int place[R];  ///< where the row goes; -1 for rows that do not exist
  int rank;
  unsigned lowest = ~0u, highest = 0;  ///< of the pivots

  __device__ explicit PanelInverse(int rank_) : rank(rank_) {
#pragma unroll
    for (int q = 0; q < R; ++q) place[q] = q * L + rank < N ? q * L + rank : -1;
  }

  /// Steps first .. first + W - 1.
  __device__ void run(int first) {
#pragma unroll
    for (int q = 0; q < R; ++q) current_[q] = x[q][0];
    search(first);
#pragma unroll 1
    for (int k = first; k < first + W; ++k) step(k);
#pragma unroll
    for (int q = 0; q < R; ++q) x[q][0] = current_[q];
  }

 private:
  C current_[R];
  unsigned key_;    ///< of the pivot
  int slot_;        ///< of the best row of this lane
  int best_place_;  ///< its place
  C inverse_;       ///< of its element

  __device__ static int row_of(unsigned key) { return 31 - static_cast<int>(key & 31u); }

  __device__ void search(int k) {
    unsigned key = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const unsigned candidate = (magnitude_word(current_[q]) & ~31u) | static_cast<unsigned>(31 - (q * L + rank));
      key = max(key, place[q] >= k ? candidate : 0u);
    }
    key_ = Team<L>::max(key);
    slot_ = row_of(key) / L;
    inverse_ = fast_reciprocal(pick(current_, slot_));
    best_place_ = pick(place, slot_);
  }

  __device__ void step(int k) {
    const int owner = row_of(key_) % L, slot = slot_;
    lowest = min(lowest, key_);
    highest = max(highest, key_);
    const C inverse = Team<L>::broadcast(inverse_, owner);
    const int old_place = Team<L>::broadcast(best_place_, owner);
    C factor[R], last[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool pivot = rank == owner && slot == q;
      const int moved = place[q] == k ? old_place : place[q];
      place[q] = pivot ? k : moved;
      factor[q] = pivot ? detail::from_real<C>(Real(1)) - inverse : current_[q] * inverse;
      last[q] = pivot ? inverse : -factor[q];
    }
    const auto pivot_row = [&](int j) {
      C column[R];
#pragma unroll
      for (int q = 0; q < R; ++q) column[q] = x[q][j];
      return Team<L>::broadcast(pick(column, slot), owner);
    };
    if constexpr (W > 1) {
      const C v = pivot_row(1);
#pragma unroll
      for (int q = 0; q < R; ++q) current_[q] = fused_subtract(x[q][1], factor[q], v);
      search(k + 1);
    }
#pragma unroll
    for (int j = 2; j < W; ++j) {
      const C v = pivot_row(j);
#pragma unroll
      for (int q = 0; q < R; ++q) x[q][j - 1] = fused_subtract(x[q][j], factor[q], v);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) (W > 1 ? x[q][W - 1] : current_[q]) = last[q];
  }
};

/// Gauss-Jordan inversion with partial pivoting of the matrices of a warp, one a team in a BlockTile each, by panels of
/// 8 columns. The fast path; it says if it could not serve a matrix, as RowInverse does.
///
/// A panel is treated by rows in the registers of its team. Then the warp takes one matrix after the other and brings
/// the other columns up to date on the tensor cores, in fp64: for a rank-8 update they need a quarter of the
/// instructions.
template <class C, int N>
class BlockInverse {
 public:
  static constexpr int lanes = 8;
  using Tile = BlockTile<C, N, lanes>;

  /// `shared`: of the tiles of the warp.
  __device__ BlockInverse(unsigned char* shared, const Team<lanes>& team)
      : shared_(shared), tile_(shared, team.number), rank_(team.rank), lane_(static_cast<int>(threadIdx.x) % 32) {}

  /// All lanes of the warp. Column j of the tile becomes column tile.pivots[j] of the inverse divided by power().
  /// Returns whether the matrix could be served.
  __device__ bool run() {
    const bool scalable = scale();
#pragma unroll
    for (int i = 0; i < N; i += lanes)
      if (i + rank_ < N) tile_.pivots[i + rank_] = static_cast<unsigned char>(i + rank_);
#pragma unroll 1
    for (int first = 0; first + width <= N; first += width) panel<width>(first);
    if constexpr (N % width != 0) panel<N % width>(N / width * width);
    return scalable && static_cast<int>(lowest_ >> Field::shift) >= least_fast_exponent<C> &&
           static_cast<int>(highest_ >> Field::shift) <= Field::bias + most_growth;
  }

  __device__ C power() const { return power_; }

 private:
  using Field = ExponentField<C>;
  static constexpr int ld = Tile::ld, width = Tile::panel;
  static constexpr int groups = (N + width - 1) / width;

  struct alignas(2 * sizeof(C)) Pair {
    C value[2];
  };

  /// Growth that costs 6 bits is accepted.
  static constexpr int most_growth = 6;
  /// Matrices with a largest element from 2^-this to 2 are taken as they are.
  static constexpr int least_scaled = 40;

  unsigned char* shared_;
  const Tile tile_;
  int rank_, lane_;
  unsigned lowest_ = ~0u, highest_ = 0;
  C power_ = 1;

  /// Brings the largest element to at most 2, where need be. Returns whether there is a power of two that can.
  __device__ bool scale() {
    unsigned word = 0;
    for_each_part([&](Vector16<C>& part, int i) {
#pragma unroll
      for (int u = 0; u < Tile::vector; ++u)
        if (i + u < N) word = max(word, magnitude_word(part.value[u]));
      return false;
    });
    const int field = static_cast<int>(Team<lanes>::max(word) >> Field::shift);
    const bool scalable = field > 1 && field < 2 * Field::bias - 1;
    const bool needed = scalable && (field > Field::bias || field < Field::bias - least_scaled);
    if (Team<lanes>::any_in_warp(needed)) {
      if (needed) power_ = power_from_field(C(), 2 * Field::bias - 1 - field);
      for_each_part([&](Vector16<C>& part, int) {
#pragma unroll
        for (int u = 0; u < Tile::vector; ++u) part.value[u] = scaled(part.value[u], power_);
        return true;
      });
    }
    return scalable;
  }

  /// visit(part, first row of it) for this lane's columns, which says whether the part goes back.
  template <class Visit>
  __device__ void for_each_part(Visit visit) const {
#pragma unroll 1
    for (int j = rank_; j < N; j += lanes)
#pragma unroll
      for (int i = 0; i < N; i += Tile::vector) {
        auto* const place = reinterpret_cast<Vector16<C>*>(tile_.a + i + j * ld);
        auto part = *place;
        if (visit(part, i)) *place = part;
      }
  }

  template <int W>
  __device__ void panel(int first) {
    Team<lanes>::sync();
    invert_panel<W>(first);
    Team<lanes>::sync();
    if constexpr (groups > 1) update<W>(first);
  }

  /// The panel of the columns from `first` on, with its rows at their places, and the lists that say how rows moved.
  template <int W>
  __device__ void invert_panel(int first) {
    PanelInverse<C, N, W, lanes> panel(rank_);
    constexpr int R = panel.R;
    unsigned char original[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int i = q * lanes + rank_;
      const bool exists = (q + 1) * lanes <= N || i < N;
      original[q] = exists ? tile_.pivots[i] : static_cast<unsigned char>(0);
#pragma unroll
      for (int j = 0; j < W; ++j) panel.x[q][j] = exists ? tile_.a[i + (first + j) * ld] : C{};
    }
    panel.run(first);
    lowest_ = min(lowest_, panel.lowest);
    highest_ = max(highest_, panel.highest);
    Team<lanes>::sync();
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int place = panel.place[q], i = q * lanes + rank_;
      if (place < 0) continue;
      tile_.pivots[place] = original[q];
      if (place >= first && place < first + W) tile_.source[place - first] = static_cast<unsigned char>(i);
      if (i >= first && i < first + W) tile_.target[i - first] = static_cast<unsigned char>(place);
#pragma unroll
      for (int j = 0; j < W; ++j) tile_.a[place + (first + j) * ld] = panel.x[q][j];
    }
  }

  /// What a lane contributes to the products for one matrix.
  struct Operands {
    double v[groups > 1 ? groups - 1 : 1][2];  ///< old elements of pivot rows, for a column of each group
    double x[groups][2];                       ///< of the panel, for a row of each tile
  };

  /// The other columns of all matrices of the warp, by the whole warp. A product has columns of the matrix in its rows,
  /// so that a lane has two neighbouring elements of a column; the order of columns in a group of 8, and that of the
  /// pivots, spare bank conflicts.
  template <int W>
  __device__ void update(int first) const {
    constexpr int together = 2;  // hide the latency of each other
#pragma unroll 1
    for (int m = 0; m < Team<lanes>::per_warp; m += together) {
      Operands operands[together];
#pragma unroll
      for (int i = 0; i < together; ++i) load_operands<W>(Tile(shared_, m + i), first, operands[i]);
      Team<32>::sync();
#pragma unroll
      for (int i = 0; i < together; ++i) move_rows<W>(Tile(shared_, m + i), first);
      Team<32>::sync();
#pragma unroll
      for (int i = 0; i < together; ++i) multiply<W>(Tile(shared_, m + i), first, operands[i]);
    }
  }

  template <int W>
  __device__ void load_operands(const Tile& tile, int first, Operands& operands) const {
    const int quad = lane_ / 4, member = lane_ % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int s = 2 * member + h;
      const bool exists = s < W;
      const int row = exists ? tile.source[s] : 0;
#pragma unroll
      for (int g = 0; g < groups - 1; ++g) {
        const int j = other_column(g, first);
        operands.v[g][h] = exists && j < N ? tile.a[row + j * ld] : C{};
      }
#pragma unroll
      for (int t = 0; t < groups; ++t)
        operands.x[t][h] = exists && t * 8 + quad < N ? tile.a[t * 8 + quad + (first + s) * ld] : C{};
    }
  }

  template <int W>
  __device__ void multiply(const Tile& tile, int first, const Operands& operands) const {
    // All loads before all stores, as the compiler cannot tell the places apart.
    double sum[groups > 1 ? groups - 1 : 1][groups][2];
    for_each_pair(tile, first, [&](int g, int t, const Pair* place) {
      const Pair pair = t * 8 != first && place != nullptr ? *place : Pair{};
      sum[g][t][0] = pair.value[0];
      sum[g][t][1] = pair.value[1];
    });
#pragma unroll
    for (int h = 0; h < (W > 1 ? 2 : 1); ++h)
#pragma unroll
      for (int g = 0; g < groups - 1; ++g)
#pragma unroll
        for (int t = 0; t < groups; ++t) multiply_add(sum[g][t][0], sum[g][t][1], operands.v[g][h], operands.x[t][h]);
    for_each_pair(tile, first, [&](int g, int t, Pair* place) {
      if (place != nullptr) *place = {static_cast<C>(sum[g][t][0]), static_cast<C>(sum[g][t][1])};
    });
  }

  /// visit(g, t, place) for this lane's elements in tile t of group g; without a place if there are none.
  template <class Visit>
  __device__ void for_each_pair(const Tile& tile, int first, Visit visit) const {
#pragma unroll
    for (int g = 0; g < groups - 1; ++g) {
      const int j = other_column(g, first);
#pragma unroll
      for (int t = 0; t < groups; ++t) {
        const int i = t * 8 + 2 * (lane_ % 4);
        const bool exists = (t * 8 + 8 <= N || i < N) && (N % 8 == 0 || j < N);
        visit(g, t, exists ? reinterpret_cast<Pair*>(tile.a + i + j * ld) : nullptr);
      }
    }
  }

  /// This lane's column of group g of those beside the panel.
  __device__ int other_column(int g, int first) const {
    const int quad = lane_ / 4, in_group = quad / 2 + 4 * (quad % 2);
    return (g * width < first ? g * width : (g + 1) * width) + in_group;
  }

  /// Rows of the panel that are no pivots to where these came from, in the other columns.
  template <int W>
  __device__ void move_rows(const Tile& tile, int first) const {
    const int s = lane_ % width;
    const int target = s < W ? tile.target[s] : first;
    if (target >= first && target < first + W) return;
#pragma unroll
    for (int c = 0; c < N - W; c += 4) {
      const int other = c + lane_ / width;
      if (c + 4 > N - W && other >= N - W) continue;
      C* const column = tile.a + (other < first ? other : other + W) * ld;
      column[target] = column[first + s];
    }
  }
};

}  // namespace blockjacobi::kernels
