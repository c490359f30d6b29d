#pragma once

#include "core/shared/scalar.hpp"
#include "kernels/collectives/cta_reduce.cuh"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Sums of K doubles over the thread blocks of blockIdx.x, in an order that depends on the shape of the grid alone.
template <int K>
struct GridSum {
  struct Scratch {
    ReduceScratch<K, double> reduce;
    bool is_last;
  };

  /// True in the thread block that arrives last; there `sums` then holds the totals, in every thread. `partials` has
  /// K gridDim.x elements; `ticket` is 0 before the launch and again after it. Every thread block of the launch must
  /// call this, and none may read after the call what the last one then writes.
  __device__ static bool run(double (&sums)[K], double* partials, unsigned int* ticket, Scratch& scratch) {
    const auto add = [](double a, double b) { return a + b; };
    const unsigned ctas = gridDim.x;
    cta_reduce(sums, scratch.reduce, add);
    if (threadIdx.x == 0) {
#pragma unroll
      for (int k = 0; k < K; ++k) partials[k * static_cast<offset_t>(ctas) + blockIdx.x] = sums[k];
      __threadfence();  // the partial sums before the ticket
      scratch.is_last = atomicAdd(ticket, 1u) == ctas - 1;
    }
    __syncthreads();
    if (!scratch.is_last) return false;
    __threadfence();  // the ticket before the others' partial sums
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sums[k] = 0.0;
      for (unsigned cta = threadIdx.x; cta < ctas; cta += blockDim.x)
        sums[k] += __ldcg(partials + k * static_cast<offset_t>(ctas) + cta);
    }
    cta_reduce(sums, scratch.reduce, add);
    if (threadIdx.x == 0) *ticket = 0;
    return true;
  }
};

/// A scalar of the dots as the doubles that GridSum adds.
template <class C>
inline constexpr int sum_width = detail::Arithmetic<C>::is_complex ? 2 : 1;

/// sum += conj(a) b, in double.
__device__ inline void accumulate_dot(double* sum, double a, double b) { sum[0] = fma(a, b, sum[0]); }
__device__ inline void accumulate_dot(double* sum, float a, float b) {
  accumulate_dot(sum, static_cast<double>(a), static_cast<double>(b));
}
template <class R>
__device__ void accumulate_dot(double* sum, detail::Complex<R> a, detail::Complex<R> b) {
  const detail::Complex<double> u = detail::widen(a), v = detail::widen(b);
  sum[0] = fma(u.re, v.re, fma(u.im, v.im, sum[0]));
  sum[1] = fma(u.re, v.im, fma(-u.im, v.re, sum[1]));
}

/// sum += |a|^2, in double.
template <class C>
__device__ void accumulate_square(double& sum, C a) {
  sum += detail::norm2(detail::widen(a));
}

/// The accumulator that `sum_width` sums stand for.
template <class C>
__device__ detail::accumulator_t<C> to_accumulator(const double* sum) {
  if constexpr (detail::Arithmetic<C>::is_complex)
    return {sum[0], sum[1]};
  else
    return sum[0];
}

}  // namespace blockjacobi::kernels
