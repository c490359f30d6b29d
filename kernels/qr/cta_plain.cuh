#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/qr/householder.cuh"

namespace blockjacobi::kernels {

template <class Real>
struct PlainQrScratch {
  ReduceScratch<1, Real> sums;
  ReduceScratch<1, int> words;
};

/// Over the lanes.
template <class R>
__device__ R plain_sum(const Lanes<32>& lanes, R value) {
  return lanes.reduce(value, [](R a, R b) { return a + b; });
}
template <class R>
__device__ detail::Complex<R> plain_sum(const Lanes<32>& lanes, detail::Complex<R> value) {
  return {plain_sum(lanes, value.re), plain_sum(lanes, value.im)};
}

/// Householder QR of one matrix in its place in global memory by a thread block, column by column (GEQR2). Takes no
/// shared memory to speak of.
template <class C>
__device__ void plain_qr(const detail::MatrixRef<C>& a, C* tau, PlainQrScratch<detail::arithmetic_real_t<C>>& scratch) {
  using Real = detail::arithmetic_real_t<C>;
  const auto lanes = Lanes<32>::current();
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int k = 0; k < min(a.rows, a.cols); ++k) {
    C* const x = a.column(k);
    int largest = 0;
    for (int i = k + thread; i < a.rows; i += threads) largest = max(largest, static_cast<int>(magnitude_word(x[i])));
    largest = cta_reduce(largest, scratch.words, [](int p, int q) { return p > q ? p : q; });
    const auto scale = NormScale<Real>::of(static_cast<unsigned>(largest));
    Real tail = 0;
    bool is_zero = true;
    for (int i = k + 1 + thread; i < a.rows; i += threads) {
      const C value = scaled(x[i], scale.power);
      tail = add_square(tail, value);
      is_zero = is_zero && detail::is_zero(value);
    }
    tail = cta_reduce(tail, scratch.sums, [](Real p, Real q) { return p + q; });
    const auto h = Reflector<C>::make(scaled(x[k], scale.power), tail, __syncthreads_and(is_zero) != 0);
    __syncthreads();  // x_k is read
    for (int i = k + 1 + thread; i < a.rows; i += threads) x[i] = scaled(x[i], scale.power) * h.scale;
    if (thread == 0) {
      x[k] = detail::from_real<C>(scaled(h.beta, scale.inverse));
      tau[k] = h.tau;
    }
    __syncthreads();
    for (int j = k + 1 + thread / 32; j < a.cols; j += threads / 32) {
      C* const y = a.column(j);
      const C head = y[k];
      C sum{};
      for (int i = k + 1 + lanes.rank; i < a.rows; i += 32) sum = fused_add(sum, detail::conj(x[i]), y[i]);
      const C product = detail::conj(h.tau) * (head + plain_sum(lanes, sum));
      if (lanes.rank == 0) y[k] = head - product;
      for (int i = k + 1 + lanes.rank; i < a.rows; i += 32) y[i] = fused_subtract(y[i], x[i], product);
    }
    __syncthreads();
  }
}

}  // namespace blockjacobi::kernels
