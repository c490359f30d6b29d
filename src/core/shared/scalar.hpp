#pragma once

#include "core/shared/macros.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace blockjacobi::detail {

/// Complex number that host and device code share; the bytes of std::complex<R>.
template <class R>
struct Complex {
  R re;
  R im;
};

/// Arithmetic on float, double and Complex of them, with the same operation order on host and device.
template <class T>
struct Arithmetic {
  using real = T;
  static constexpr bool is_complex = false;
};
template <class R>
struct Arithmetic<Complex<R>> {
  using real = R;
  static constexpr bool is_complex = true;
};

template <class T>
using arithmetic_real_t = typename Arithmetic<T>::real;

template <class R>
BLOCKJACOBI_HD inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
BLOCKJACOBI_HD inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
BLOCKJACOBI_HD inline Complex<R> operator-(Complex<R> a) {
  return {-a.re, -a.im};
}
template <class R>
BLOCKJACOBI_HD inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
BLOCKJACOBI_HD inline Complex<R> operator*(R a, Complex<R> b) {
  return {a * b.re, a * b.im};
}
template <class R>
BLOCKJACOBI_HD inline Complex<R>& operator+=(Complex<R>& a, Complex<R> b) {
  return a = a + b;
}
template <class R>
BLOCKJACOBI_HD inline Complex<R>& operator-=(Complex<R>& a, Complex<R> b) {
  return a = a - b;
}

BLOCKJACOBI_HD inline float conj(float a) { return a; }
BLOCKJACOBI_HD inline double conj(double a) { return a; }
template <class R>
BLOCKJACOBI_HD inline Complex<R> conj(Complex<R> a) {
  return {a.re, -a.im};
}

BLOCKJACOBI_HD inline float real_part(float a) { return a; }
BLOCKJACOBI_HD inline double real_part(double a) { return a; }
template <class R>
BLOCKJACOBI_HD inline R real_part(Complex<R> a) {
  return a.re;
}

/// |a|^2.
BLOCKJACOBI_HD inline float norm2(float a) { return a * a; }
BLOCKJACOBI_HD inline double norm2(double a) { return a * a; }
template <class R>
BLOCKJACOBI_HD inline R norm2(Complex<R> a) {
  return a.re * a.re + a.im * a.im;
}

/// |a|, and LAPACK's |Re a| + |Im a| for complex a.
BLOCKJACOBI_HD inline float abs1(float a) { return fabsf(a); }
BLOCKJACOBI_HD inline double abs1(double a) { return fabs(a); }
template <class R>
BLOCKJACOBI_HD inline R abs1(Complex<R> a) {
  return abs1(a.re) + abs1(a.im);
}

/// |a| without overflow.
BLOCKJACOBI_HD inline float modulus(float a) { return fabsf(a); }
BLOCKJACOBI_HD inline double modulus(double a) { return fabs(a); }
BLOCKJACOBI_HD inline float modulus(Complex<float> a) { return hypotf(a.re, a.im); }
BLOCKJACOBI_HD inline double modulus(Complex<double> a) { return hypot(a.re, a.im); }

BLOCKJACOBI_HD inline bool finite(float a) { return fabsf(a) <= 3.402823466e+38f; }
BLOCKJACOBI_HD inline bool finite(double a) { return fabs(a) <= 1.7976931348623157e+308; }
template <class R>
BLOCKJACOBI_HD inline bool finite(Complex<R> a) {
  return finite(a.re) && finite(a.im);
}

/// 1 / a. For complex a by Smith's method (1962), which does not overflow where the result does not.
BLOCKJACOBI_HD inline float reciprocal(float a) { return 1.0f / a; }
BLOCKJACOBI_HD inline double reciprocal(double a) { return 1.0 / a; }
template <class R>
BLOCKJACOBI_HD inline Complex<R> reciprocal(Complex<R> a) {
  R scale = R(1);
  if (finite(a) && !finite(abs1(a))) {  // the denominator would overflow
    scale = R(0.5);
    a = {a.re * scale, a.im * scale};
  }
  if (abs1(a.re) >= abs1(a.im)) {
    const R t = a.im / a.re;
    const R d = a.re + a.im * t;
    return {R(1) / d * scale, -t / d * scale};
  }
  const R t = a.re / a.im;
  const R d = a.re * t + a.im;
  return {t / d * scale, R(-1) / d * scale};
}

BLOCKJACOBI_HD inline bool is_zero(float a) { return a == 0.0f; }
BLOCKJACOBI_HD inline bool is_zero(double a) { return a == 0.0; }
template <class R>
BLOCKJACOBI_HD inline bool is_zero(Complex<R> a) {
  return a.re == R(0) && a.im == R(0);
}

/// 2^e for exponents of normal numbers.
BLOCKJACOBI_HD inline double power_of_two(double, int e) {
  const std::uint64_t bits = static_cast<std::uint64_t>(e + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof(power));
  return power;
}
BLOCKJACOBI_HD inline float power_of_two(float, int e) {
  const std::uint32_t bits = static_cast<std::uint32_t>(e + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof(power));
  return power;
}

/// a 2^e, exact but for underflow and overflow of the result.
BLOCKJACOBI_HD inline float scale_by_power(float a, int e) {
  return e > -127 && e < 128 ? a * power_of_two(a, e) : scalbnf(a, e);
}
BLOCKJACOBI_HD inline double scale_by_power(double a, int e) {
  return e > -1023 && e < 1024 ? a * power_of_two(a, e) : scalbn(a, e);
}
template <class R>
BLOCKJACOBI_HD inline Complex<R> scale_by_power(Complex<R> a, int e) {
  return {scale_by_power(a.re, e), scale_by_power(a.im, e)};
}

/// e with 2^e <= a < 2^(e+1), for finite a > 0.
BLOCKJACOBI_HD inline int exponent(float a) {
  std::uint32_t bits;
  memcpy(&bits, &a, sizeof(bits));
  const int biased = static_cast<int>(bits >> 23);
  return biased > 0 ? biased - 127 : ilogbf(a);
}
BLOCKJACOBI_HD inline int exponent(double a) {
  std::uint64_t bits;
  memcpy(&bits, &a, sizeof(bits));
  const int biased = static_cast<int>(bits >> 52);
  return biased > 0 ? biased - 1023 : ilogb(a);
}

/// a / b for b != 0, without overflow or underflow on the way.
BLOCKJACOBI_HD inline double quotient(double a, double b) { return a / b; }
BLOCKJACOBI_HD inline Complex<double> quotient(Complex<double> a, Complex<double> b) {
  const double size = abs1(b);
  if (!finite(size) || !(size > 0.0)) return {a.re / size, a.im / size};
  const int e = -exponent(size);
  const Complex<double> scaled = scale_by_power(b, e);
  return scale_by_power((1.0 / norm2(scaled)) * (a * conj(scaled)), e);
}

/// Dots and norms are accumulated in double for every scalar: a norm of fp32 data squared underflows in fp32.
template <class T>
struct Accumulator {
  using type = double;
};
template <class R>
struct Accumulator<Complex<R>> {
  using type = Complex<double>;
};
template <class T>
using accumulator_t = typename Accumulator<T>::type;

BLOCKJACOBI_HD inline double widen(float a) { return a; }
BLOCKJACOBI_HD inline double widen(double a) { return a; }
template <class R>
BLOCKJACOBI_HD inline Complex<double> widen(Complex<R> a) {
  return {static_cast<double>(a.re), static_cast<double>(a.im)};
}

/// Rounds an accumulator to the working scalar.
template <class T>
struct Narrow {
  BLOCKJACOBI_HD static T from(double a) { return static_cast<T>(a); }
};
template <class R>
struct Narrow<Complex<R>> {
  BLOCKJACOBI_HD static Complex<R> from(Complex<double> a) { return {static_cast<R>(a.re), static_cast<R>(a.im)}; }
};
template <class T>
BLOCKJACOBI_HD inline T narrow(accumulator_t<T> a) {
  return Narrow<T>::from(a);
}

/// a in the precision of To; both real or both complex.
template <class To, class From>
BLOCKJACOBI_HD inline To convert(From a) {
  return narrow<To>(widen(a));
}

/// The scalar T with value a.
template <class T>
struct FromReal {
  BLOCKJACOBI_HD static T make(arithmetic_real_t<T> a) { return a; }
};
template <class R>
struct FromReal<Complex<R>> {
  BLOCKJACOBI_HD static Complex<R> make(R a) { return {a, R(0)}; }
};
template <class T>
BLOCKJACOBI_HD inline T from_real(arithmetic_real_t<T> a) {
  return FromReal<T>::make(a);
}

}  // namespace blockjacobi::detail
