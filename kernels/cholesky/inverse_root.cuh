#pragma once

namespace blockjacobi::kernels {

/// 1 / sqrt(a) to the last places, for normal a > 0.
__device__ inline double inverse_root(double a) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
  const double e = fma(-(a * y), y, 1.0);
  return fma(y * e, fma(0.375, e, 0.5), y);
}

/// The same for subnormal a too.
__device__ inline double inverse_root_of_any(double a) {
  const bool tiny = __double2hiint(a) < 0x01000000;
  // why volatile: selections would lengthen the chain of the usual case
  if (tiny) asm volatile("mul.rn.f64 %0, %0, 0d4C70000000000000;" : "+d"(a));
  double y = inverse_root(a);
  if (tiny) asm volatile("mul.rn.f64 %0, %0, 0d4630000000000000;" : "+d"(y));
  return y;
}

/// Inf in the last pivot becomes NaN in what pads the matrix behind it, which is no minor of the matrix.
__device__ inline int outcome_within(int order, int outcome) { return outcome <= order ? outcome : 0; }

}  // namespace blockjacobi::kernels
