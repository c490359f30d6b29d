#pragma once

#include "kernels/qr/householder.cuh"

namespace blockjacobi::kernels {

/// Householder QR of a matrix in the registers of one thread, in place. The fast path: it says if a column had a norm
/// out of the range of FastReflector.
template <class C, int N>
struct ThreadQr {
  using Real = detail::arithmetic_real_t<C>;
  C x[N][N];

  /// `tau`: N scalars. Returns whether the matrix could be served.
  __device__ bool run(C* tau) {
    bool served = true;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      Real tail = 0;
      bool tail_is_zero = true;
#pragma unroll
      for (int i = k + 1; i < N; ++i) {
        tail = add_square(tail, x[i][k]);
        tail_is_zero = tail_is_zero && detail::is_zero(x[i][k]);
      }
      auto h = FastReflector<C>::make(x[k][k], tail);
      if (tail == Real(0)) h.resolve_vanishing_tail(x[k][k], tail_is_zero);
      served = served && h.served;
      tau[k] = h.tau;
#pragma unroll
      for (int j = k + 1; j < N; ++j) reflect(h, k, j);
      x[k][k] = detail::from_real<C>(h.beta);
#pragma unroll
      for (int i = k + 1; i < N; ++i) x[i][k] = x[i][k] * h.scale;
    }
    return served;
  }

  __device__ void store(C* own) const {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = 0; i < N; ++i) own[j * N + i] = x[i][j];
  }

 private:
  __device__ void reflect(const FastReflector<C>& h, int k, int j) {
    C inner = detail::conj(h.first) * x[k][j];
#pragma unroll
    for (int i = k + 1; i < N; ++i) inner = fused_subtract(inner, -detail::conj(x[i][k]), x[i][j]);
    const C factor = h.gamma * inner;
    x[k][j] = fused_subtract(x[k][j], factor, h.first);
#pragma unroll
    for (int i = k + 1; i < N; ++i) x[i][j] = fused_subtract(x[i][j], factor, x[i][k]);
  }
};

}  // namespace blockjacobi::kernels
