#pragma once

#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// |a| of numbers that are neither tiny nor huge.
__device__ inline float moderate_modulus(float a) { return fabsf(a); }
__device__ inline double moderate_modulus(double a) { return fabs(a); }
__device__ inline float moderate_modulus(detail::Complex<float> a) { return sqrtf(detail::norm2(a)); }
__device__ inline double moderate_modulus(detail::Complex<double> a) { return sqrt(detail::norm2(a)); }

}  // namespace blockjacobi::kernels
