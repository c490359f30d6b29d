#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

/// x - f v, fused.
__device__ inline float fused_subtract(float x, float f, float v) { return fmaf(-f, v, x); }
__device__ inline double fused_subtract(double x, double f, double v) { return fma(-f, v, x); }
template <class R>
__device__ detail::Complex<R> fused_subtract(detail::Complex<R> x, detail::Complex<R> f, detail::Complex<R> v) {
  return {fused_subtract(fused_subtract(x.re, f.re, v.re), -f.im, v.im),
          fused_subtract(fused_subtract(x.im, f.re, v.im), f.im, v.re)};
}

/// x + f v, fused.
__device__ inline float fused_add(float x, float f, float v) { return fmaf(f, v, x); }
__device__ inline double fused_add(double x, double f, double v) { return fma(f, v, x); }
template <class R>
__device__ detail::Complex<R> fused_add(detail::Complex<R> x, detail::Complex<R> f, detail::Complex<R> v) {
  return {fused_add(fused_add(x.re, f.re, v.re), -f.im, v.im), fused_add(fused_add(x.im, f.re, v.im), f.im, v.re)};
}

/// The upper 31 bits of |a|_1 without its sign: an integer that grows with the magnitude. NaN counts as the largest.
__device__ inline unsigned magnitude_word(float a) { return __float_as_uint(a) & 0x7fffffffu; }
__device__ inline unsigned magnitude_word(double a) { return static_cast<unsigned>(__double2hiint(a)) & 0x7fffffffu; }
template <class R>
__device__ unsigned magnitude_word(detail::Complex<R> a) {
  return magnitude_word(detail::abs1(a));
}

/// By integers, which are there before a comparison of floating-point numbers is.
__device__ inline bool nonzero(float a) { return magnitude_word(a) != 0; }
__device__ inline bool nonzero(double a) { return (magnitude_word(a) | static_cast<unsigned>(__double2loint(a))) != 0; }
template <class R>
__device__ bool nonzero(detail::Complex<R> a) {
  return nonzero(detail::abs1(a));
}

/// |a|_1 as a float that only larger_key() compares: its bits are the magnitude word but for the sign. That takes one
/// instruction for each comparison; NaN loses against a number, and so do doubles from 2^1017 on.
__device__ inline float magnitude_key(float a) { return a; }
__device__ inline float magnitude_key(double a) { return __int_as_float(__double2hiint(a)); }
template <class R>
__device__ float magnitude_key(detail::Complex<R> a) {
  return magnitude_key(detail::abs1(a));
}
__device__ inline float larger_key(float a, float b) { return fmaxf(fabsf(a), fabsf(b)); }

__device__ inline unsigned sign_and_magnitude_word(float a) { return __float_as_uint(a); }
__device__ inline unsigned sign_and_magnitude_word(double a) { return static_cast<unsigned>(__double2hiint(a)); }

/// The exponent field in a magnitude word.
template <class R>
struct ExponentField;
template <>
struct ExponentField<float> {
  static constexpr int shift = 23, bias = 127, top = 255;
};
template <>
struct ExponentField<double> {
  static constexpr int shift = 20, bias = 1023, top = 2047;
};

__device__ inline float power_from_field(float, int field) {
  return __uint_as_float(static_cast<unsigned>(field) << ExponentField<float>::shift);
}
__device__ inline double power_from_field(double, int field) {
  return __hiloint2double(field << ExponentField<double>::shift, 0);
}
/// The same with the field where it stands in the upper word.
__device__ inline float power_from_word(float, int word) { return __int_as_float(word); }
__device__ inline double power_from_word(double, int word) { return __hiloint2double(word, 0); }

/// `value` times a real power of two.
__device__ inline float scaled(float value, float power) { return value * power; }
__device__ inline double scaled(double value, double power) { return value * power; }
template <class R>
__device__ detail::Complex<R> scaled(detail::Complex<R> value, R power) {
  return {value.re * power, value.im * power};
}

/// Least biased exponent of the values whose reciprocal fast_reciprocal computes to the last places; the greatest is as
/// far above the bias. A complex reciprocal squares its argument.
template <class C>
inline constexpr int least_fast_exponent = [] {
  constexpr int bias = ExponentField<detail::arithmetic_real_t<C>>::bias;
  return bias - (detail::Arithmetic<C>::is_complex ? bias / 2 - 8 : bias - 8);
}();

/// 1 / a by approximation and Newton steps; see least_fast_exponent for the range.
__device__ inline float fast_reciprocal(float a) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  return fmaf(y, fmaf(-a, y, 1.0f), y);  // starts from 23 bits: one step is enough
}
__device__ inline double fast_reciprocal(double a) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
  y = fma(y, fma(-a, y, 1.0), y);
  return fma(y, fma(-a, y, 1.0), y);
}
template <class R>
__device__ detail::Complex<R> fast_reciprocal(detail::Complex<R> a) {
  const R d = fast_reciprocal(detail::norm2(a));
  return {a.re * d, -(a.im * d)};
}

/// Division by one number many times, with one reciprocal and without overflow or underflow on the way.
template <class C>
struct Divisor {
  using Real = detail::arithmetic_real_t<C>;
  Real power;  ///< brings the divisor near 1
  C inverse;   ///< of the divisor times power

  __device__ explicit Divisor(C b) {
    using Field = ExponentField<Real>;
    constexpr int one = 1 << Field::shift;  // in the field, where it stays: that saves two shifts
    const int field = static_cast<int>(magnitude_word(b)) & Field::top * one;
    power = power_from_word(Real(), min(max(2 * Field::bias * one - field, one), (2 * Field::bias - 1) * one));
    inverse = fast_reciprocal(scaled(b, power));
  }
  __device__ C divide(C a) const { return scaled(a, power) * inverse; }
  __device__ C reciprocal() const { return scaled(inverse, power); }
};

/// What fills a result that does not exist.
template <class C>
__device__ C quiet_nan() {
  using Real = detail::arithmetic_real_t<C>;
  if constexpr (detail::Arithmetic<C>::is_complex)
    return {Real(0) / Real(0), Real(0) / Real(0)};
  else
    return Real(0) / Real(0);
}

/// Sixteen bytes, the widest access of a thread.
template <class C>
struct alignas(16) Vector16 {
  static constexpr int size = 16 / static_cast<int>(sizeof(C));
  C value[size];
};

/// One element as one access.
template <class C>
struct alignas(sizeof(C)) Aligned {
  C value;
};

}  // namespace blockjacobi::kernels
