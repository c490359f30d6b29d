#pragma once

#include "core/shared/equilibration.hpp"
#include "kernels/collectives/modulus.cuh"

namespace blockjacobi::kernels {

/// The power of two with this magnitude word.
__device__ inline float power_from_word(float, unsigned word) { return __uint_as_float(word); }
__device__ inline double power_from_word(double, unsigned word) { return __hiloint2double(static_cast<int>(word), 0); }

/// Powers of two that equilibrate a block A: R A C. Only the rows are scaled in fact. Powers of the columns change no
/// pivot: (R A)^-1 has the rows of (R A C)^-1 in other units, and A^-1 = (R A)^-1 R needs the rows alone. Those of the
/// columns weigh the two norms from which the condition comes.
///
/// The powers are of the ordinary kind if no product of one of a row and an element of the inverse leaves the range.
template <class Real>
struct ScaleRange {
  using Field = ExponentField<Real>;

  bool ordinary = true;
  int widest_row = 0;     ///< largest |exponent|
  int widest_column = 0;  ///< largest exponent, which is not negative

  /// The power that brings the largest element of a row, of this key, to [1, 2).
  __device__ Real of_row(float key) {
    const int field = field_of(key);
    widest_row = max(widest_row, abs(Field::bias - field));
    return power(field);
  }
  /// The same for a column of R A, whose elements are below 2 unless the largest of a row has not been found, see
  /// magnitude_key().
  __device__ Real of_column(float key) {
    const int field = field_of(key);
    ordinary = ordinary && field <= Field::bias;
    widest_column = max(widest_column, Field::bias - field);
    return power(field);
  }

  /// `norm`: of R A C, at most 2 n but for NaN and what has not been found. `word`: magnitude word of a bound of the
  /// elements of (R A)^-1.
  __device__ bool hold(Real norm, int n, unsigned word) const {
    const int field = static_cast<int>(word >> Field::shift);
    return ordinary && norm <= Real(2 * n) && max(field - Field::bias, 0) + widest_row < Field::bias - 2;
  }

  /// Whether misleads() is false for all rows whatever the pivots: of most blocks this says enough.
  __device__ bool alike() const { return 2 * widest_row + widest_column <= detail::most_unlike<Real>; }

  /// A magnitude word with which hold() is false.
  static constexpr unsigned unfit = 0x7fffffffu;

  /// Both powers of a row and its column in one word: a power has nothing but an exponent in its magnitude word.
  __device__ static unsigned word_of(unsigned row, Real column) { return row | magnitude_word(column) >> Field::shift; }
  __device__ static Real row_of(unsigned word) { return power_from_word(Real(), word & ~field_mask); }
  __device__ static Real column_of(unsigned word) {
    return power_from_field(Real(), static_cast<int>(word & field_mask));
  }
  /// detail::exchanges_unlike_rows() without a counterpart; a_ki is the element (k, i) before the scaling.
  template <class C>
  __device__ static bool misleads(unsigned word_i, unsigned word_k, const C& a_ki) {
    const auto ratio = [](unsigned word) {
      return static_cast<int>(word >> Field::shift) - static_cast<int>(word & field_mask);
    };
    if (ratio(word_i) - ratio(word_k) <= detail::most_unlike<Real>) return false;
    const C b_ki = scaled(scaled(a_ki, row_of(word_k)), column_of(word_i));
    return !detail::has_counterpart<Real>(static_cast<int>(magnitude_word(b_ki) >> Field::shift) - Field::bias);
  }

  /// 1 / c for the power c of a column.
  __device__ static Real reciprocal(Real c) {
    return power_from_field(Real(), 2 * Field::bias - static_cast<int>(magnitude_word(c) >> Field::shift));
  }

 private:
  static constexpr unsigned field_mask = (1u << Field::shift) - 1;

  __device__ static int field_of(float key) {
    return static_cast<int>((__float_as_uint(key) & 0x7fffffffu) >> Field::shift);
  }
  __device__ Real power(int field) {
    ordinary = ordinary && field > 1 && field < Field::top - 1;
    return power_from_field(Real(), min(max(2 * Field::bias - field, 1), 2 * Field::bias - 1));
  }
};

}  // namespace blockjacobi::kernels
