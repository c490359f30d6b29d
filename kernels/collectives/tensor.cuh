#pragma once

#include "core/shared/scalar.hpp"

#include <type_traits>

namespace blockjacobi::kernels {

/// The scalar of the tensor cores' fp64 arithmetic for C.
template <class C>
using tensor_scalar_t = std::conditional_t<detail::Arithmetic<C>::is_complex, detail::Complex<double>, double>;

__device__ inline double widened(float a) { return a; }
__device__ inline double widened(double a) { return a; }
template <class R>
__device__ detail::Complex<double> widened(detail::Complex<R> a) {
  return {widened(a.re), widened(a.im)};
}
template <class C>
__device__ C narrowed(tensor_scalar_t<C> a) {
  using Real = detail::arithmetic_real_t<C>;
  if constexpr (detail::Arithmetic<C>::is_complex)
    return {static_cast<Real>(a.re), static_cast<Real>(a.im)};
  else
    return static_cast<Real>(a);
}

/// Exact for finite numbers, by integer operations, which are faster than conversions.
__device__ inline double widened_finite(double a) { return a; }
__device__ inline double widened_finite(float a) {
  const int bits = __float_as_int(a), sign = bits & ~0x7fffffff, magnitude = bits & 0x7fffffff;
  return 0x1p896 * __hiloint2double(sign | magnitude >> 3, static_cast<int>(static_cast<unsigned>(bits) << 29));
}
template <class R>
__device__ detail::Complex<double> widened_finite(detail::Complex<R> a) {
  return {widened_finite(a.re), widened_finite(a.im)};
}

/// D += A B on the tensor cores, D 8 x 8, A 8 x 4, B 4 x 8. Lane 4 m + k holds a(m, k), b(k, m) and d(m, 2 k),
/// d(m, 2 k + 1).
__device__ inline void multiply_add(double& d0, double& d1, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d0), "+d"(d1)
      : "d"(a), "d"(b));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// The same with D 16 x 8, A 16 x 4: of D and A the lane holds row m, then row m + 8.
__device__ inline void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[1],
                                    const double (&a_lower)[1], const double (&b)[1]) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
      : "d"(a_upper[0]), "d"(a_lower[0]), "d"(b[0]));
}

/// The same with D 16 x 8, A 16 x 8, B 8 x 8: lane 4 m + k holds a(m, k), a(m + 8, k), a(m, k + 4), a(m + 8, k + 4),
/// b(k, m), b(k + 4, m), and d(m, 2 k), d(m, 2 k + 1), d(m + 8, 2 k), d(m + 8, 2 k + 1). On Hopper one of these is
/// faster than four of the others.
__device__ inline void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[2],
                                    const double (&a_lower)[2], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
      : "d"(a_upper[0]), "d"(a_lower[0]), "d"(a_upper[1]), "d"(a_lower[1]), "d"(b[0]), "d"(b[1]));
}

#else

/// Both in the products that devices before Hopper have; K is 1 or 2 fours of columns.
template <int K>
__device__ void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[K],
                             const double (&a_lower)[K], const double (&b)[K]) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    multiply_add(upper[0], upper[1], a_upper[k], b[k]);
    multiply_add(lower[0], lower[1], a_lower[k], b[k]);
  }
}

#endif

}  // namespace blockjacobi::kernels
