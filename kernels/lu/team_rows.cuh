#pragma once

#include "kernels/collectives/row_tile.cuh"

namespace blockjacobi::kernels {

/// The magnitudes of the pivots of a factorization, as words.
struct PivotRange {
  unsigned lowest = ~0u, highest = 0;

  __device__ void include(unsigned word) {
    lowest = min(lowest, word);
    highest = max(highest, word);
  }

  /// Whether fast_reciprocal serves all of them.
  template <class C>
  __device__ bool served() const {
    using Field = ExponentField<detail::arithmetic_real_t<C>>;
    return static_cast<int>(lowest >> Field::shift) >= least_fast_exponent<C> &&
           static_cast<int>(highest >> Field::shift) <= 2 * Field::bias - least_fast_exponent<C>;
  }
};

/// LU factorization with exactly LAPACK's pivots of an M x W panel, M >= W, in the registers of a team, those of the
/// L R rows that do not exist zero. Rows stay where they are and remember their place (lazy swap). The fast
/// path: `range` says whether the pivots were such that it could serve the panel. The search for the next pivot runs
/// beside the update of the remaining columns.
///
/// Each lane finds the best of its own rows and the reciprocal of it, before it is known whose is the pivot: that takes
/// the reciprocal out of the chain from step to step. Candidates are compared by keys of one word, the upper bits of
/// the magnitude above the rank of the lane, so that the largest key says whose is the pivot. Only where another key
/// comes so close that the bits left out might decide, the values themselves are compared.
///
/// The steps go in phases of P columns with a loop that is not unrolled over each phase. Within a phase every step
/// reads register j and writes register j - 1, with the finished column going to the end; the next phase works on P
/// registers less.
template <class C, int M, int W, int L, int R, int P, RowOrder order = RowOrder::cyclic>
struct RowLu {
  static_assert(L * R >= M && M >= W);
  using Real = detail::arithmetic_real_t<C>;

  C (&x)[R][W];
  int rank;
  PivotRange& range;
  int place[R];  ///< row of P A in which the row stands; -1 for rows that do not exist

  __device__ RowLu(C (&panel)[R][W], int rank_, PivotRange& range_) : x(panel), rank(rank_), range(range_) {
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const int row = row_of_lane<L, R, order>(rank, q);
      place[q] = rank < L && row < M ? row : -1;
    }
  }

  /// `interchanges`: W bytes of shared memory; [k] becomes `first` + the 0-based row that was interchanged with row k.
  __device__ void run(unsigned char* interchanges, int first = 0) {
#pragma unroll
    for (int q = 0; q < R; ++q) current_[q] = x[q][0];
    search(0);
    phase<W>(interchanges, first);
#pragma unroll
    for (int q = 0; q < R; ++q) x[q][0] = current_[q];
  }

  /// Writes the leading rows and n columns of the factors to `out`, with leading dimension `ld` <= M.
  __device__ void store(C* out, int n, int ld) const {
#pragma unroll
    for (int j = 0; j < W; ++j) {
      if (column_of(j) >= n) continue;
#pragma unroll
      for (int q = 0; q < R; ++q)
        if (place[q] >= 0 && place[q] < ld) out[column_of(j) * ld + place[q]] = x[q][j];
    }
  }

  /// The column that register j holds in the end: phase t left its P columns at W - P (t + 1) and behind.
  __device__ static constexpr int column_of(int j) {
    const int t = (W - 1 - j) / P;
    return t * P + P <= W ? t * P + j - (W - P * (t + 1)) : t * P + j;
  }

 private:
  C current_[R];    ///< register 0 of the rows, the column whose pivot is known
  int slot_;        ///< of the best row of this lane
  int best_place_;  ///< its place
  C factor_;        ///< -1 / its element
  int owner_;       ///< the lane that has the pivot

  static constexpr unsigned rank_bits = 31;  ///< of a key

  /// The pivot of step k: the largest |Re| + |Im|, the first place of equals. NaN may win, which range tells. It is
  /// always a row that has not been a pivot, so that places remain a permutation whatever the elements.
  __device__ void search(int k) {
    unsigned key[R], best = 0;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const unsigned candidate = (magnitude_word(current_[q]) & ~rank_bits) | static_cast<unsigned>(rank);
      key[q] = place[q] >= k ? candidate : 0u;
      best = max(best, key[q]);
    }
    C pivot = current_[0];
    slot_ = 0;
    best_place_ = place[0];
    bool found = key[0] == best, several = false;
#pragma unroll
    for (int q = 1; q < R; ++q) {
      const bool equal = key[q] == best;
      several |= equal && found;
      found |= equal;
      slot_ = equal ? q : slot_;
      best_place_ = equal ? place[q] : best_place_;
      pivot = equal ? current_[q] : pivot;
    }
    const unsigned largest = Team<L>::max(best);
    factor_ = fast_reciprocal(-pivot);
    range.include(largest);
    owner_ = static_cast<int>(largest & rank_bits);
    const bool undecided = (best ^ largest) <= rank_bits && (several || best != largest);
    if (Team<L>::any_in_warp(undecided)) search_by_value(k);
  }

  /// The same where the keys do not decide.
  __device__ void search_by_value(int k) {
    Real best = 0;
    slot_ = 0;
    best_place_ = M;
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const Real magnitude = detail::abs1(current_[q]);
      if (place[q] >= k && (!(magnitude <= best) || (magnitude == best && place[q] < best_place_))) {
        best = magnitude;
        best_place_ = place[q];
        slot_ = q;
      }
    }
    factor_ = fast_reciprocal(-pick(current_, slot_));
    owner_ = first_of_largest(best);
  }

  /// The lane that has the largest of `best`, at the first place of equals.
  __device__ int first_of_largest(Real best) const {
    if (best != best) best = Real(1) / Real(0);  // a total order, on which all lanes agree
    int candidate = 32 * best_place_ + rank;
    Team<L>::for_each_distance([&](int distance) {
      const Real magnitude = Team<L>::exchange(best, distance);
      const int other = Team<L>::exchange(candidate, distance);
      if (magnitude > best || (magnitude == best && other < candidate)) {
        best = magnitude;
        candidate = other;
      }
    });
    return candidate % 32;
  }

  /// The steps on the last V columns, which are in registers 0 .. V - 1.
  template <int V>
  __device__ void phase(unsigned char* interchanges, int first) {
    constexpr int steps = V < P ? V : P;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) step<V, steps>(i, interchanges, first);
    if constexpr (V > P) phase<V - P>(interchanges, first);
  }

  template <int V, int steps>
  __device__ void step(int i, unsigned char* interchanges, int first) {
    const int k = W - V + i;
    const int owner = owner_, slot = slot_;
    const C factor = Team<L>::broadcast(factor_, owner);
    const int old_place = Team<L>::broadcast(best_place_, owner);
    if (rank == 0) interchanges[k] = static_cast<unsigned char>(first + old_place);
    C multiplier[R], finished[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool pivot = rank == owner && slot == q;
      const bool below = place[q] >= k && !pivot;
      const C product = current_[q] * factor;
      multiplier[q] = below ? product : C{};
      finished[q] = below ? -product : current_[q];
      const int moved = place[q] == k ? old_place : place[q];
      place[q] = pivot ? k : moved;
    }

    // Registers V - i .. V - 1 hold finished columns: they move, but are not updated.
    const auto pivot_row = [&](int j) {
      C column[R];
#pragma unroll
      for (int q = 0; q < R; ++q) column[q] = x[q][j];
      const C v = Team<L>::broadcast(pick(column, slot), owner);
      return j >= V - steps + 1 && j >= V - i ? C{} : v;
    };
    if constexpr (V > 1) {
      const C v = pivot_row(1);
#pragma unroll
      for (int q = 0; q < R; ++q) current_[q] = fused_add(x[q][1], multiplier[q], v);
      if (k + 1 < W) search(k + 1);
    }
#pragma unroll
    for (int j = 2; j < V; ++j) {
      const C v = pivot_row(j);
#pragma unroll
      for (int q = 0; q < R; ++q) x[q][j - 1] = fused_add(x[q][j], multiplier[q], v);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) (V > 1 ? x[q][V - 1] : current_[q]) = finished[q];
  }
};

}  // namespace blockjacobi::kernels
