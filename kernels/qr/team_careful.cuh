#pragma once

#include "kernels/collectives/team.cuh"
#include "kernels/qr/householder.cuh"

namespace blockjacobi::kernels {

/// Householder QR in shared memory, for the few matrices that the fast path cannot serve: columns so large or small
/// that their squares leave the range, columns with an all but vanishing tail, Inf and NaN. Each column is brought near
/// 1 by a power of two before it is squared.
template <class C, int N, int L>
struct CarefulQr {
  using Real = detail::arithmetic_real_t<C>;
  C* a;  ///< n x n
  int n, ld;
  C* tau;  ///< n scalars of shared memory
  Team<L> team;

  /// All teams of a warp call it together; those with nothing to do have n = 0.
  __device__ void run() const {
    for (int k = 0; k < N; ++k) {
      const C tau_k = annihilate(k);
      Team<L>::sync();
      if (k < n && team.rank == 0) tau[k] = tau_k;
      for (int j = k + 1 + team.rank; j < n; j += L) reflect(k, j, tau_k);
      Team<L>::sync();
    }
  }

 private:
  /// Column k becomes r_kk and v_k.
  __device__ C annihilate(int k) const {
    C* x = a + k * ld;
    unsigned largest = 0;
    for (int i = k + team.rank; i < n; i += L) largest = max(largest, magnitude_word(x[i]));
    const auto scale = NormScale<Real>::of(Team<L>::max(largest));
    Real squares = 0;
    unsigned tail = 0;
    for (int i = k + 1 + team.rank; i < n; i += L) {
      squares = add_square(squares, scaled(x[i], scale.power));
      tail |= detail::is_zero(x[i]) ? 0 : 1;
    }
    squares = Team<L>::reduce(squares, [](Real a_, Real b) { return a_ + b; });
    const bool tail_is_zero = Team<L>::max(tail) == 0;
    const C first = k < n ? scaled(x[k], scale.power) : C{};
    const auto h = Reflector<C>::make(first, squares, tail_is_zero);
    Team<L>::sync();  // all have read the first element
    if (k < n && team.rank == 0) x[k] = detail::from_real<C>(scaled(h.beta, scale.inverse));
    for (int i = k + 1 + team.rank; i < n; i += L) x[i] = scaled(x[i], scale.power) * h.scale;
    return h.tau;
  }

  /// Column j becomes H_k^H times it.
  __device__ void reflect(int k, int j, C tau_k) const {
    const C* v = a + k * ld;
    C* y = a + j * ld;
    C inner = y[k];
    for (int i = k + 1; i < n; ++i) inner = fused_subtract(inner, -detail::conj(v[i]), y[i]);
    const C factor = detail::conj(tau_k) * inner;
    y[k] = y[k] - factor;
    for (int i = k + 1; i < n; ++i) y[i] = fused_subtract(y[i], v[i], factor);
  }
};

}  // namespace blockjacobi::kernels
