#pragma once

#include "kernels/subwarp/arithmetic.cuh"

namespace blockjacobi::kernels {

/// |a| of numbers that are neither tiny nor huge.
__device__ inline float moderate_modulus(float a) { return fabsf(a); }
__device__ inline double moderate_modulus(double a) { return fabs(a); }
__device__ inline float moderate_modulus(detail::Complex<float> a) { return sqrtf(detail::norm2(a)); }
__device__ inline double moderate_modulus(detail::Complex<double> a) { return sqrt(detail::norm2(a)); }

/// The power of two with this magnitude word.
__device__ inline float power_from_word(float, unsigned word) { return __uint_as_float(word); }
__device__ inline double power_from_word(double, unsigned word) { return __hiloint2double(static_cast<int>(word), 0); }

/// Powers of two that equilibrate a block, and whether they are of the ordinary kind: no product of one of a row, one
/// of a column and an element of the inverse leaves the range.
template <class Real>
struct ScaleRange {
  using Field = ExponentField<Real>;

  bool ordinary = true;
  int widest_row = 0;  ///< largest |exponent|
  int widest_column = 0;

  /// The power that brings a number with this magnitude word to [1, 2).
  __device__ Real power(unsigned word, int& widest) {
    const int field = static_cast<int>(word >> Field::shift);
    ordinary = ordinary && field > 1 && field < Field::top - 1;
    widest = max(widest, abs(Field::bias - field));
    return power_from_field(Real(), min(max(2 * Field::bias - field, 1), Field::top - 1));
  }

  /// `inverse_norm`: a bound of the elements of the inverse.
  __device__ bool holds(Real inverse_norm) const {
    const int field = static_cast<int>(magnitude_word(inverse_norm) >> Field::shift);
    return ordinary && max(field - Field::bias, 0) + widest_row + widest_column < Field::bias - 2;
  }
};

}  // namespace blockjacobi::kernels
