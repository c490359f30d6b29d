#pragma once

#include "core/shared/solve_control.hpp"

namespace blockjacobi::detail {

/// Scalars of restarted GMRES, in backend memory. `stop` ends the solve (0 or a StopReason), `cycle_stop` the cycle.
/// `residual` is |g_k|, `iteration` counts inner iterations over all cycles.
struct GmresState : SolveControl {
  double beta;       ///< ||r||, r = b - A x, at the start of the cycle
  double norm;       ///< ||w|| after orthogonalization, the subdiagonal of the Hessenberg matrix
  double scale;      ///< what the next basis vector is multiplied with
  double reduction;  ///< ||r|| / beta that a cycle can reach with a basis of lower precision; 0 for the working one
  int cycle_stop;
  int broken;   ///< a StopReason the cycle met; takes effect unless the corrected x has converged
  int claimed;  ///< the cycle ended because the recurrence claimed what it can reach
  int misses;   ///< consecutive claims that the true residual did not follow
  int columns;  ///< k: columns of the least-squares problem solved in this cycle; 0: no correction of x
};

/// Whether the phases of a cycle have nothing to do.
BLOCKJACOBI_HD inline bool gmres_is_idle(const GmresState& s) { return s.stop != 0 || s.cycle_stop != 0; }

/// The small arrays of a cycle, in backend memory; T is the compute scalar, m the restart length.
template <class T>
struct GmresSmall {
  T* h;         ///< (m + 1) x m, column-major: Hessenberg matrix, overwritten by R
  T* h2;        ///< m + 1: second pass of Gram-Schmidt
  double* cs;   ///< m: cosines
  T* sn;        ///< m: sines
  T* g;         ///< m + 1: right-hand side of the least-squares problem
  T* y;         ///< m: its solution
  int restart;  ///< m
};

inline GmresState gmres_initial_state(double target, int max_iterations, double reduction = 0.0) {
  GmresState s{};
  s.reduction = reduction;
  s.target = target;
  s.max_iterations = max_iterations;
  s.beta = -1.0;
  return s;
}

/// After beta = ||b - A x||: the outcome so far, and a fresh cycle. `previous` is beta of the cycle before.
template <class T>
BLOCKJACOBI_HD inline void gmres_begin_cycle(GmresState& s, const GmresSmall<T>& small, double beta) {
  if (s.stop != 0) return;
  const bool first = s.beta < 0.0;
  const double previous = s.beta;
  s.beta = beta;
  s.residual = beta;
  if (first) record_residual(s, beta);
  s.misses = s.claimed != 0 && !(beta < 0.5 * previous) ? s.misses + 1 : 0;
  if (!finite(beta)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (beta <= s.target) {
    s.stop = static_cast<int>(StopReason::converged);
  } else if (s.iteration >= s.max_iterations) {
    s.stop = static_cast<int>(StopReason::max_iterations);
  } else if (s.broken != 0) {
    s.stop = s.broken;
  } else if (s.misses >= 2) {
    s.stop = static_cast<int>(StopReason::stagnation);
  }
  s.cycle_stop = s.stop;
  s.claimed = 0;
  s.columns = 0;
  s.scale = beta > 0.0 ? 1.0 / beta : 0.0;
  small.g[0] = from_real<T>(static_cast<arithmetic_real_t<T>>(beta));
}

/// After column j of the Hessenberg matrix (rows 0..j in h, the subdiagonal in s.norm): the Givens rotation that
/// annihilates the subdiagonal, the new residual, and the scale of the next basis vector.
template <class T>
BLOCKJACOBI_HD inline void gmres_rotate(GmresState& s, const GmresSmall<T>& small, int j) {
  using R = arithmetic_real_t<T>;
  if (gmres_is_idle(s)) return;
  T* h = small.h + static_cast<long>(j) * (small.restart + 1);
  ++s.iteration;
  for (int i = 0; i < j; ++i) {
    const R c = static_cast<R>(small.cs[i]);
    const T upper = c * h[i] + small.sn[i] * h[i + 1];
    h[i + 1] = c * h[i + 1] - conj(small.sn[i]) * h[i];
    h[i] = upper;
  }
  const double diagonal = modulus(h[j]);
  const double length = hypot(diagonal, s.norm);
  if (!finite(length) || length == 0.0) {
    s.broken = static_cast<int>(finite(length) ? StopReason::breakdown : StopReason::nan_or_inf);
    s.cycle_stop = s.broken;
    record_residual(s, s.residual);
    return;
  }
  // [c s; -conj(s) c] [h_jj; norm] = [r; 0] with real c >= 0.
  const R c = static_cast<R>(diagonal / length);
  const T phase = diagonal > 0.0 ? static_cast<R>(1.0 / diagonal) * h[j] : from_real<T>(R(1));
  const T sine = static_cast<R>(s.norm / length) * phase;
  small.cs[j] = c;
  small.sn[j] = sine;
  h[j] = static_cast<R>(length) * phase;
  small.g[j + 1] = -(conj(sine) * small.g[j]);
  small.g[j] = c * small.g[j];
  s.columns = j + 1;
  record_residual(s, modulus(small.g[j + 1]));
  s.scale = s.norm > 0.0 ? 1.0 / s.norm : 0.0;
  s.claimed = s.residual <= s.target || s.residual <= s.reduction * s.beta || s.norm == 0.0;
  if (s.claimed != 0 || s.iteration >= s.max_iterations) s.cycle_stop = 1;
}

/// y = R^-1 g over the columns of the cycle, and zeros behind them.
template <class T>
BLOCKJACOBI_HD inline void gmres_solve_triangular(const GmresState& s, const GmresSmall<T>& small) {
  const int m = small.restart;
  for (int i = s.columns; i < m; ++i) small.y[i] = from_real<T>(0);
  for (int i = s.columns - 1; i >= 0; --i) {
    T sum = small.g[i];
    for (int k = i + 1; k < s.columns; ++k) sum -= small.h[i + static_cast<long>(k) * (m + 1)] * small.y[k];
    small.y[i] = reciprocal(small.h[i + static_cast<long>(i) * (m + 1)]) * sum;
  }
}

/// Before x += u with ||u||^2 = uu: a correction that is not finite is left out and ends the solve.
BLOCKJACOBI_HD inline void gmres_check_correction(GmresState& s, double uu) {
  if (finite(uu)) return;
  s.columns = 0;
  s.broken = static_cast<int>(StopReason::nan_or_inf);
}

}  // namespace blockjacobi::detail
