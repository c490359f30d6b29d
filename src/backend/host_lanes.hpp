#pragma once

#include "core/shared/equilibration.hpp"
#include "core/shared/scalar.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace blockjacobi::detail {

/// Orders up to this one of real blocks are inverted several at once, one in each lane of a vector register. Above it
/// the exchange of rows, for which all rows are looked at, costs more than the lanes save.
inline constexpr int largest_lane_size = 8;

/// Bytes of a vector of lanes. Those of AVX-512 gain little up to order 6 and lose above it, where lanes exchange rows
/// one by one.
#if defined(__AVX2__)
inline constexpr std::size_t lane_bytes = 32;
#else
inline constexpr std::size_t lane_bytes = 16;
#endif

/// Blocks of order N in the lanes of a vector: equilibration and Gauss-Jordan elimination without a branch. Blocks that
/// are not as usual (NaN, Inf, zero pivots, elements so large or small that a scale needs more than one
/// multiplication, pivots from rows of another scale, ill-conditioned ones) are told, and are for others to invert.
/// What a lane computes depends on its block alone.
template <class R, int N>
class LaneInverse {
  static_assert(std::is_floating_point_v<R>);

 public:
  static constexpr int lanes = static_cast<int>(lane_bytes / sizeof(R));

  /// The block of a lane, row by row. All lanes must be filled.
  R* rows(int lane) { return input_[lane]; }

  /// Inverts all blocks.
  void run() {
    take_rows();
    equilibrate();
    const V norm = infinity_norm();
    eliminate();
    exchange_columns();
    rcond_ = splat(1) / (norm * infinity_norm());
    undo_scaling();
    const R least = singular_threshold<R>(N);
    unusual_ |= ~((rcond_ >= splat(least)) & (rcond_ <= splat(std::numeric_limits<R>::max())));
  }

  /// Whether the inverse of this lane must come from elsewhere.
  bool is_unusual(int lane) const { return unusual_[lane] != 0; }
  R rcond(int lane) const { return rcond_[lane]; }

  /// Writes the inverse of a lane, column by column.
  void store(int lane, R* inverse) const {
    for (int j = 0; j < N; ++j, inverse += N)
      for (int i = 0; i < N; ++i) inverse[i] = a_[at(i, in_registers ? j : source_[j][lane])][lane];
  }

 private:
  using Word = std::conditional_t<sizeof(R) == 8, std::int64_t, std::int32_t>;
  typedef R V __attribute__((vector_size(lane_bytes)));
  typedef Word Mask __attribute__((vector_size(lane_bytes)));

  static constexpr std::size_t order = N, elements = order * order, width = lanes;
  static constexpr bool in_registers = N <= 4;  ///< all columns, or nearly
  static constexpr bool is_unrolled = N <= 6;
  static constexpr int mantissa_bits = std::numeric_limits<R>::digits - 1;
  static constexpr Word bias = std::numeric_limits<R>::max_exponent - 1;
  static constexpr Word exponent_bits = (2 * bias + 1) << mantissa_bits;
  /// The largest elements of rows and columns between 2^-reach and 2^reach: all scales and their products are normal.
  static constexpr Word reach = sizeof(R) == 8 ? 400 : 50;

  static constexpr int at(int i, int j) { return i + j * N; }
  static V splat(R value) { return V{} + value; }
  static V power(Word exponent) { return (V)(Mask{} + ((exponent + bias) << mantissa_bits)); }
  static V magnitude(V x) { return (V)((Mask)x & std::numeric_limits<Word>::max()); }
  /// x where the mask is set, y elsewhere; why not mask ? x : y: GCC 12 fails on it without optimization of loops.
  static V select(Mask mask, V x, V y) { return (V)(((Mask)x & mask) | ((Mask)y & ~mask)); }
  static V larger(V x, V y) { return select(x > y, x, y); }
  /// Not 0 for NaN and Inf.
  static Mask not_finite(V x) { return (Mask)(x - x); }
  static V inverse_power(V x) { return (V)(((2 * bias) << mantissa_bits) - (Mask)x); }
  /// The power of two that brings x into [1, 2), x being within the reach.
  static V equilibrating(V x) { return (V)(((2 * bias) << mantissa_bits) - ((Mask)x & exponent_bits)); }

  void take_rows() {
    unusual_ = Mask{};
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        V x;
        for (int lane = 0; lane < lanes; ++lane) x[lane] = input_[lane][i * N + j];
        a_[at(i, j)] = x;
      }
  }

  /// NaN passes, and is found in the inverse.
  void equilibrate() {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      V largest = magnitude(a_[at(i, 0)]);
#pragma GCC unroll 8
      for (int j = 1; j < N; ++j) largest = larger(magnitude(a_[at(i, j)]), largest);
      unusual_ |= ~((largest >= power(-reach)) & (largest <= power(reach)));
      row_[i] = equilibrating(largest);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) a_[at(i, j)] *= row_[i];
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      V largest = magnitude(a_[at(0, j)]);
#pragma GCC unroll 8
      for (int i = 1; i < N; ++i) largest = larger(magnitude(a_[at(i, j)]), largest);
      unusual_ |= ~(largest >= power(-reach));
      column_[j] = equilibrating(largest);
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) a_[at(i, j)] *= column_[j];
    }
    find_unlike_rows();
  }

  /// Rows between which exchanges_unlike_rows() may be true.
  void find_unlike_rows() {
    V least = row_[0] * inverse_power(column_[0]), largest = least;
#pragma GCC unroll 8
    for (int i = 1; i < N; ++i) {
      const V ratio = row_[i] * inverse_power(column_[i]);
      least = select(ratio < least, ratio, least);
      largest = larger(ratio, largest);
    }
    unlike_ = largest > least * power(most_unlike<R>);
  }

  V infinity_norm() const {
    V norm = V{};
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      V sum = magnitude(a_[at(i, 0)]);
#pragma GCC unroll 8
      for (int j = 1; j < N; ++j) sum += magnitude(a_[at(i, j)]);
      norm = larger(sum, norm);
    }
    return norm;
  }

  /// gauss_jordan() but for the last interchanges of columns; without a loop while such code fits the cache.
  void eliminate() {
    if constexpr (is_unrolled) {
#pragma GCC unroll 8
      for (int k = 0; k < N; ++k) step(k);
    } else {
      for (int k = 0; k < N; ++k) step(k);
    }
  }

  [[gnu::always_inline]] void step(int k) {
    if constexpr (is_unrolled)
      exchange_rows_by_masks(k);
    else
      exchange_rows_by_lanes(k);
    const V inverse = splat(1) / a_[at(k, k)];
    V factor[order];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) factor[i] = a_[at(i, k)];
    factor[k] = V{};
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      if (is_unrolled && j == k) continue;
      const V scaled = a_[at(k, j)] * inverse;
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i)
        if (!is_unrolled || i != k) a_[at(i, j)] -= factor[i] * scaled;
      a_[at(k, j)] = scaled;
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) a_[at(i, k)] = -(factor[i] * inverse);
    a_[at(k, k)] = inverse;
  }

  /// Finds the row of the pivot of step k, of the first if several are as large.
  [[gnu::always_inline]] void find_pivot(int k) {
    V best = magnitude(a_[at(k, k)]);
    V pivot = splat(static_cast<R>(k));
#pragma GCC unroll 8
    for (int i = k + 1; i < N; ++i) {
      const V candidate = magnitude(a_[at(i, k)]);
      const Mask better = candidate > best;
      best = select(better, candidate, best);
      pivot = select(better, splat(static_cast<R>(i)), pivot);
    }
    unusual_ |= (best == V{}) | (unlike_ & (pivot != splat(static_cast<R>(k))));
    pivot_[k] = pivot;
    if constexpr (!in_registers)
      for (int lane = 0; lane < lanes; ++lane) source_row_[k][lane] = static_cast<int>(pivot[lane]);
  }

  static void exchange(V& x, V& y, Mask moves) {
    const Mask difference = ((Mask)x ^ (Mask)y) & moves;
    x = (V)((Mask)x ^ difference);
    y = (V)((Mask)y ^ difference);
  }

  /// Row k with the pivot's: every row is looked at, and nothing leaves the registers.
  [[gnu::always_inline]] void exchange_rows_by_masks(int k) {
    find_pivot(k);
#pragma GCC unroll 8
    for (int i = k + 1; i < N; ++i) {
      const Mask moves = pivot_[k] == splat(static_cast<R>(i));
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) exchange(a_[at(k, j)], a_[at(i, j)], moves);
    }
  }

  /// The same, lane by lane: two rows each.
  [[gnu::always_inline]] void exchange_rows_by_lanes(int k) {
    find_pivot(k);
#pragma GCC unroll 4
    for (int lane = 0; lane < lanes; ++lane) {
      Mask here{};
      here[lane] = -1;
      const int row = source_row_[k][lane];
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        const V x = a_[at(k, j)], y = a_[at(row, j)];
        a_[at(row, j)] = select(here, x, y);
        a_[at(k, j)] = select(here, y, x);
      }
    }
  }

  /// The last interchanges, of the columns and of what scales them.
  void exchange_columns() {
    if constexpr (in_registers) {
#pragma GCC unroll 8
      for (int k = N - 1; k >= 0; --k)
#pragma GCC unroll 8
        for (int j = k + 1; j < N; ++j) {
          const Mask moves = pivot_[k] == splat(static_cast<R>(j));
#pragma GCC unroll 8
          for (int i = 0; i < N; ++i) exchange(a_[at(i, k)], a_[at(i, j)], moves);
        }
    } else {
      // In mind only: column j of the inverse is to be found at source_[j].
      V scale[order];
      for (int lane = 0; lane < lanes; ++lane) {
        for (int j = 0; j < N; ++j) source_[j][lane] = j;
        for (int k = N - 1; k >= 0; --k) std::swap(source_[k][lane], source_[source_row_[k][lane]][lane]);
        for (int j = 0; j < N; ++j) scale[source_[j][lane]][lane] = row_[j][lane];
      }
      for (int j = 0; j < N; ++j) row_[j] = scale[j];
    }
  }

  /// As BlockSetup::undo_scaling().
  void undo_scaling() {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) {
        V& x = a_[at(i, j)];
        x *= column_[i] * row_[j];
        unusual_ |= not_finite(x);
      }
  }

  R input_[width][elements];
  V a_[elements];
  V row_[order], column_[order], pivot_[order], rcond_;
  int source_row_[order][width], source_[order][width];
  Mask unusual_, unlike_;
};

}  // namespace blockjacobi::detail
