#pragma once

#include "backend/host_tile.hpp"
#include "core/shared/singular_rule.hpp"

#include <cmath>

namespace blockjacobi::detail {

template <class C>
inline bool is_real(C a) {
  if constexpr (Arithmetic<C>::is_complex)
    return a.im == 0;
  else
    return true;
}

/// The reflector H = I - tau v v^H with H^H x = beta e_1, beta real, v_1 = 1: x becomes (beta, v_2, ..., v_n). Returns
/// tau; 0 (H = I) if x already is a real multiple of e_1. Neither overflows nor underflows, since it works on x times a
/// power of two.
template <class C>
C make_reflector(int n, C* x) {
  using R = arithmetic_real_t<C>;
  if (is_real(x[0]) && std::all_of(x + 1, x + n, [](C element) { return is_zero(element); })) return C{};
  const int scale = equilibrating_exponent(largest_abs1(n, x));
  R sum = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = scale_by_power(x[i], scale);
    sum += norm2(x[i]);
  }
  const R beta = real_part(x[0]) >= 0 ? -std::sqrt(sum) : std::sqrt(sum);
  const C difference = x[0] - from_real<C>(beta), inverse = reciprocal(difference);
  for (int i = 1; i < n; ++i) x[i] = x[i] * inverse;
  x[0] = from_real<C>(scale_by_power(beta, -scale));
  return (R(-1) / beta) * difference;
}

/// A <- (I - tau v v^H) A for the columns of `a`; v_1 = 1 is not read.
template <class C>
void reflect_columns(const C* v, C tau, const MatrixRef<C>& a) {
  if (is_zero(tau)) return;
  for (index_t j = 0; j < a.cols; ++j) {
    C* const x = a.column(j);
    const C s = tau * (x[0] + column_dot(a.rows - 1, v + 1, x + 1));
    x[0] -= s;
    subtract_multiple(a.rows - 1, v + 1, s, x + 1);
  }
}

/// Householder QR with the conventions of LAPACK's geqrf.
template <class C>
void householder_qr(const MatrixRef<C>& a, C* tau) {
  for (index_t k = 0; k < std::min(a.rows, a.cols); ++k) {
    C* const v = a.column(k) + k;
    tau[k] = make_reflector(a.rows - k, v);
    reflect_columns(v, conj(tau[k]), part(a, k, k + 1, a.rows - k, a.cols - k - 1));
  }
}

}  // namespace blockjacobi::detail
