#pragma once

#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

template <class C>
__device__ bool is_real(C a) {
  if constexpr (detail::Arithmetic<C>::is_complex)
    return a.im == 0;
  else
    return true;
}

/// H = I - tau v v^H with H^H x = beta e_1, beta real and v_1 = 1; v_i = scale * x_i for i > 1.
template <class C>
struct Reflector {
  using Real = detail::arithmetic_real_t<C>;
  C tau;
  C scale;
  Real beta;

  /// From x_1 and the sum of squares of the others. A vector that is a real multiple of e_1 already gives tau = 0.
  __device__ static Reflector make(C first, Real tail_squares, bool tail_is_zero) {
    if (tail_is_zero && is_real(first)) return {C{}, C{}, detail::real_part(first)};
    const Real norm = sqrt(detail::norm2(first) + tail_squares);
    const Real beta = detail::real_part(first) >= Real(0) ? -norm : norm;
    const C difference = first - detail::from_real<C>(beta);
    return {(Real(-1) / beta) * difference, detail::reciprocal(difference), beta};
  }
};

/// A power of two that brings a vector near 1, where squares neither overflow nor underflow.
template <class Real>
struct NormScale {
  Real power;
  Real inverse;

  /// `largest`: magnitude_word of the largest element.
  __device__ static NormScale of(unsigned largest) {
    using Field = ExponentField<Real>;
    const int field = min(max(2 * Field::bias - static_cast<int>(largest >> Field::shift), 1), 2 * Field::bias - 1);
    return {power_from_field(Real(), field), power_from_field(Real(), 2 * Field::bias - field)};
  }
};

/// Range of squared norms |x|^2, as exponents of 2, in which FastReflector is accurate.
///
/// Squares that underflow add up to less than 2^-p |x|^2 there, p the precision, so that |x| is right to the last
/// places. With columns x and y in the range, products that underflow in gamma u (u^H y) change y by less than
/// 2^-p |y|: |gamma u| is 1.5 / |x| at most. Products that overflow leave Inf or NaN in y, whose own squared norm is
/// out of the range when its turn comes. Both arguments hold column by column, so graded columns need no scaling.
template <class Real>
struct FastNormRange;
template <>
struct FastNormRange<float> {
  static constexpr int least = -112, greatest = 118;
};
template <>
struct FastNormRange<double> {
  static constexpr int least = -1000, greatest = 1012;
};

/// sqrt(a) and 1 / sqrt(a) to the last places, for normal a > 0.
__device__ inline void fast_root(float a, float& root, float& inverse) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  const float g = a * y, h = 0.5f * y, r = fmaf(-g, h, 0.5f);
  root = fmaf(g, r, g);
  inverse = 2.0f * fmaf(h, r, h);
}
__device__ inline void fast_root(double a, double& root, double& inverse) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
  double g = a * y, h = 0.5 * y;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const double r = fma(-g, h, 0.5);
    g = fma(g, r, g);
    h = fma(h, r, h);
  }
  root = g;
  inverse = 2.0 * h;
}

/// sum + |a|^2, fused.
template <class C>
__device__ detail::arithmetic_real_t<C> add_square(detail::arithmetic_real_t<C> sum, C a) {
  if constexpr (detail::Arithmetic<C>::is_complex)
    return fused_subtract(fused_subtract(sum, -a.re, a.re), -a.im, a.im);
  else
    return fused_subtract(sum, -a, a);
}

/// The reflector of a column x in unscaled form: H^H = I - gamma u u^H with u = x - beta e_1, so that the columns to
/// its right can be treated with x as it stands. v = scale u.
template <class C>
struct FastReflector {
  using Real = detail::arithmetic_real_t<C>;
  C first;  ///< u_1
  C gamma;
  C scale;
  C tau;
  Real beta;
  bool served;  ///< whether the others can be relied on

  /// From x_1 and the sum of squares of the others, provided that it is not zero.
  __device__ static FastReflector make(C alpha, Real tail) {
    FastReflector h;
    const Real square = add_square(tail, alpha);
    Real norm, inverse_norm;
    fast_root(square, norm, inverse_norm);
    if constexpr (detail::Arithmetic<C>::is_complex) {
      h.beta = copysign(norm, -alpha.re);
      const Real inverse_beta = copysign(inverse_norm, -alpha.re);
      h.first = {alpha.re - h.beta, alpha.im};
      h.scale = fast_reciprocal(h.first);
      h.gamma = -inverse_beta * h.scale;
      h.tau = -inverse_beta * h.first;
    } else {
      h.beta = copysign(norm, -alpha);
      h.first = alpha - h.beta;
      // One reciprocal serves three quotients: gamma = 1 / (|x| (|x| + |alpha|)).
      h.gamma = fast_reciprocal(fused_subtract(square, alpha, h.beta));
      h.scale = -h.beta * h.gamma;
      h.tau = h.first * (h.first * h.gamma);
    }
    h.served = in_range(square);
    return h;
  }

  /// For a sum of squares that is zero: H = I if the elements are zero, too, and x_1 is real. Elements whose squares
  /// underflowed are left to others.
  __device__ void resolve_vanishing_tail(C alpha, bool tail_is_zero) {
    served = tail_is_zero && (served || detail::is_zero(alpha));
    if (!is_real(alpha)) return;
    first = gamma = scale = tau = C{};
    beta = detail::real_part(alpha);
  }

 private:
  __device__ static bool in_range(Real square) {
    using Field = ExponentField<Real>;
    using Range = FastNormRange<Real>;
    constexpr unsigned least = static_cast<unsigned>(Field::bias + Range::least) << Field::shift;
    constexpr unsigned width = static_cast<unsigned>(Range::greatest - Range::least) << Field::shift;
    return sign_and_magnitude_word(square) - least < width;
  }
};

}  // namespace blockjacobi::kernels
