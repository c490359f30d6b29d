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
/// 8 columns, which divide N. The fast path; it says if it could not serve a matrix, as RowInverse does.
///
/// A panel is treated by rows in the registers of its team. Then the warp takes one matrix after the other and brings
/// the other columns up to date on the tensor cores, in fp64: for a rank-8 update they need a quarter of the
/// instructions.
template <class C, int N>
class BlockInverse {
  static_assert(N % 8 == 0 && N > 8);

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
    for (int i = 0; i < N; i += lanes) tile_.pivots[i + rank_] = static_cast<unsigned char>(i + rank_);
#pragma unroll 1
    for (int first = 0; first < N; first += width) {
      Team<lanes>::sync();
      invert_panel(first);
      Team<lanes>::sync();
      update(first);
    }
    Team<lanes>::sync();
    const int largest = largest_field();  // by all lanes
    return scalable && static_cast<int>(lowest_ >> Field::shift) >= least_fast_exponent<C> &&
           static_cast<int>(highest_ >> Field::shift) <= Field::bias + most_growth && largest < Field::top;
  }

  __device__ C power() const { return power_; }

 private:
  using Field = ExponentField<C>;
  static constexpr int ld = Tile::ld, width = Tile::panel;
  static constexpr int groups = N / width, others = groups - 1;

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

  /// The exponent field of the largest element; the top one if there are Inf or NaN.
  __device__ int largest_field() const {
    unsigned word = 0;
    for_each_part([&](Vector16<C>& part) {
#pragma unroll
      for (int u = 0; u < Tile::vector; ++u) word = max(word, magnitude_word(part.value[u]));
      return false;
    });
    return static_cast<int>(Team<lanes>::max(word) >> Field::shift);
  }

  /// Brings the largest element to at most 2, where need be. Returns whether there is a power of two that can.
  __device__ bool scale() {
    const int field = largest_field();
    const bool scalable = field > 1 && field < 2 * Field::bias - 1;
    const bool needed = scalable && (field > Field::bias || field < Field::bias - least_scaled);
    if (Team<lanes>::any_in_warp(needed)) {
      if (needed) power_ = power_from_field(C(), 2 * Field::bias - 1 - field);
      for_each_part([&](Vector16<C>& part) {
#pragma unroll
        for (int u = 0; u < Tile::vector; ++u) part.value[u] = scaled(part.value[u], power_);
        return true;
      });
    }
    return scalable;
  }

  /// visit(part) for this lane's columns, which says whether the part goes back.
  template <class Visit>
  __device__ void for_each_part(Visit visit) const {
#pragma unroll 1
    for (int j = rank_; j < N; j += lanes)
#pragma unroll
      for (int i = 0; i < N; i += Tile::vector) {
        auto* const place = reinterpret_cast<Vector16<C>*>(tile_.a + i + j * ld);
        auto part = *place;
        if (visit(part)) *place = part;
      }
  }

  /// The panel of the columns from `first` on, with its rows at their places, and the lists that say how rows moved.
  __device__ void invert_panel(int first) {
    PanelInverse<C, N, width, lanes> panel(rank_);
    constexpr int R = panel.R;
    unsigned char original[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int i = q * lanes + rank_;
      original[q] = tile_.pivots[i];
#pragma unroll
      for (int j = 0; j < width; ++j) panel.x[q][j] = tile_.a[i + (first + j) * ld];
    }
    panel.run(first);
    lowest_ = min(lowest_, panel.lowest);
    highest_ = max(highest_, panel.highest);
    Team<lanes>::sync();
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int place = panel.place[q], i = q * lanes + rank_;
      tile_.pivots[place] = original[q];
      if (place >= first && place < first + width) tile_.source[place - first] = static_cast<unsigned char>(i);
      if (i >= first && i < first + width) tile_.target[i - first] = static_cast<unsigned char>(place);
#pragma unroll
      for (int j = 0; j < width; ++j) tile_.a[place + (first + j) * ld] = panel.x[q][j];
    }
  }

  /// What a lane contributes to the products for one matrix.
  struct Operands {
    double v[others][2];  ///< old elements of pivot rows, for a column of each group
    double x[groups][2];  ///< of the panel, for a row of each tile
  };

  /// The other columns of all matrices of the warp, by the whole warp. A product has columns of the matrix in its rows,
  /// so that a lane has two neighbouring elements of a column; the order of columns in a group of 8, and that of the
  /// pivots, spare bank conflicts.
  __device__ void update(int first) const {
    constexpr int together = 2;  // hide the latency of each other
#pragma unroll 1
    for (int m = 0; m < Team<lanes>::per_warp; m += together) {
      Operands operands[together];
#pragma unroll
      for (int i = 0; i < together; ++i) load_operands(Tile(shared_, m + i), first, operands[i]);
      Team<32>::sync();
#pragma unroll
      for (int i = 0; i < together; ++i) move_rows(Tile(shared_, m + i), first);
      Team<32>::sync();
#pragma unroll
      for (int i = 0; i < together; ++i) multiply(Tile(shared_, m + i), first, operands[i]);
    }
  }

  __device__ void load_operands(const Tile& tile, int first, Operands& operands) const {
    const int quad = lane_ / 4, member = lane_ % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int s = 2 * member + h;
      const int row = tile.source[s];
#pragma unroll
      for (int g = 0; g < others; ++g) operands.v[g][h] = tile.a[row + other_column(g, first) * ld];
#pragma unroll
      for (int t = 0; t < groups; ++t) operands.x[t][h] = tile.a[t * width + quad + (first + s) * ld];
    }
  }

  __device__ void multiply(const Tile& tile, int first, const Operands& operands) const {
    // Two groups of columns at a time. All loads stand before the stores, as the compiler cannot tell the places apart.
#pragma unroll
    for (int g = 0; g < others; g += 2) {
      const bool pair = g + 1 < others;
      double sum[2][groups][2] = {};
      for_each_tile(tile, first, g, [&](int c, int t, Pair* place) {
        const Pair value = t * width != first ? *place : Pair{};
        sum[c][t][0] = value.value[0];
        sum[c][t][1] = value.value[1];
      });
      const double none[2] = {};
#pragma unroll
      for (int t = 0; t < groups; ++t)
        multiply_add(sum[0][t], sum[1][t], operands.v[g], pair ? operands.v[pair ? g + 1 : g] : none, operands.x[t]);
      for_each_tile(tile, first, g, [&](int c, int t, Pair* place) {
        *place = {static_cast<C>(sum[c][t][0]), static_cast<C>(sum[c][t][1])};
      });
    }
  }

  /// visit(c, t, place) for this lane's elements in tile t of groups g + c, c = 0, 1.
  template <class Visit>
  __device__ void for_each_tile(const Tile& tile, int first, int g, Visit visit) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (g + c >= others) continue;
      const int j = other_column(g + c, first);
#pragma unroll
      for (int t = 0; t < groups; ++t) {
        const int i = t * width + 2 * (lane_ % 4);
        visit(c, t, reinterpret_cast<Pair*>(tile.a + i + j * ld));
      }
    }
  }

  /// This lane's column of group g of those beside the panel.
  __device__ int other_column(int g, int first) const {
    const int quad = lane_ / 4, in_group = quad / 2 + 4 * (quad % 2);
    return (g * width < first ? g * width : (g + 1) * width) + in_group;
  }

  /// Rows of the panel that are no pivots to where these came from, in the other columns.
  __device__ void move_rows(const Tile& tile, int first) const {
    const int s = lane_ % width;
    const int target = tile.target[s];
    if (target >= first && target < first + width) return;
#pragma unroll
    for (int c = 0; c < N - width; c += 4) {
      const int other = c + lane_ / width;
      C* const column = tile.a + (other < first ? other : other + width) * ld;
      column[target] = column[first + s];
    }
  }
};

}  // namespace blockjacobi::kernels
